"""Seconds and iterations of the graphs and of the models, each by itself.

A file of this kind says::

    threads = 1
    precision = "float64"                           # of the data
    limit_seconds = 600                             # for RPCA and RPCAG
    skip = ["USPS 3500 x 256"]                      # rows that are not run; none if not given
    [[rows]]
    title = "USPS 3500 x 256"
    data = "usps-small"
    downsampling = [10, 1]                          # of CPCA
    seconds = { feature_graph = 5.8, rpca = 790 }   # the paper's, by part
    iterations = { rpca = 350 }
    parts = ["frpcag", "cpca"]                      # those to run; all of them if not given
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._backend import Array
from .._threads import limit_threads
from ..bench.clustering_systems import ALGORITHM_3
from ..bench.record import GRAPH_STAGES, stopwatch
from ..estimators import CompressiveClustering, FastRobustPCAOnGraphs
from ..graphs import Graph
from ..methods import METHODS
from ..preprocessing.standardize import prepare
from .cells import Cell, Measured
from .data import between_features, between_samples, data_set
from .robust import OutOfTimeError, iterations, solve_robust
from .spec import Experiment

WARM_UP_ITERATIONS = 2  # on all of the data: on fewer samples other loops would be compiled
MEASURES = ("seconds", "iterations")
Values = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Task:
    """Prepared samples (n_samples, n_features), clusters to find, and the content of the cell."""

    X: Array
    n_clusters: int
    content: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Part:
    """A column of the table.

    Attributes
    ----------
    title
        Heading.
    run
        From a task to "seconds", "iterations" and what else is worth keeping.
    options
        What of the row or of the file decides the result, beside the data.
    """

    title: str
    run: Callable[[Task], Values]
    options: tuple[str, ...] = ()


def expand(experiment: Experiment) -> Iterator[Cell]:
    """Every part on every data set."""
    options = experiment.options
    for row in options["rows"]:
        for measure in MEASURES:
            if not row[measure].keys() <= PARTS.keys():
                raise ValueError(f"{experiment.name}: {row['title']} has {measure} of parts other than {list(PARTS)}.")
        if row["title"] in options.get("skip", ()):
            continue
        for name, part in PARTS.items():
            if name not in row.get("parts", PARTS):
                continue
            content = {
                "kind": "times",
                "data": row["data"],
                "part": name,
                "preparation": list(METHODS["cpca"].preparation),  # the same for all four models
                "precision": options["precision"],
                "threads": options["threads"],
                "seed": 0,
                **{key: row.get(key, options.get(key)) for key in part.options},
            }
            paper = {measure: row[measure][name] for measure in MEASURES if name in row[measure]}
            yield Cell(experiment.name, row["title"], part.title, content, paper, alone=True)


def run(content: Mapping[str, Any]) -> Measured:
    """Measure one part, once everything it needs is at hand and compiled."""
    data = data_set(content["data"])
    X = prepare(data.load()[0].astype(content["precision"]), tuple(content["preparation"]))
    with limit_threads(content["threads"]):
        return PARTS[content["part"]].run(Task(X, data.n_clusters, content)), {}


def _timed_graph(build: Callable[[Array, int], Graph | None]) -> Callable[[Task], Values]:
    def measure(task: Task) -> Values:
        build(task.X, task.content["seed"])  # compiles what it needs
        with stopwatch() as seconds:
            build(task.X, task.content["seed"])
        return {"seconds": seconds[0]}

    return measure


def _frpcag(task: Task) -> Values:
    """Clock the solver alone, with the settings of the clustering tables."""
    model = FastRobustPCAOnGraphs(1, laplacian="normalized", **_both_graphs(task))
    return _fitted(model, task, ("frpcag",))


def _cpca(task: Task) -> Values:
    """Clock all that follows the graphs: sampling, small graphs, solver, labels (steps 2 to 5 and 7 of the paper)."""
    model = CompressiveClustering(
        task.n_clusters, downsampling=tuple(task.content["downsampling"]), **ALGORITHM_3, **_both_graphs(task)
    )
    return _fitted(model, task)


def _both_graphs(task: Task) -> dict[str, Any]:
    seed = task.content["seed"]
    return {
        "sample_graph": between_samples(task.X, seed),
        "feature_graph": between_features(task.X, seed),
        "random_state": seed,
    }


def _fitted(model: Any, task: Task, clocked: tuple[str, ...] | None = None) -> Values:
    """Fit, and add up the clocked stages; None for all but the graphs, which are given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clone(model).set_params(max_iter=WARM_UP_ITERATIONS).fit(task.X)
    model.fit(task.X)
    stages = {name: spent for name, spent in model.stage_seconds_.items() if name not in GRAPH_STAGES}
    seconds = sum(spent for name, spent in stages.items() if clocked is None or name in clocked)
    return {"seconds": seconds, "stages": stages, **iterations(model.n_iter_, converged=model.converged_)}


def _robust(*, with_graph: bool) -> Callable[[Task], Values]:
    def measure(task: Task) -> Values:
        graph = between_samples(task.X, task.content["seed"]) if with_graph else None
        limit = task.content["limit_seconds"]
        solve_robust(task.X, graph, float("inf"), max_iter=WARM_UP_ITERATIONS)
        try:
            with stopwatch() as seconds:
                found = solve_robust(task.X, graph, limit)
        except OutOfTimeError as stop:
            return {"seconds": None, "note": str(stop)}
        return {"seconds": seconds[0], **iterations(found.n_iter, converged=found.converged)}

    return measure


PARTS = {
    "feature_graph": Part("feature graph", _timed_graph(between_features)),
    "sample_graph": Part("sample graph", _timed_graph(between_samples)),
    "frpcag": Part("FRPCAG", _frpcag),
    "cpca": Part("CPCA", _cpca, ("downsampling",)),
    "rpcag": Part("RPCAG", _robust(with_graph=True), ("limit_seconds",)),
    "rpca": Part("RPCA", _robust(with_graph=False), ("limit_seconds",)),
}
