"""Synthetic matrices with known ground truth: low-rank on graphs."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.utils import check_random_state

from .._typing import Array, RandomState
from ..graphs import Graph, knn_graph, lowest_eigenpairs

Shape = Literal["clusters", "rings"]


@dataclass(frozen=True, eq=False)
class LowRankOnGraphs:
    """Result of :func:`make_low_rank_on_graphs`.

    Attributes
    ----------
    X, X_true : ndarrays of shape (n_samples, n_features)
        Observed matrix, and the one in LR(P_k, Q_k): its columns are in the span of the first k eigenvectors of the
        sample graph, its rows in that of the feature graph.
    sample_graph, feature_graph : Graph
        The graphs.
    labels : ndarray of shape (n_samples,)
        Cluster of each sample; all 0 for "rings".
    """

    X: Array
    X_true: Array
    sample_graph: Graph
    feature_graph: Graph
    labels: Array


def make_low_rank_on_graphs(
    n_samples: int = 3000,
    n_features: int = 300,
    rank: int = 5,
    *,
    shape: Shape = "clusters",
    outliers: float = 0.0,
    outlier_size: float = 10.0,
    random_state: RandomState = None,
) -> LowRankOnGraphs:
    """Random matrix of a given rank on two graphs, with a share of cellwise outliers.

    Parameters
    ----------
    n_samples, n_features, rank : int
        Size and rank of the matrix.
    shape : {"clusters", "rings"}, default="clusters"
        Point clouds that the graphs are built on: ``rank`` separate clusters, or a circle.
    outliers : float, default=0.0
        Share of entries replaced by normal random numbers.
    outlier_size : float, default=10.0
        Standard deviation of the outliers, in standard deviations of the matrix.
    random_state : int, RandomState or None, default=None
        Random seed.
    """
    rng = check_random_state(random_state)
    sample_points, labels = _points(n_samples, rank, shape, rng)
    feature_points, _ = _points(n_features, rank, shape, rng)
    sample_graph, feature_graph = knn_graph(sample_points, 10), knn_graph(feature_points, 10)
    core = np.linalg.qr(rng.standard_normal((rank, rank)))[0] * rng.uniform(0.5, 1.0, rank)
    Q, P = (lowest_eigenpairs(graph, rank)[1] for graph in (sample_graph, feature_graph))
    X_true = Q @ core @ P.T
    X_true *= np.sqrt(n_samples * n_features)
    hit = rng.random_sample(X_true.shape) < outliers
    X = np.where(hit, outlier_size * X_true.std() * rng.standard_normal(X_true.shape), X_true)
    return LowRankOnGraphs(X, X_true, sample_graph, feature_graph, labels)


def _points(n: int, rank: int, shape: Shape, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Return points of the given shape, and their clusters."""
    if shape == "clusters":
        labels = rng.permutation(np.arange(n) % rank)
        return 20.0 * np.eye(rank)[labels] + rng.standard_normal((n, rank)), labels
    if shape != "rings":
        raise ValueError(f"shape must be 'clusters' or 'rings', got {shape!r}.")
    angles = 2 * np.pi * rng.random_sample(n)
    return np.column_stack([np.cos(angles), np.sin(angles)]), np.zeros(n, dtype=int)
