"""What k-means is run on: the part of each method that is not k-means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.decomposition import NMF
from sklearn.manifold import LocallyLinearEmbedding

from .._backend import Array
from .._progress import Progress
from ..clustering.labels import decode_labels, leading_directions
from ..estimators import (
    FastRobustPCAOnGraphs,
    GraphLaplacianPCA,
    GraphNMF,
    ManifoldMF,
    RobustPCA,
    RobustPCAOnGraphs,
)
from ..graphs import Graph, lowest_eigenpairs
from ..linalg.svd import leading_svd, rank_of
from ..options import Settings
from ..pipeline import compress

Partition = Callable[[int, Any], Array]  # from restarts of k-means and a seed to labels
DENSE_UP_TO = 1000  # samples
NEGLIGIBLE = 1e-2  # of the first singular value: a ten-thousandth of the distances that k-means sees


@dataclass(frozen=True, eq=False)
class Task:
    """Prepared samples and what a method may need beside them.

    Attributes
    ----------
    X
        (n_samples, n_features), prepared.
    n_clusters
        Clusters to find.
    graph, feature_graph
        Between the samples, where the method takes one; between the features, "knn" to build it.
    parameters
        Of the method, complete.
    random_state
        Seed.
    notes
        What the method writes down beside its result.
    """

    X: Array
    n_clusters: int
    graph: Graph | None
    feature_graph: Any
    parameters: dict[str, Any]
    random_state: Any
    notes: dict[str, Any] = field(default_factory=dict)


def given(task: Task) -> Array:
    """Return the prepared samples themselves."""
    return task.X


def laplacian_eigenmaps(task: Task) -> Array:
    """Lowest eigenvectors of the random walk; the first is constant, or tells the pieces of the graph apart."""
    assert task.graph is not None
    _, vectors = lowest_eigenpairs(task.graph, min(task.parameters["n_components"] + 1, len(task.X)), kind="normalized")
    root = np.sqrt(np.maximum(task.graph.degrees, np.finfo(np.float64).tiny))
    return np.asarray(vectors / root[:, None])


def locally_linear(task: Task) -> Array:
    """Coordinates of locally linear embedding."""
    # scikit-learn would take all eigenvectors of a dense matrix for more than eight components.
    solver = "arpack" if len(task.X) > DENSE_UP_TO else "auto"
    model = LocallyLinearEmbedding(
        eigen_solver=solver, max_iter=1000, random_state=task.random_state, **task.parameters
    )
    return np.asarray(model.fit_transform(task.X))


def pca(task: Task) -> Array:
    """Principal components of unit length, V in X = U S V^T, as the paper has them: light on a face does not decide."""
    left, _, _ = leading_svd(task.X - task.X.mean(axis=0), task.parameters["n_components"])
    return left


def nmf(task: Task) -> Array:
    """Weights of the parts of non-negative matrix factorisation."""
    return np.asarray(NMF(random_state=task.random_state, max_iter=500, **task.parameters).fit_transform(task.X))


def embedding(estimator: type[GraphLaplacianPCA | GraphNMF | ManifoldMF]) -> Callable[[Task], Array]:
    """Coordinates that an estimator with ``embedding_`` finds."""

    def points(task: Task) -> Array:
        model = estimator(sample_graph=task.graph, random_state=task.random_state, **task.parameters)
        return np.asarray(model.fit(task.X).embedding_)

    return points


def rpca(task: Task) -> Array:
    """Rows of the low-rank part of robust PCA."""
    return _rows(RobustPCA(1, weight=_weight(task)).fit(task.X).low_rank_)


def rpcag(task: Task) -> Array:
    """Rows of the low-rank part of robust PCA on graphs."""
    options = {"gamma": task.parameters["gamma"], "sample_graph": task.graph, "laplacian": "normalized"}
    model = RobustPCAOnGraphs(1, weight=_weight(task), **options)
    return _rows(model.fit(task.X).low_rank_)


def _weight(task: Task) -> float:
    """Price of an error; the parameter is in units of the usual choice."""
    return float(task.parameters["weight"] / np.sqrt(max(task.X.shape)))


def frpcag(task: Task) -> Array:
    """Rows of the low-rank matrix of fast robust PCA on graphs."""
    model = FastRobustPCAOnGraphs(
        1, sample_graph=task.graph, feature_graph=task.feature_graph, laplacian="normalized",
        random_state=task.random_state, **task.parameters,
    )  # fmt: skip
    return _rows(model.fit(task.X).low_rank_)


def cpca(task: Task) -> Partition:
    """Everything up to the compressed low-rank matrix; partitions are decoded from it."""
    own = {name: value for name, value in task.parameters.items() if name != "scores"}
    settings = Settings(sample_graph=task.graph, feature_graph=task.feature_graph, **own)
    kept = settings.kept(*task.X.shape)[0]
    if task.n_clusters > kept:
        raise ValueError(f"n_clusters must be at most {kept} (the kept samples), got {task.n_clusters}.")
    small = compress(
        task.X, settings, laplacian="normalized", rank=task.n_clusters, rng=task.random_state, progress=Progress()
    )

    directions = leading_directions(small.solution.X, task.n_clusters)
    task.notes["rank"] = rank_of(directions[1])

    def partition(n_init: int, random_state: Any) -> Array:
        return decode_labels(
            small.solution.X, small.problem.samples, task.n_clusters, directions=directions,
            scores=task.parameters["scores"], n_init=n_init, random_state=random_state,
        ).labels  # fmt: skip

    return partition


def _rows(X: Array) -> Array:
    """Coordinates of the rows with the same distances, in as few dimensions as the rank."""
    centred = X - X.mean(axis=0)
    left, values, _ = leading_svd(centred, min(*X.shape))
    kept = max(1, int(np.sum(values > NEGLIGIBLE * values[0])))
    return left[:, :kept] * values[:kept]
