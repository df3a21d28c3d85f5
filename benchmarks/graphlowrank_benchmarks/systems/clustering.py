"""Run a clustering method of the paper by name; and the other systems that cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..cells import Record, stopwatch
from ..data import prepare
from ..internals import Array, Partition, default_gammas, k_means, limit_threads
from .methods import METHODS, ClusterTask, Method, find_method
from .registry import fit_estimator, system

N_INIT = 10  # restarts of k-means
PCA_COMPONENTS = 50
BOUNDED_BY_SAMPLES = ("le", "glpca")  # their number of components is limited by the samples alone
# The paper's Algorithm 3 as an option of CompressiveClustering.
ALGORITHM_3: dict[str, Any] = {
    "partition": "k-means", "scaling": "none", "robust_graphs": False, "n_neighbors": 10, "tol": 1e-3,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted method, from which any number of partitions can be drawn."""

    partition: Partition  # (n_init, random_state) -> labels
    parameters: dict[str, Any]  # defaults included
    seconds: dict[str, float]  # "graph" (0 if given), "model" (with CPCA's feature graph), and "k-means" if it was run
    notes: dict[str, Any]  # CPCA's "rank" of the compressed low-rank matrix
    labels: Array | None = None  # (n_samples,) of :func:`cluster`


def cluster(
    name: str, X: Any, n_clusters: int, *, n_init: int = N_INIT, random_state: Any = None, **options: Any
) -> Fitted:
    """Cluster the samples of ``X`` by one of METHODS with the best of ``n_init`` starts of k-means; see :func:`fit`."""
    from sklearn.utils import check_random_state

    rng = check_random_state(random_state)
    fitted = fit(name, X, n_clusters, random_state=rng, **options)
    with limit_threads(options.get("n_jobs")), stopwatch() as spent:
        labels = fitted.partition(n_init, rng)
    return replace(fitted, labels=labels, seconds=fitted.seconds | {"k-means": spent[0]})


def fit(
    name: str,
    X: Any,
    n_clusters: int,
    *,
    graph: Any = None,
    feature_graph: Any = None,
    preparation: tuple[str, ...] | None = None,
    n_neighbors: int = 10,
    n_jobs: int | None = None,
    random_state: Any = None,
    **parameters: Any,
) -> Fitted:
    """Run everything before k-means, so that k-means can be run many times.

    Parameters
    ----------
    name
        One of METHODS.
    X
        (n_samples, n_features), raw.
    n_clusters
        Number of clusters.
    graph, feature_graph
        Graphs of the prepared samples (see :func:`method_graph`) and features; built where needed and not given.
    preparation
        Steps of :func:`.data.prepare`; None for those of the paper, () for none.
    n_neighbors
        Neighbors in the graphs and in locally linear embedding.
    n_jobs
        Number of threads; None for every core.
    random_state
        Seed.
    **parameters
        Parameters of the method; its defaults where not given.
    """
    from sklearn.utils import check_array, check_random_state

    from graphlowrank.graphs import as_graph, knn_graph

    method = find_method(name)
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
            with stopwatch() as spent:
                graph = graph or knn_graph(prepared, n_neighbors, random_state=rng)
            seconds["graph"] = spent[0]
        between_features = "knn" if feature_graph is None else feature_graph
        task = ClusterTask(
            prepared, n_clusters, used, rng, n_jobs, graph if method.needs_graph else None, between_features
        )
        with stopwatch() as spent:
            found = method.points(task)
        seconds["model"] = spent[0]
    partition = found if callable(found) else partial(k_means, found, n_clusters)
    return Fitted(partition, used, seconds, task.notes)


def method_graph(name: str, X: Any, n_neighbors: int = 10, *, random_state: Any = None) -> Any:
    """Sample graph that a method would build, to be used for several runs; None if it uses none."""
    from sklearn.utils import check_array

    from graphlowrank.graphs import knn_graph

    method = find_method(name)
    if not method.needs_graph:
        return None
    X = check_array(X, dtype=[np.float64, np.float32])
    return knn_graph(prepare(X, method.preparation), n_neighbors, random_state=random_state)


def _complete(method: Method, given: dict[str, Any], n_clusters: int, shape: tuple[int, int]) -> dict[str, Any]:
    """Parameters with defaults; as many components as clusters, if possible, where None is given."""
    for key in given:
        if key not in method.defaults:
            takes = ", ".join(method.defaults) or "none"
            raise ValueError(f"{method.title} has no parameter {key!r}; it takes {takes}.")
    used = method.defaults | given
    if "n_components" in used:
        most = shape[0] - 1 if method.name in BOUNDED_BY_SAMPLES else min(shape)
        k = min(n_clusters, most) if used["n_components"] is None else used["n_components"]
        if not (isinstance(k, (int, np.integer)) and 1 <= k <= most):
            raise ValueError(f"n_components must be a whole number between 1 and {most} for {method.title}, got {k!r}.")
        used["n_components"] = int(k)
    return used


# --- the registry: the methods above, and systems as their users would call them ---


def _run_method(name: str) -> Callable[[ClusterTask, Record], Array | None]:
    def run(task: ClusterTask, record: Record) -> Array | None:
        found = cluster(
            name, task.X, task.n_clusters, random_state=task.random_state, n_jobs=task.n_jobs, **task.parameters
        )
        record.values |= found.notes
        record.seconds |= {"graphs": found.seconds["graph"], "after": found.seconds["model"] + found.seconds["k-means"]}
        return found.labels

    return run


for _name in METHODS:
    system("cluster", _name)(_run_method(_name))


@system("cluster", "CompressiveClustering")
def compressive_clustering(task: ClusterTask, record: Record) -> Array:
    """Our estimator, with the parameters of the task."""
    options = {"n_jobs": task.n_jobs, "random_state": task.random_state, **task.parameters}
    return fit_estimator("CompressiveClustering", task.X, record, n_clusters=task.n_clusters, **options).labels_


@system("cluster", "FastRobustPCAOnGraphs + KMeans")
def frpcag_k_means(task: ClusterTask, record: Record) -> Array:
    """Our uncompressed model with the gammas of the compressed one, then k-means on the low-rank matrix."""
    with record.timing("import"):
        gamma_samples, gamma_features = default_gammas("normalized")
    options = {
        "n_components": 1,  # k-means uses the whole matrix
        "laplacian": "normalized", "gamma_samples": gamma_samples, "gamma_features": gamma_features,
        "robust_graphs": False, "n_jobs": task.n_jobs, "random_state": task.random_state, **task.parameters,
    }  # fmt: skip
    model = fit_estimator("FastRobustPCAOnGraphs", task.X, record, **options)
    with stopwatch() as spent:
        labels = _k_means(model.low_rank_, task, record)
    record.stages["k-means"] = spent[0]
    record.seconds["after"] += spent[0]
    return labels


@system("cluster", "KMeans")
def scikit_learn_k_means(task: ClusterTask, record: Record) -> Array:
    """scikit-learn's k-means with ten restarts."""
    _import_k_means(record)
    with record.timing("after"):
        return _k_means(task.X, task, record)


@system("cluster", "SpectralClustering")
def spectral(task: ClusterTask, record: Record) -> Array:
    """scikit-learn's spectral clustering on nearest neighbors; the graph is built first, as it would do itself."""
    with record.timing("import"):
        from sklearn.cluster import SpectralClustering
        from sklearn.neighbors import kneighbors_graph
    with record.timing("graphs"):
        directed = kneighbors_graph(task.X, 10, include_self=True, n_jobs=task.n_jobs or -1)
        affinity = 0.5 * (directed + directed.T)
    with record.timing("after"):
        model = SpectralClustering(task.n_clusters, affinity="precomputed", random_state=task.random_state)
        return np.asarray(model.fit_predict(affinity))


@system("cluster", "PCA + KMeans")
def pca_k_means(task: ClusterTask, record: Record) -> Array:
    """scikit-learn's PCA, then k-means."""
    with record.timing("import"):
        from sklearn.decomposition import PCA
    _import_k_means(record)
    with record.timing("after"):
        rank = min(PCA_COMPONENTS, *task.X.shape)
        return _k_means(PCA(rank, random_state=task.random_state).fit_transform(task.X), task, record)


@system("cluster", "NMF + KMeans")
def nmf_k_means(task: ClusterTask, record: Record) -> Array:
    """scikit-learn's NMF with a component for each cluster, then k-means."""
    with record.timing("import"):
        from sklearn.decomposition import NMF
    _import_k_means(record)
    with record.timing("after"):
        model = NMF(task.n_clusters, random_state=task.random_state)
        return _k_means(model.fit_transform(task.X), task, record)


@system("cluster", "UMAP + KMeans")
def umap_k_means(task: ClusterTask, record: Record) -> Array:
    """UMAP's defaults, then k-means; the neighbor search is timed apart.

    Without a ``random_state`` among the parameters UMAP has no seed, because a seed limits it to one thread.
    """
    with record.timing("import"):
        from sklearn.utils import check_random_state
        from umap import UMAP
        from umap.umap_ import nearest_neighbors
    _import_k_means(record)
    jobs, n_neighbors = task.n_jobs or -1, min(15, len(task.X) - 1)
    rng = check_random_state(task.parameters.get("random_state"))
    with record.timing("graphs"):
        found = nearest_neighbors(task.X, n_neighbors, "euclidean", None, False, rng, n_jobs=jobs)  # noqa: FBT003
    with record.timing("after"):
        model = UMAP(n_neighbors=n_neighbors, precomputed_knn=found, n_jobs=jobs, **task.parameters)
        return _k_means(model.fit_transform(task.X), task, record)


def _import_k_means(record: Record) -> None:
    with record.timing("import"):
        import sklearn.cluster  # noqa: F401


def _k_means(X: Array, task: ClusterTask, record: Record) -> Array:
    from sklearn.cluster import KMeans

    model = KMeans(task.n_clusters, n_init=N_INIT, random_state=task.random_state).fit(X)
    record.values.setdefault("k_means_iterations", int(model.n_iter_))
    return np.asarray(model.labels_)
