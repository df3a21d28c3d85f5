"""The paper's twelve clustering methods: preparation, default parameters, ranges of the grid, and the model itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from ..internals import Array, Partition, compressed_partitions, leading_svd

Grid = dict[str, list[Any]]

NEGLIGIBLE = 1e-2  # relative singular value: 1e-4 of the squared distances that k-means sees
POWERS = [2.0**power for power in range(-3, 11)]
WEIGHTS = [2.0**power for power in range(-3, 4)]  # times 1 / sqrt(max(n, p)); the paper's step of 0.1 has no unit
BETAS = [round(0.1 * step, 1) for step in range(1, 10)]
GAMMAS = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0]  # the paper says "(0, 30)"

RAW, STANDARD, UNIT, BOTH = (), ("standardize",), ("normalize",), ("standardize", "normalize")
COMPONENTS = {"n_components": None}  # None: as many as clusters
PAIR = {"gamma_samples": "auto", "gamma_features": "auto"}


@dataclass(frozen=True, eq=False)
class ClusterTask:
    """Samples to cluster and what a system may need for it."""

    X: Array  # (n_samples, n_features), prepared
    n_clusters: int
    parameters: dict[str, Any] = field(default_factory=dict)  # of the system
    random_state: Any = 0
    n_jobs: int | None = None  # threads; None for every core
    graph: Any = None  # of the samples
    feature_graph: Any = "knn"  # "knn" lets the system build it
    notes: dict[str, Any] = field(default_factory=dict)  # filled by the method


Points = Callable[[ClusterTask], Array | Partition]


@dataclass(frozen=True, eq=False)
class Method:
    """A row of the paper's tables."""

    name: str
    title: str
    points: Points  # computes the points that k-means partitions, or a function that partitions
    preparation: tuple[str, ...] = STANDARD  # steps of data.prepare
    defaults: dict[str, Any] = field(default_factory=dict)
    swept: Grid = field(default_factory=dict)  # values that the paper tries for each parameter except n_components
    needs_graph: bool = False  # of the samples

    def ranges(self, n_samples: int, n_features: int) -> Grid:
        """Values that the paper tries for each parameter; 2, 4, 8 ... components up to the shorter side."""
        if "n_components" not in self.defaults:
            return dict(self.swept)
        sizes = [2**power for power in range(1, int(np.log2(min(n_samples, n_features))) + 1)] or [1]
        return {"n_components": sizes, **self.swept}


METHODS: dict[str, Method] = {}


def method(name: str, title: str, **details: Any) -> Callable[[Points], Points]:
    """Register a method of the paper."""

    def register(points: Points) -> Points:
        METHODS[name] = Method(name, title, points, **details)
        return points

    return register


def find_method(name: str) -> Method:
    """Look up a method."""
    if name not in METHODS:
        raise ValueError(f"{name!r} is not a method; there are {', '.join(METHODS)}.")
    return METHODS[name]


def parameter_grid(name: str, n_samples: int, n_features: int) -> list[dict[str, Any]]:
    """Every combination of parameters that the paper tries for a method (its table of parameter ranges).

    Examples
    --------
    >>> parameter_grid("pca", 100, 8)
    [{'n_components': 2}, {'n_components': 4}, {'n_components': 8}]
    """
    ranges = find_method(name).ranges(n_samples, n_features)
    return [dict(zip(ranges, values, strict=True)) for values in product(*ranges.values())]


@method("kmeans", "k-means", preparation=RAW)
def data_itself(task: ClusterTask) -> Array:
    """Return the samples themselves."""
    return task.X


@method("le", "Laplacian eigenmaps", defaults=COMPONENTS, needs_graph=True)
def laplacian_eigenmaps(task: ClusterTask) -> Array:
    """Lowest eigenvectors of the random walk; the first is constant, or indicates connected components."""
    from graphlowrank.graphs import lowest_eigenpairs

    _, vectors = lowest_eigenpairs(task.graph, min(task.parameters["n_components"] + 1, len(task.X)), kind="normalized")
    root = np.sqrt(np.maximum(task.graph.degrees, np.finfo(np.float64).tiny))
    return np.asarray(vectors / root[:, None])


@method("lle", "locally linear embedding", defaults=COMPONENTS)
def locally_linear(task: ClusterTask) -> Array:
    """Coordinates of locally linear embedding."""
    from sklearn.manifold import LocallyLinearEmbedding

    # For more than eight components scikit-learn would compute all eigenvectors of a dense matrix.
    solver = "arpack" if len(task.X) > 1000 else "auto"
    options = {"eigen_solver": solver, "max_iter": 1000, "random_state": task.random_state, **task.parameters}
    return np.asarray(LocallyLinearEmbedding(**options).fit_transform(task.X))


@method("pca", "PCA", defaults=COMPONENTS)
def pca(task: ClusterTask) -> Array:
    """Principal scores of unit variance, V in X = U S V^T as in the paper: strong directions do not dominate."""
    left, _, _ = leading_svd(task.X - task.X.mean(axis=0), task.parameters["n_components"])
    return left


def _embedding(estimator: str) -> Points:
    """Coordinates that an estimator with ``embedding_`` finds."""

    def points(task: ClusterTask) -> Array:
        import graphlowrank

        model = getattr(graphlowrank, estimator)(
            sample_graph=task.graph, random_state=task.random_state, **task.parameters
        )
        return np.asarray(model.fit(task.X).embedding_)

    return points


method("glpca", "graph-Laplacian PCA", defaults=COMPONENTS | {"beta": 0.5}, swept={"beta": BETAS}, needs_graph=True)(
    _embedding("GraphLaplacianPCA")
)
method(
    "mmf", "manifold-regularized MF", preparation=BOTH, defaults=COMPONENTS | {"gamma": 10.0}, swept={"gamma": POWERS},
    needs_graph=True,
)(_embedding("ManifoldMF"))  # fmt: skip


@method("nmf", "NMF", preparation=UNIT, defaults=COMPONENTS)
def nmf(task: ClusterTask) -> Array:
    """Coefficients of non-negative matrix factorization."""
    from sklearn.decomposition import NMF

    return np.asarray(NMF(random_state=task.random_state, max_iter=500, **task.parameters).fit_transform(task.X))


method(
    "gnmf", "graph-regularized NMF", preparation=UNIT, defaults=COMPONENTS | {"gamma": 10.0}, swept={"gamma": POWERS},
    needs_graph=True,
)(_embedding("GraphNMF"))  # fmt: skip


@method("rpca", "robust PCA", defaults={"weight": 1.0}, swept={"weight": WEIGHTS})
def rpca(task: ClusterTask) -> Array:
    """Rows of the low-rank part of robust PCA."""
    from graphlowrank import RobustPCA

    return _rows(RobustPCA(1, weight=_weight(task)).fit(task.X).low_rank_)


@method(
    "rpcag", "robust PCA on graphs", defaults={"weight": 1.0, "gamma": "auto"},
    swept={"weight": WEIGHTS, "gamma": POWERS}, needs_graph=True,
)  # fmt: skip
def rpcag(task: ClusterTask) -> Array:
    """Rows of the low-rank part of robust PCA on graphs."""
    from graphlowrank import RobustPCAOnGraphs

    options = {"gamma": task.parameters["gamma"], "sample_graph": task.graph, "laplacian": "normalized"}
    return _rows(RobustPCAOnGraphs(1, weight=_weight(task), **options).fit(task.X).low_rank_)


def _weight(task: ClusterTask) -> float:
    """Weight of the sparse part; the parameter is relative to the usual choice."""
    return float(task.parameters["weight"] / np.sqrt(max(task.X.shape)))


@method(
    "frpcag", "fast robust PCA on graphs", defaults=PAIR, swept={"gamma_samples": GAMMAS, "gamma_features": GAMMAS},
    needs_graph=True,
)  # fmt: skip
def frpcag(task: ClusterTask) -> Array:
    """Rows of the low-rank matrix of fast robust PCA on graphs."""
    from graphlowrank import FastRobustPCAOnGraphs

    model = FastRobustPCAOnGraphs(
        1, sample_graph=task.graph, feature_graph=task.feature_graph, laplacian="normalized",
        random_state=task.random_state, **task.parameters,
    )  # fmt: skip
    return _rows(model.fit(task.X).low_rank_)


@method(
    "cpca", "compressive PCA", defaults=PAIR | {"downsampling": "auto", "scores": "whitened"},
    swept={"gamma_samples": GAMMAS, "gamma_features": GAMMAS}, needs_graph=True,
)  # fmt: skip
def cpca(task: ClusterTask) -> Partition:
    """Algorithm 3 up to the compressed low-rank matrix; partitions are decoded from it."""
    partition, task.notes["rank"] = compressed_partitions(
        task.X, task.n_clusters, sample_graph=task.graph, feature_graph=task.feature_graph,
        random_state=task.random_state, **task.parameters,
    )  # fmt: skip
    return partition


def _rows(X: Array) -> Array:
    """Coordinates of the rows with the same pairwise distances, in as few dimensions as the rank."""
    left, values, _ = leading_svd(X - X.mean(axis=0), min(*X.shape))
    kept = max(1, int(np.sum(values > NEGLIGIBLE * values[0])))
    return left[:, :kept] * values[:kept]
