"""Clustering errors: a method on noisy data, best of a grid (chosen with the labels) or with default parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

from graphlowrank.metrics import clustering_error

from ..cells import Cell, Protocol, Record, as_options
from ..data import N_NEIGHBORS, corrupt, data_set, feature_graph, prepare, sample_graph
from ..internals import Array
from ..systems import METHODS, fit
from .spec import Experiment, narrowed

NOISE_SEED = 0  # the same noise for every method and every draw
PROTOCOLS: tuple[Protocol, ...] = ("paper", "default")
OURS = ("frpcag", "cpca")  # they use a feature graph, too
# "Zero mean and unit standard deviation along the features / rows" can be read in two ways.
READINGS = {"features": "standardize", "samples": "standardize samples"}
TITLES = {"gaussian": "Gaussian", "laplacian": "Laplacian"}


def expand(experiment: Experiment) -> Iterator[Cell]:
    """Every cell of a table whose columns are kinds and levels of noise."""
    options = experiment.options
    columns = _levels(options["noise"])
    wanted = _levels(options.get("only", options["noise"]))
    for row in options["rows"]:
        numbers = row.get("paper") or [None] * len(columns)
        if len(numbers) != len(columns):
            raise ValueError(
                f"{experiment.name}: {row['title']} has {len(numbers)} numbers for {len(columns)} columns."
            )
        for column, paper in zip(columns, numbers, strict=True):
            if column in wanted and row["title"] not in options.get("skip", ()):
                yield from _cells(experiment, row, column, column_title(*column), paper)


def expand_downsampling(experiment: Experiment) -> Iterator[Cell]:
    """Every cell of a table whose columns are factors of downsampling."""
    for row in experiment.options["rows"]:
        factors = experiment.options["samples"]
        for factor, paper in zip(factors, row["paper"], strict=True):
            if factor in experiment.options.get("only", factors):
                compressed = row | {"method": "cpca", "with": {"downsampling": [factor, row["features"]]}}
                yield from _cells(experiment, compressed, ("none", 0), f"samples / {factor}", paper)


def expand_readings(experiment: Experiment) -> Iterator[Cell]:
    """Every cell of a table whose columns are what gets zero mean and unit standard deviation."""
    columns = [{"heading": f"each of the {reading}", "standardize": reading} for reading in READINGS]
    yield from _expand_columns(experiment, columns)


def expand_starts(experiment: Experiment) -> Iterator[Cell]:
    """Every cell of a table whose columns are sets of partitions that the labels choose from."""
    yield from _expand_columns(experiment, experiment.options["columns"])


def _expand_columns(experiment: Experiment, columns: list[dict[str, Any]]) -> Iterator[Cell]:
    rows = [row for row in experiment.options["rows"] if row["title"] not in experiment.options.get("skip", ())]
    for row, column in product(rows, columns):
        yield from _cells(experiment, {**row, **column}, ("none", 0), column["heading"], row.get("paper"))


def _cells(
    experiment: Experiment, row: Mapping[str, Any], noise: tuple[str, float], column: str, paper: float | None
) -> Iterator[Cell]:
    """Both protocols and every seed of one place in the table."""
    options, method = {**experiment.options, **row}, METHODS[row["method"]]
    data, fixed = data_set(options["data"]), options.get("with", {})
    ranges = narrowed(options.get("grid", "full"), method.name, method.ranges(data.n_samples, data.n_features))
    ranges = {name: values for name, values in ranges.items() if name not in fixed}
    for protocol, seed in product(options.get("protocols", PROTOCOLS), range(options.get("seeds", 1))):
        chosen_by_labels = protocol == "paper"
        content = {
            "kind": "clustering",
            "data": options["data"],
            "noise": list(noise),
            "method": method.name,
            "with": fixed,
            "swept": ranges if chosen_by_labels else {},
            "preparation": preparation(method.name, protocol, options.get("standardize", "features")),
            "runs": options.get("runs", 10) if chosen_by_labels else 1,
            "starts": options.get("starts", 1) if chosen_by_labels else 10,
            "seed": seed,
        }
        numbers = {options.get("measure", "error"): paper} if chosen_by_labels and paper is not None else {}
        yield Cell(experiment.name, row["title"], column, content, numbers, protocol, seed)


def preparation(method: str, protocol: Protocol, standardize: str) -> list[str]:
    """Steps of preparation: the paper's; none where our estimator scales the data itself."""
    if protocol == "default" and method in OURS:
        return []
    steps = [READINGS[standardize] if step == "standardize" else step for step in METHODS[method].preparation]
    return ["clip", *steps] if method in ("nmf", "gnmf") else steps  # noise makes dark pixels negative


def run(content: Mapping[str, Any]) -> Record:
    """Cluster with every combination of the swept parameters; report the partition with the smallest error.

    There are ``runs`` partitions for each combination, each the best of ``starts`` of k-means.
    """
    data, seed = data_set(content["data"]), content["seed"]
    X, y = data.load()
    noise, percent = content["noise"]
    X = prepare(corrupt(X, noise, percent, NOISE_SEED), tuple(content["preparation"]))
    graphs = method_graphs(X, content["method"], seed)
    swept = content["swept"]
    tried: list[dict[str, Any]] = []
    failures: list[Exception] = []
    for values in product(*swept.values()):
        rng, parameters = np.random.RandomState(seed), dict(zip(swept, values, strict=True))
        given = as_options(content["with"] | parameters | graphs) | {"preparation": (), "n_neighbors": N_NEIGHBORS}
        try:
            fitted = fit(content["method"], X, data.n_clusters, random_state=rng, **given)
            errors = [clustering_error(y, fitted.partition(content["starts"], rng)) for _ in range(content["runs"])]
        except (ValueError, ArithmeticError) as failure:  # eigensolvers fail at some corners of the grid
            failures.append(failure)
            continue
        scores = {"error": min(errors), "median": float(np.median(errors))}
        tried.append({"parameters": parameters, **scores, **fitted.notes})
    if not tried:
        raise failures[0]
    best = min(tried, key=lambda one: one["error"])  # the first of equals
    counts = {"combinations": len(tried), "least_median": min(one["median"] for one in tried)}
    note = {"note": f"combinations that failed: {len(failures)}"} if failures else {}
    return Record(values={**best, **counts, **note})


def method_graphs(X: Array, method: str, seed: int) -> dict[str, Any]:
    """Graphs of the prepared data, built once for the whole grid."""
    if not METHODS[method].needs_graph:
        return {}
    if method not in OURS:
        return {"graph": sample_graph(X, seed)}
    return {"graph": sample_graph(X, seed), "feature_graph": feature_graph(X, seed)}


def _levels(noise: Mapping[str, list[float]]) -> list[tuple[str, float]]:
    return [(kind, percent) for kind, percents in noise.items() for percent in percents]


def column_title(noise: str, percent: float) -> str:
    """Heading of a column.

    Examples
    --------
    >>> column_title("none", 0), column_title("gaussian", 5)
    ('no noise', 'Gaussian 5 %')
    """
    return "no noise" if noise == "none" else f"{TITLES.get(noise, noise)} {percent:g} %"
