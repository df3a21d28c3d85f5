"""The shape of the package: which way imports point, how long things are, what importing loads."""

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
    ["cli", "__main__"],
    ["experiments"], ["bench"], ["methods"],  # to move out of the package
    ["video", "tomography", "report", "io", "anndata", "guarantees"],
    ["estimators"],
    ["pipeline", "clusters", "small_problem", "two_graphs", "options"],
    ["auto", "clustering"],
    ["decoders", "models"],
    ["solvers", "reduction", "sampling", "datasets", "metrics"],
    ["graphs", "preprocessing"],
    ["linalg", "kernels"],
    ["_backend", "_evenly", "_threads", "_progress", "_files", "_reading", "_typing", "_version"],
]  # fmt: skip
# The one loop: the backend calls a compiled product, which needs nothing of the backend but the name of a type.
ALLOWED_UP = {("_backend", "kernels"), ("preprocessing", "decoders"), ("preprocessing", "sampling")}


def layer_of(name):
    return next(depth for depth, names in enumerate(LAYERS) if name in names)


def top(path):
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported_parts(path):
    """Top-level parts of the package that a module imports, at any depth of its code."""
    package = ["graphlowrank", *path.relative_to(ROOT).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            full = [*base, *(node.module or "").split(".")] if node.module else base
            if full[0] == "graphlowrank":
                yield from {[*full[1:], alias.name][0] for alias in node.names}
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("graphlowrank."):
                    yield alias.name.split(".")[1]


@pytest.mark.parametrize(
    "path", [m for m in MODULES if m != ROOT / "__init__.py"], ids=lambda p: str(p.relative_to(ROOT))
)
def test_imports_point_down(path):
    for part in imported_parts(path):
        if not (ROOT / part).exists() and not (ROOT / f"{part}.py").exists():
            continue  # a name such as __version__
        if (top(path), part) not in ALLOWED_UP:
            assert layer_of(part) >= layer_of(top(path)), f"{path.name} imports upwards: {part}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_modules_and_functions_stay_small(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name != "__init__":
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = node.end_lineno - body[0].lineno + 1 if body else 0
            assert lines <= 50, f"{node.name} has {lines} lines"


def test_the_pipeline_is_one_page():
    assert len((ROOT / "pipeline.py").read_text().splitlines()) <= 120


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
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


def test_small_problems_do_not_pay_for_a_compiler():
    code = """
import sys
import numpy as np
from graphlowrank import CompressiveClustering, CompressivePCA
X = np.random.default_rng(0).random((300, 40))
CompressiveClustering(3, downsampling=(2, 2)).fit(X)
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
