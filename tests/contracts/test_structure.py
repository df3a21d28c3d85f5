"""The shape of the package: which way imports point, how large things are, what importing loads."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import graphlowrank

ROOT = Path(graphlowrank.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

# Top to bottom: a module may import its own layer and the ones below it.
LAYERS = [
    {"cli", "__main__"},
    {"video", "tomography", "plots", "anndata", "guarantees", "paper", "_warmup"},
    {"estimators"},
    {"pipeline", "records", "model_selection", "embedding", "report", "outofcore", "io"},
    {"auto", "clustering", "options"},
    {"decoders", "models"},
    {"solvers", "reduction", "sampling", "layout", "datasets", "metrics"},
    {"graphs", "preprocessing"},
    {"linalg", "kernels"},
]
BASE = {
    "_backend",
    "_checks",
    "_literals",
    "_files",
    "_progress",
    "_threads",
    "_typing",
    "_version",
    "exceptions",
}  # below all layers
# Fits, videos and reconstructions save their pages from Python: report is below them and renders what it is given.
# Plots have the colors of pages.
IMPORTED_BY = {"io": {"cli", "outofcore"}, "report": {"cli", "video", "tomography", "estimators", "plots"}}

FEATURES = {  # lines that were added to the 22,000, or removed, after the package was reshaped
    "files of models are checked": 266,
    "columns of tables are reported": 605,
    "one thread of BLAS, masked arrays, units, cache of compiled code": 225,
    "codecs of videos, refused losses and address spaces": 90,
    "numbers out of range are refused": 20,
    "clusters that do not depend on the seed or the order of samples": 380,
    "a model owns its data, copies of samples, interrupts in compiled code": 70,
    "plans know the arrays of each stage, and sparse data": 145,
    "l1 scores of samples with few entries": 25,
    "communities of the sample graph": 290,
    "salt and pepper is recognized and replaced": 120,
    "counts are recognized": 90,
    "data without clusters are recognized": 140,
    "communities in compiled code, independent trials in threads": 205,
    "the paper's algorithms as printed": 193,
    "the paper's method as a variant of the estimators": 225,
    "strong graph terms within the precision of the data, units in sample names": 40,
    "k-means, sums over clusters and majority labels in compiled loops": 350,
    "searches, symmetric graphs and statistics of columns in threads": 210,
    "exact search without faiss, Louvain's method and k-means without the GIL": 205,
    "FRPCAG: a step for every entry, stops after restarts": 50,
    "kernels that are compiled faster, and before the first fit": 230,
    "models of recovery compared on held-out entries, optimal shrinkage, denoising": 1106,
    "maps of the samples": 798,
    "pages that explain clusters, outliers and reconstructions": 1621,
    "plots": 984,
    "exact neighbors of near duplicates and beside far samples": 40,
    "least absolute scores by an interior-point method": 231,
    "regression of the data with graph priors": 413,
    "neighbors of data that do not fit in memory, by tasks on blocks; an index for those of new rows": 1139,
    "command line for data that do not fit in memory, outputs that are continued": 1260,
    "data that do not fit in memory: dask arrays, files in blocks, workers, lazy factors and labels": 1910,
    "streams: a sample of the rows, drift, partial_fit": 785,
    "shorter docstrings of internal functions, checks and helpers merged since": -172,
}


def layer_of(name):
    return len(LAYERS) if name in BASE else next(depth for depth, names in enumerate(LAYERS) if name in names)


def name_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def top(path):
    return path.relative_to(ROOT).with_suffix("").parts[0]


def is_type_checking(node):
    return isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"


def imported(path):
    """Modules of the package that a module imports when it runs, as dotted names below graphlowrank."""
    package = list(path.relative_to(ROOT).parts[:-1])
    tree = ast.parse(path.read_text())
    for_types = {node for block in ast.walk(tree) if is_type_checking(block) for node in ast.walk(block)}
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1]
            elif node.module and node.module.split(".")[0] == "graphlowrank":
                base = []
            else:
                continue
            module = (node.module or "").removeprefix("graphlowrank").strip(".")
            parent = [*base, *filter(None, module.split("."))]
            for alias in node.names:
                whole = ROOT.joinpath(*parent, alias.name)
                is_module = whole.is_dir() or whole.with_suffix(".py").exists()
                yield ".".join([*parent, alias.name] if is_module else parent)
        elif isinstance(node, ast.Import):
            yield from (alias.name[13:] for alias in node.names if alias.name.startswith("graphlowrank."))


def others(path):
    return {name for name in imported(path) if name and name != name_of(path)}


INSIDE = [module for module in MODULES if module != ROOT / "__init__.py"]


@pytest.mark.parametrize("path", INSIDE, ids=name_of)
def test_imports_point_down(path):
    for name in others(path):
        part = name.split(".")[0]
        assert layer_of(part) >= layer_of(top(path)), f"{name_of(path)} imports upwards: {name}"
        assert top(path) in IMPORTED_BY.get(part, {top(path)}) | {part}, f"{name_of(path)} imports {part}"


def test_there_is_no_import_cycle():
    graph = {name_of(path): others(path) for path in INSIDE}
    done, path = set(), []

    def visit(name):
        if name in done or name not in graph:
            return
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        path.append(name)
        for other in sorted(graph[name]):
            # A module imports its own package's siblings, not what the package's __init__ collects from it.
            if not name.startswith(f"{other}."):
                visit(other)
        path.pop()
        done.add(name)

    for name in sorted(graph):
        visit(name)


@pytest.mark.parametrize("path", INSIDE, ids=name_of)
def test_no_private_attribute_of_another_object_is_read(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            owner = node.value
            own = isinstance(owner, ast.Name) and owner.id in {"self", "cls"}
            own = own or (isinstance(owner, ast.Call) and getattr(owner.func, "id", "") == "super")
            assert own or node.attr == "_replace", f"{name_of(path)}:{node.lineno} reads {node.attr}"  # of a NamedTuple


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_and_functions_stay_small(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = node.end_lineno - body[0].lineno + 1 if body else 0
            assert lines <= 50, f"{node.name} has {lines} lines"


def test_the_package_does_not_grow():  # lower the limit when code is removed, raise it for a feature
    assert sum(len(path.read_text().splitlines()) for path in MODULES) <= 22_000 + sum(FEATURES.values())


@pytest.mark.parametrize("name", ["cpca", "clustering"])
def test_fit_is_followed_through_few_modules(name):
    """Count the modules to open to see every stage of ``fit`` in order.

    They are the estimator's, the base class's, the pipeline's and its records', the options', and one for each package
    or module that the pipeline takes a stage from.
    """
    route = {f"estimators.{name}", "estimators._base", "pipeline", "records", "options"}
    tree = ast.parse((ROOT / "pipeline.py").read_text())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    home = {
        alias.asname or alias.name: node.module or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    }
    start = {"cpca": "recover", "clustering": "cluster"}[name]
    waiting, seen, called = [start], set(), set()
    while waiting:
        function = waiting.pop()
        if function in seen:
            continue
        seen.add(function)
        body = ast.Module(functions[function].body, type_ignores=[])
        names = {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}
        waiting += sorted(names & set(functions))
        called |= {home[one].split(".")[0] for one in names if one in home}
    route |= {module for module in called if not module.startswith("_")}
    assert {"auto", "preprocessing", "graphs", "sampling", "reduction", "models"} <= route
    assert len(route) <= 12, sorted(route)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_the_command_prints(path):
    calls = [
        node for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    ]  # fmt: skip
    assert not calls or top(path) == "cli"


def test_importing_loads_nothing_heavy():
    heavy = ("numpy", "numba", "faiss", "sklearn", "matplotlib")
    code = f"import sys, graphlowrank; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_small_problems_do_not_load_the_compiler():
    code = """
import sys
import numpy as np
from graphlowrank import CompressivePCA
X = np.random.default_rng(0).random((300, 40))
CompressivePCA(3, downsampling=(2, 2)).fit(X)
print("numba" in sys.modules)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"


def test_public_names_exist_and_others_do_not():
    for name in graphlowrank.__all__:
        assert getattr(graphlowrank, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        graphlowrank.Nonsense  # noqa: B018
