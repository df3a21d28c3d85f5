"""Run a method by name."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state

from .._backend import Array
from .._threads import limit_threads
from ..clustering.labels import k_means
from ..graphs import Graph, as_graph, knn_graph
from ..preprocessing.standardize import prepare
from .points import Partition, Task
from .registry import Method, known

OF_SAMPLES = ("le", "glpca")  # their components are limited by the number of samples alone


@dataclass(frozen=True, eq=False)
class Clustering:
    """What :func:`cluster` found.

    Attributes
    ----------
    labels
        (n_samples,).
    parameters
        Those used.
    seconds
        "graph" (0 if it was given), "model" and "k-means". CPCA's "model" holds its feature graph; its "k-means" sees
        the kept samples only and spreads their labels.
    notes
        CPCA's "rank" of the compressed low-rank matrix.
    """

    labels: Array
    parameters: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted method, from which any number of partitions can be had; ``seconds`` has "graph" and "model"."""

    partition: Partition
    parameters: dict[str, Any]
    seconds: dict[str, float]
    notes: dict[str, Any]


def cluster(
    name: str, X: Any, n_clusters: int, *, n_init: int = 10, random_state: Any = None, **options: Any
) -> Clustering:
    """Cluster the samples of ``X`` by one of the METHODS, with the paper's preparation.

    Parameters
    ----------
    name, X, n_clusters, **options
        See :func:`fit`.
    n_init
        Restarts of k-means, of which the tightest partition is kept.
    random_state
        Seed.
    """
    rng = check_random_state(random_state)
    fitted = fit(name, X, n_clusters, random_state=rng, **options)
    seconds = dict(fitted.seconds)
    with limit_threads(options.get("n_jobs")), _timing(seconds, "k-means"):
        labels = fitted.partition(n_init, rng)
    return Clustering(labels, fitted.parameters, seconds, fitted.notes)


def fit(
    name: str,
    X: Any,
    n_clusters: int,
    *,
    graph: Graph | Any = None,
    feature_graph: Graph | Any = None,
    preparation: tuple[str, ...] | None = None,
    n_neighbors: int = 10,
    n_jobs: int | None = None,
    random_state: Any = None,
    **parameters: Any,
) -> Fitted:
    """Do everything before k-means, whose runs may then be many: ``fitted.partition(n_init, random_state)``.

    Parameters
    ----------
    name
        Which of the METHODS.
    X
        (n_samples, n_features), raw.
    n_clusters
        Clusters to find.
    graph, feature_graph
        Between the prepared samples (see :func:`sample_graph`) and features; built where needed and not given.
    preparation
        Steps of :func:`~graphlowrank.preprocessing.standardize.prepare`; None for those of the paper, () for none.
    n_neighbors
        Of the graphs, and of locally linear embedding.
    n_jobs
        Threads; None for every core.
    random_state
        Seed.
    **parameters
        Of the method; what is not given has its default.
    """
    method = known(name)
    X = check_array(X, dtype=[np.float64, np.float32], ensure_min_samples=2)
    if not 1 <= n_clusters <= len(X):
        raise ValueError(f"n_clusters must be between 1 and {len(X)} (the samples), got {n_clusters}.")
    used = _complete(method, parameters, n_clusters, X.shape)
    if name == "lle":
        used.setdefault("n_neighbors", n_neighbors)
    prepared = prepare(X, method.preparation if preparation is None else preparation)
    seconds = {"graph": 0.0}
    rng = check_random_state(random_state)
    with limit_threads(n_jobs):
        if method.needs_graph:
            graph = as_graph(graph, len(X), name="graph") if graph is not None else None
            with _timing(seconds, "graph"):
                graph = graph or knn_graph(prepared, n_neighbors, random_state=rng)
        between_features = "knn" if feature_graph is None else feature_graph
        task = Task(prepared, n_clusters, graph if method.needs_graph else None, between_features, used, rng)
        with _timing(seconds, "model"):
            found = method.points(task)
    partition = found if callable(found) else partial(k_means, found, n_clusters)
    return Fitted(partition, used, seconds, task.notes)


def sample_graph(name: str, X: Any, n_neighbors: int = 10, *, random_state: Any = None) -> Graph | None:
    """Graph that a method would build, to be used for several runs; None if it takes none."""
    method = known(name)
    if not method.needs_graph:
        return None
    X = check_array(X, dtype=[np.float64, np.float32])
    return knn_graph(prepare(X, method.preparation), n_neighbors, random_state=random_state)


def _complete(method: Method, given: dict[str, Any], n_clusters: int, shape: tuple[int, int]) -> dict[str, Any]:
    """Parameters with defaults for what is not given; None stands for as many components as clusters, if possible."""
    for key in given:
        if key not in method.defaults:
            takes = ", ".join(method.defaults) or "none"
            raise ValueError(f"{method.title} has no parameter {key!r}; it takes {takes}.")
    used = method.defaults | given
    if "n_components" in used:
        most = shape[0] - 1 if method.name in OF_SAMPLES else min(shape)
        k = min(n_clusters, most) if used["n_components"] is None else used["n_components"]
        if not (isinstance(k, (int, np.integer)) and 1 <= k <= most):
            raise ValueError(f"n_components must be a whole number between 1 and {most} for {method.title}, got {k!r}.")
        used["n_components"] = int(k)
    return used


@contextmanager
def _timing(seconds: dict[str, float], stage: str) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - begin
