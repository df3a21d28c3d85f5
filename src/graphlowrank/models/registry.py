"""The twelve methods that the paper compares, by name, prepared and swept as there.

>>> from sklearn.datasets import load_digits
>>> X = load_digits().data[:300]
>>> sorted(METHODS)
['cpca', 'frpcag', 'glpca', 'gnmf', 'kmeans', 'le', 'lle', 'mmf', 'nmf', 'pca', 'rpca', 'rpcag']
>>> cluster("pca", X, 10, n_components=8, random_state=0).labels.shape
(300,)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF, PCA
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.utils import check_array, check_random_state

from .._backend import Array
from .._threads import limit_threads
from ..estimators import (
    CompressiveClustering,
    FastRobustPCAOnGraphs,
    GraphLaplacianPCA,
    GraphNMF,
    ManifoldMF,
    RobustPCA,
    RobustPCAOnGraphs,
)
from ..graphs import Graph, as_graph, knn_graph, lowest_eigenpairs
from ..linalg.svd import leading_svd

OF_SAMPLES = ("le", "glpca")  # their components are limited by the number of samples alone
NEGLIGIBLE = 1e-3  # of the first singular value: a millionth of the distances that k-means sees
Grid = dict[str, list[Any]]


@dataclass(frozen=True, eq=False)
class Task:
    """Prepared samples and what a method may need beside them.

    Attributes
    ----------
    X
        (n_samples, n_features), prepared.
    n_clusters
        Clusters to find.
    graph
        Sample graph, where the method takes one.
    parameters
        Of the method, complete.
    random_state
        Seed.
    """

    X: Array
    n_clusters: int
    graph: Graph | None
    parameters: dict[str, Any]
    random_state: Any


@dataclass(frozen=True, eq=False)
class Method:
    """A row of the paper's tables.

    Attributes
    ----------
    name, title
        Short and long.
    preparation
        How samples are prepared, in order: "standardise" (zero mean and unit deviation of each feature), "normalise"
        (unit length of each sample).
    defaults
        Parameters; None stands for as many components as clusters.
    ranges
        From the shape of the data to the values that the paper tries for each parameter.
    points
        From a task to what k-means is run on; CPCA returns labels instead.
    needs_graph
        Whether it takes a graph between the samples.
    """

    name: str
    title: str
    preparation: tuple[str, ...]
    defaults: dict[str, Any]
    ranges: Callable[[int, int], Grid]
    points: Callable[[Task], Array]
    needs_graph: bool = False


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
        "graph" (0 if it was given), "model" and "k-means". CPCA's "model" holds its feature graph and its own k-means,
        which sees the kept samples only.
    """

    labels: Array
    parameters: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)


def cluster(
    name: str,
    X: Any,
    n_clusters: int,
    *,
    graph: Graph | Any = None,
    n_neighbors: int = 10,
    n_init: int = 10,
    n_jobs: int | None = None,
    random_state: Any = None,
    **parameters: Any,
) -> Clustering:
    """Cluster the samples of ``X`` by one of the METHODS, with the paper's preparation.

    Parameters
    ----------
    name
        Which one.
    X
        (n_samples, n_features), raw.
    n_clusters
        Clusters to find.
    graph
        Sample graph, see :func:`sample_graph`; built where it is needed and not given.
    n_neighbors
        Of that graph, and of locally linear embedding.
    n_init
        Restarts of k-means.
    n_jobs
        Threads; None for every core.
    random_state
        Seed.
    **parameters
        Of the method; what is not given has its default.
    """
    method = _known(name)
    X = check_array(X, dtype=[np.float64, np.float32], ensure_min_samples=2)
    if not 1 <= n_clusters <= len(X):
        raise ValueError(f"n_clusters must be between 1 and {len(X)} (the samples), got {n_clusters}.")
    used = _complete(method, parameters, n_clusters, X.shape)
    if name == "lle":
        used.setdefault("n_neighbors", n_neighbors)
    prepared, seconds = prepare(X, method.preparation), {"graph": 0.0}
    rng = check_random_state(random_state)
    with limit_threads(n_jobs):
        if method.needs_graph:
            graph = as_graph(graph, len(X), name="graph") if graph is not None else None
            with _timing(seconds, "graph"):
                graph = graph or knn_graph(prepared, n_neighbors, random_state=rng)
        task = Task(prepared, n_clusters, graph if method.needs_graph else None, used, rng)
        with _timing(seconds, "model"):
            points = method.points(task)
        with _timing(seconds, "k-means"):
            labels = points if points.ndim == 1 else _k_means(points, n_clusters, n_init, rng)
    return Clustering(labels, used, seconds)


def sample_graph(name: str, X: Any, n_neighbors: int = 10, *, random_state: Any = None) -> Graph | None:
    """Graph that a method would build, to be used for several runs; None if it takes none."""
    method = _known(name)
    if not method.needs_graph:
        return None
    X = check_array(X, dtype=[np.float64, np.float32])
    return knn_graph(prepare(X, method.preparation), n_neighbors, random_state=random_state)


def parameter_grid(name: str, n_samples: int, n_features: int) -> list[dict[str, Any]]:
    """Every combination of parameters that the paper tries for a method (its table of parameter ranges).

    Examples
    --------
    >>> parameter_grid("pca", 100, 8)
    [{'n_components': 2}, {'n_components': 4}, {'n_components': 8}]
    """
    ranges = _known(name).ranges(n_samples, n_features)
    return [dict(zip(ranges, values, strict=True)) for values in product(*ranges.values())]


def prepare(X: Array, steps: tuple[str, ...]) -> Array:
    """Copy of ``X`` with each of the steps done; a constant feature becomes zero, and a sample of zeros stays so."""
    for step in steps:
        if step == "standardise":
            deviation = X.std(axis=0, dtype=np.float64)
            centred = X - X.mean(axis=0, dtype=np.float64).astype(X.dtype)
            constant = deviation <= 10 * np.finfo(X.dtype).eps * np.abs(X).max(axis=0)
            X = np.where(constant, 0, centred / np.where(constant, 1, deviation)).astype(X.dtype)
        elif step == "normalise":
            length = np.linalg.norm(X, axis=1, keepdims=True)
            X = X / np.where(length > 0, length, 1).astype(X.dtype)
        else:
            raise ValueError(f"a step is 'standardise' or 'normalise', got {step!r}.")
    return X


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


def _known(name: str) -> Method:
    if name not in METHODS:
        raise ValueError(f"{name!r} is not a method; there are {', '.join(METHODS)}.")
    return METHODS[name]


@contextmanager
def _timing(seconds: dict[str, float], stage: str) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - begin


def _k_means(points: Array, n_clusters: int, n_init: int, rng: np.random.RandomState) -> Array:
    return np.asarray(KMeans(n_clusters, n_init=n_init, random_state=rng).fit(points).labels_)


# --- what k-means is run on ----------------------------------------------------------------------------------------


def _given(task: Task) -> Array:
    return task.X


def _laplacian_eigenmaps(task: Task) -> Array:
    """Lowest eigenvectors of the random walk; the first is constant, or tells the pieces of the graph apart."""
    assert task.graph is not None
    _, vectors = lowest_eigenpairs(task.graph, min(task.parameters["n_components"] + 1, len(task.X)), kind="normalized")
    root = np.sqrt(np.maximum(task.graph.degrees, np.finfo(np.float64).tiny))
    return np.asarray(vectors / root[:, None])


def _locally_linear(task: Task) -> Array:
    return np.asarray(LocallyLinearEmbedding(random_state=task.random_state, **task.parameters).fit_transform(task.X))


def _pca(task: Task) -> Array:
    return np.asarray(PCA(random_state=task.random_state, **task.parameters).fit_transform(task.X))


def _nmf(task: Task) -> Array:
    return np.asarray(NMF(random_state=task.random_state, max_iter=500, **task.parameters).fit_transform(task.X))


def _embedding(estimator: type[GraphLaplacianPCA | GraphNMF | ManifoldMF]) -> Callable[[Task], Array]:
    def points(task: Task) -> Array:
        model = estimator(sample_graph=task.graph, random_state=task.random_state, **task.parameters)
        return np.asarray(model.fit(task.X).embedding_)

    return points


def _rpca(task: Task) -> Array:
    return _rows(RobustPCA(1, weight=_weight(task)).fit(task.X).low_rank_)


def _rpcag(task: Task) -> Array:
    model = RobustPCAOnGraphs(1, weight=_weight(task), gamma=task.parameters["gamma"], sample_graph=task.graph)
    return _rows(model.fit(task.X).low_rank_)


def _weight(task: Task) -> float:
    """Price of an error; the parameter is in units of the usual choice."""
    return float(task.parameters["weight"] / np.sqrt(max(task.X.shape)))


def _frpcag(task: Task) -> Array:
    model = FastRobustPCAOnGraphs(
        1, sample_graph=task.graph, laplacian="normalized", random_state=task.random_state, **task.parameters
    )
    return _rows(model.fit(task.X).low_rank_)


def _cpca(task: Task) -> Array:
    model = CompressiveClustering(
        task.n_clusters, sample_graph=task.graph, random_state=task.random_state, **task.parameters
    )
    return np.asarray(model.fit(task.X).labels_)


def _rows(X: Array) -> Array:
    """Coordinates of the rows with the same distances, in as few dimensions as the rank."""
    centred = X - X.mean(axis=0)
    left, values, _ = leading_svd(centred, min(*X.shape))
    kept = max(1, int(np.sum(values > NEGLIGIBLE * values[0])))
    return left[:, :kept] * values[:kept]


# --- parameters of the paper (appendix, table of parameter ranges) -------------------------------------------------


def _dimensions(n_samples: int, n_features: int) -> list[int]:
    """2, 4, 8 ... up to the shorter side."""
    return [2**power for power in range(1, int(np.log2(min(n_samples, n_features))) + 1)] or [1]


def _components(n_samples: int, n_features: int) -> Grid:
    return {"n_components": _dimensions(n_samples, n_features)}


def _none(n_samples: int, n_features: int) -> Grid:
    return {}


def _with(ranges: Callable[[int, int], Grid], **more: list[Any]) -> Callable[[int, int], Grid]:
    return lambda n_samples, n_features: {**ranges(n_samples, n_features), **more}


POWERS = [2.0**power for power in range(-3, 11)]
WEIGHTS = [2.0**power for power in range(-3, 4)]  # times 1 / sqrt(max(n, p)); the paper's step of 0.1 has no unit
BETAS = [round(0.1 * step, 1) for step in range(1, 10)]
GAMMAS = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0]  # the paper says "(0, 30)"

STANDARD, UNIT, BOTH = ("standardise",), ("normalise",), ("standardise", "normalise")
SIZE = {"n_components": None}
PAIR = {"gamma_samples": "auto", "gamma_features": "auto"}

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("kmeans", "k-means", STANDARD, {}, _none, _given),
        Method("le", "Laplacian eigenmaps", STANDARD, SIZE, _components, _laplacian_eigenmaps, needs_graph=True),
        Method("lle", "locally linear embedding", STANDARD, SIZE, _components, _locally_linear),
        Method("pca", "PCA", STANDARD, SIZE, _components, _pca),
        Method(
            "glpca", "graph-Laplacian PCA", STANDARD, SIZE | {"beta": 0.5},
            _with(_components, beta=BETAS), _embedding(GraphLaplacianPCA), needs_graph=True,
        ),
        Method(
            "mmf", "manifold-regularised MF", BOTH, SIZE | {"gamma": 10.0},
            _with(_components, gamma=POWERS), _embedding(ManifoldMF), needs_graph=True,
        ),
        Method("nmf", "NMF", UNIT, SIZE, _components, _nmf),
        Method(
            "gnmf", "graph-regularised NMF", UNIT, SIZE | {"gamma": 10.0},
            _with(_components, gamma=POWERS), _embedding(GraphNMF), needs_graph=True,
        ),
        Method("rpca", "robust PCA", STANDARD, {"weight": 1.0}, _with(_none, weight=WEIGHTS), _rpca),
        Method(
            "rpcag", "robust PCA on graphs", STANDARD, {"weight": 1.0, "gamma": "auto"},
            _with(_none, weight=WEIGHTS, gamma=POWERS), _rpcag, needs_graph=True,
        ),
        Method(
            "frpcag", "fast robust PCA on graphs", STANDARD, PAIR,
            _with(_none, gamma_samples=GAMMAS, gamma_features=GAMMAS), _frpcag, needs_graph=True,
        ),
        Method(
            "cpca", "compressive PCA", STANDARD, PAIR | {"downsampling": "auto", "scores": "auto"},
            _with(_none, gamma_samples=GAMMAS, gamma_features=GAMMAS), _cpca, needs_graph=True,
        ),
    )
}  # fmt: skip
