"""Synthetic data of the paper's figures: block-constant matrices, and points of a circle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from graphlowrank._typing import RandomState
from graphlowrank.datasets import LowRankOnGraphs, gaussian_noise
from graphlowrank.graphs import Graph, lowest_eigenpairs

from ..internals import Array

# Block matrices.
CYCLES = 3  # random cycles whose union is the graph of a cluster: six edges per node, an expander
MAX_GAP = 0.5  # above, clusters are barely distinguishable from chance
GAP_RTOL = 0.01
MAX_STEPS = 50  # of the search for the gap; a small one takes three, the largest about seven
MIN_CLUSTER_SIZE = 10  # nodes; with fewer, the largest gap may be out of reach

# Orthonormal basis of the plane x + y + z = 0: the circle has the same variance in every coordinate.
PLANE = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]]) / np.sqrt([[2.0], [6.0]])


@dataclass(frozen=True, eq=False)
class BlockMatrix(LowRankOnGraphs):
    """Result of :func:`make_block_matrix`: that of :func:`make_low_rank_on_graphs`, and feature clusters.

    Attributes
    ----------
    feature_labels : ndarray of shape (n_features,)
        Cluster of each feature. ``X_true`` has one value for each pair of a sample and a feature cluster.
    """

    feature_labels: Array


def make_block_matrix(
    n_samples: int = 300,
    n_features: int = 120,
    n_clusters: int = 4,
    *,
    n_feature_clusters: int | None = None,
    gap: float = 0.01,
    noise: float = 0.1,
    random_state: RandomState = None,
) -> BlockMatrix:
    """Block-constant matrix with noise, and two graphs with a given spectral gap.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the matrix; at least ten per cluster.
    n_clusters, n_feature_clusters : int
        Numbers k of clusters of nearly equal size, at least 2; None for as many feature as sample clusters.
    gap : float, default=0.01
        ``lambda_k / lambda_k+1`` of both graphs (combinatorial Laplacian), between 0 (disconnected clusters) and 0.5,
        met within 1 %.
    noise : float, default=0.1
        Standard deviation of the normal noise, in standard deviations of the noiseless matrix.
    random_state : int, RandomState or None, default=None
        Random seed.
    """
    k_samples, k_features = n_clusters, n_clusters if n_feature_clusters is None else n_feature_clusters
    for name, n, k in (("n_samples", n_samples, k_samples), ("n_features", n_features, k_features)):
        if k < 2 or n < MIN_CLUSTER_SIZE * k:
            needed = f"at least {MIN_CLUSTER_SIZE} for each of 2 or more clusters"
            raise ValueError(f"{name} must be {needed}, got {n} and {k}.")
    if not 0 <= gap <= MAX_GAP:
        raise ValueError(f"gap must be between 0 and {MAX_GAP}, got {gap}.")
    rng = check_random_state(random_state)
    labels, feature_labels = (
        rng.permutation(np.arange(n) % k) for n, k in ((n_samples, k_samples), (n_features, k_features))
    )
    # Rows and columns of an orthogonal matrix are maximally separated.
    larger = max(k_samples, k_features)
    levels = np.sqrt(larger) * np.linalg.qr(rng.standard_normal((larger, larger)))[0]
    X_true = levels[np.ix_(labels, feature_labels)]
    X = gaussian_noise(X_true, noise, random_state=rng)
    sample_graph, feature_graph = (graph_with_gap(side, gap, rng) for side in (labels, feature_labels))
    return BlockMatrix(X, X_true, sample_graph, feature_graph, labels, feature_labels)


def graph_with_gap(labels: Array, gap: float, rng: np.random.RandomState, *, max_steps: int = MAX_STEPS) -> Graph:
    """Connect the clusters by random edges, scaled until ``lambda_k / lambda_k+1 = gap``."""
    n, k = len(labels), int(labels.max()) + 1
    within = sum(_random_cycles(np.flatnonzero(labels == cluster), n, rng) for cluster in range(k))
    cycles = _random_cycles(np.arange(n), n, rng).tocoo()
    crossing = labels[cycles.row] != labels[cycles.col]
    # A cycle through all nodes visits all clusters, so its crossing edges connect them all.
    between = sp.csr_array((cycles.data[crossing], (cycles.row[crossing], cycles.col[crossing])), shape=(n, n))

    scale = gap
    for _ in range(max_steps):
        graph = Graph(sp.csr_array(within + scale * between if gap > 0 else within))
        values = lowest_eigenpairs(graph, k + 1)[0]
        found = float(values[k - 1] / values[k])
        if abs(found - gap) <= GAP_RTOL * gap:
            return graph
        scale *= gap / found  # lambda_k is about proportional to it, lambda_k+1 barely changes
    raise RuntimeError(f"gap {gap} of {k} clusters of {n} nodes was not met; ask for a smaller one or for more nodes.")


def _random_cycles(nodes: Array, n: int, rng: np.random.RandomState) -> sp.csr_array:
    """Edge weights (n, n) of random cycles through ``nodes``, which connect them."""
    cycles = [rng.permutation(nodes) for _ in range(CYCLES)]
    start, end = np.concatenate(cycles), np.concatenate([np.roll(cycle, 1) for cycle in cycles])
    directed = sp.csr_array((rng.uniform(0.5, 1.5, len(start)), (start, end)), shape=(n, n))
    return sp.csr_array(directed + directed.T)


@dataclass(frozen=True, eq=False)
class NoisyCircle:
    """Result of :func:`make_noisy_circle`.

    Attributes
    ----------
    X, X_true : ndarrays of shape (n_samples, 3)
        Noisy points, and the same points on the circle of radius 1.
    angles : ndarray of shape (n_samples,)
        Angles on the circle, between 0 and 2 pi.
    """

    X: Array
    X_true: Array
    angles: Array


def make_noisy_circle(n_samples: int = 500, *, noise: float = 0.1, random_state: RandomState = None) -> NoisyCircle:
    """Noisy random points of a circle in space (first figure of the paper).

    PCA keeps the plane of the circle and the noise in it; the smoothest signals of the points' graph follow the circle.

    Parameters
    ----------
    n_samples : int, default=500
        Number of points.
    noise : float, default=0.1
        Standard deviation of the normal noise on each coordinate; the radius is 1.
    random_state : int, RandomState or None, default=None
        Random seed.
    """
    if n_samples < 1:
        raise ValueError(f"n_samples must be positive, got {n_samples}.")
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise must be a number >= 0, got {noise}.")
    rng = check_random_state(random_state)
    angles = 2 * np.pi * rng.random_sample(n_samples)
    X_true = np.column_stack([np.cos(angles), np.sin(angles)]) @ PLANE
    return NoisyCircle(X_true + noise * rng.standard_normal(X_true.shape), X_true, angles)
