"""Matrices that are low-rank on graphs by construction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from .._backend import Array
from ..graphs import Graph, knn_graph, lowest_eigenpairs

Shape = Literal["clusters", "rings"]


@dataclass(frozen=True, eq=False)
class LowRankOnGraphs:
    """A corrupted matrix and everything that went into it.

    Attributes
    ----------
    X
        (n_samples, n_features) what is observed.
    X_true
        The matrix in LR(P_k, Q_k): every column in the span of the sample graph's first k eigenvectors, every row
        in that of the feature graph's.
    sample_graph, feature_graph
        The graphs.
    labels
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
    random_state: Any = None,
) -> LowRankOnGraphs:
    """Random matrix of a given ``rank`` on two graphs, with a share of its entries replaced by gross errors.

    Parameters
    ----------
    n_samples, n_features, rank
        Size and rank of the matrix.
    shape
        Where samples and features lie: "clusters" (``rank`` separate groups) or "rings" (a closed curve each).
    outliers
        Share of entries replaced by normal numbers of ``outlier_size`` standard deviations of the matrix.
    outlier_size
        See above.
    random_state
        Seed.

    Examples
    --------
    >>> data = make_low_rank_on_graphs(200, 60, rank=3, random_state=0)
    >>> int(np.linalg.matrix_rank(data.X_true))
    3
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
    """Points whose neighbour graph has the wanted shape, and their group."""
    if shape == "clusters":
        labels = rng.permutation(np.arange(n) % rank)
        centres = 20.0 * np.eye(rank)
        return centres[labels] + rng.standard_normal((n, rank)), labels
    if shape != "rings":
        raise ValueError(f"shape must be 'clusters' or 'rings', got {shape!r}.")
    angles = 2 * np.pi * rng.random_sample(n)
    return np.column_stack([np.cos(angles), np.sin(angles)]), np.zeros(n, dtype=int)
