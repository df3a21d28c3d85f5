"""Seconds and iterations of the graphs and of the models, each measured alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..cells import GRAPH_STAGES, Cell, Record, stopwatch
from ..data import data_set, feature_graph, prepare, sample_graph
from ..internals import Array, limit_threads
from ..systems import ALGORITHM_3, METHODS, fit_estimator
from ..systems.recovery import OutOfTimeError, solve_robust
from .spec import Experiment

WARM_UP_ITERATIONS = 2  # on all of the data: fewer samples would compile other loops
MEASURES = ("seconds", "iterations")


@dataclass(frozen=True, eq=False)
class Task:
    """Prepared samples (n_samples, n_features), number of clusters, and the content of the cell."""

    X: Array
    n_clusters: int
    content: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Part:
    """A column of the table: its heading, its measurement, and the options of the row or file that it depends on."""

    title: str
    run: Callable[[Task, Record], None]
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


def run(content: Mapping[str, Any]) -> Record:
    """Measure one part, after its inputs are made and its code is compiled."""
    data, record = data_set(content["data"]), Record()
    X = prepare(data.load()[0].astype(content["precision"]), tuple(content["preparation"]))
    with limit_threads(content["threads"]):
        PARTS[content["part"]].run(Task(X, data.n_clusters, content), record)
    return record


def _graph(build: Callable[[Array, int], Any]) -> Callable[[Task, Record], None]:
    def measure(task: Task, record: Record) -> None:
        build(task.X, task.content["seed"])  # compiles
        with stopwatch() as seconds:
            build(task.X, task.content["seed"])
        record.values["seconds"] = seconds[0]

    return measure


def _frpcag(task: Task, record: Record) -> None:
    """The solver alone, with the options of the clustering tables."""
    _estimator("FastRobustPCAOnGraphs", task, record, ("frpcag",), n_components=1, laplacian="normalized")


def _cpca(task: Task, record: Record) -> None:
    """Everything after the graphs: sampling, small graphs, solver, labels (steps 2 to 5 and 7 of the paper)."""
    options = {"n_clusters": task.n_clusters, "downsampling": tuple(task.content["downsampling"]), **ALGORITHM_3}
    _estimator("CompressiveClustering", task, record, None, **options)


def _estimator(name: str, task: Task, record: Record, timed: tuple[str, ...] | None, **options: Any) -> None:
    """Fit, and add up the timed stages; None for all but the graphs, which are given."""
    seed = task.content["seed"]
    options |= {"sample_graph": sample_graph(task.X, seed), "feature_graph": feature_graph(task.X, seed)}
    options["random_state"] = seed
    fit_estimator(name, task.X, Record(), **options, max_iter=WARM_UP_ITERATIONS)
    fit_estimator(name, task.X, record, **options)
    stages = {stage: spent for stage, spent in record.stages.items() if stage not in GRAPH_STAGES}
    seconds = sum(spent for stage, spent in stages.items() if timed is None or stage in timed)
    record.values |= {"seconds": seconds, "stages": stages}


def _robust(*, with_graph: bool) -> Callable[[Task, Record], None]:
    def measure(task: Task, record: Record) -> None:
        graph = sample_graph(task.X, task.content["seed"]) if with_graph else None
        solve_robust(task.X, graph, math.inf, max_iter=WARM_UP_ITERATIONS)
        try:
            with stopwatch() as seconds:
                found = solve_robust(task.X, graph, task.content["limit_seconds"])
        except OutOfTimeError as stop:
            record.values |= {"seconds": None, "note": str(stop)}
            return
        record.values["seconds"] = seconds[0]
        record.iterations(found.n_iter, converged=found.converged)

    return measure


PARTS = {
    "feature_graph": Part("feature graph", _graph(feature_graph)),
    "sample_graph": Part("sample graph", _graph(sample_graph)),
    "frpcag": Part("FRPCAG", _frpcag),
    "cpca": Part("CPCA", _cpca, ("downsampling",)),
    "rpcag": Part("RPCAG", _robust(with_graph=True), ("limit_seconds",)),
    "rpca": Part("RPCA", _robust(with_graph=False), ("limit_seconds",)),
}
