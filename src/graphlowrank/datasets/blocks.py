"""Clusterable matrices: constant on blocks, with graphs whose blocks hang together as loosely as asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from .._backend import Array
from ..graphs import Graph, lowest_eigenpairs
from .corruptions import gaussian_noise

TOURS = 3  # random round trips that make up the edges: six edges a node, and hardly a bottleneck
LARGEST_GAP = 0.5  # above, clusters are hardly more than an accident of the draw
GAP_TOLERANCE = 0.01  # relative
MOST_STEPS = 50  # towards the gap; a small one takes three, the largest seven or so
FEWEST_NODES = 10  # of a cluster: with fewer, the largest gap may be out of reach


@dataclass(frozen=True, eq=False)
class BlockMatrix:
    """Answer of :func:`make_block_matrix`.

    Attributes
    ----------
    X
        (n_samples, n_features) what is observed.
    X_true
        Without noise: one value for each pair of a sample cluster and a feature cluster.
    sample_graph, feature_graph
        The graphs.
    labels, feature_labels
        Cluster of each sample (n_samples,) and of each feature (n_features,).
    """

    X: Array
    X_true: Array
    sample_graph: Graph
    feature_graph: Graph
    labels: Array
    feature_labels: Array


def make_block_matrix(
    n_samples: int = 300,
    n_features: int = 120,
    n_clusters: int = 4,
    *,
    n_feature_clusters: int | None = None,
    gap: float = 0.01,
    noise: float = 0.1,
    random_state: Any = None,
) -> BlockMatrix:
    """Matrix that is constant on blocks, with noise, and two graphs with a chosen spectral gap.

    Parameters
    ----------
    n_samples, n_features
        Size of the matrix; at least ten for each cluster.
    n_clusters, n_feature_clusters
        Clusters k of samples and of features, at least 2; None for as many as samples have. They differ in size by
        one at most.
    gap
        ``lambda_k / lambda_k+1`` of both graphs (combinatorial Laplacian), between 0 and 0.5, met within 1 %. 0 is the
        clearest gap: the clusters are not joined at all.
    noise
        Deviation of the normal noise, over that of the clean matrix.
    random_state
        Seed.

    Examples
    --------
    >>> data = make_block_matrix(120, 60, 3, gap=0.1, random_state=0)
    >>> values = lowest_eigenpairs(data.sample_graph, 4)[0]
    >>> round(float(values[2] / values[3]), 2)
    0.1
    """
    k_samples, k_features = n_clusters, n_clusters if n_feature_clusters is None else n_feature_clusters
    for name, n, k in (("n_samples", n_samples, k_samples), ("n_features", n_features, k_features)):
        if k < 2 or n < FEWEST_NODES * k:
            raise ValueError(f"{name} must be at least {FEWEST_NODES} for each of 2 or more clusters, got {n} and {k}.")
    if not 0 <= gap <= LARGEST_GAP:
        raise ValueError(f"gap must be between 0 and {LARGEST_GAP}, got {gap}.")
    rng = check_random_state(random_state)
    labels, feature_labels = (
        rng.permutation(np.arange(n) % k) for n, k in ((n_samples, k_samples), (n_features, k_features))
    )
    # Rows and columns of an orthogonal matrix are as far from each other as can be.
    larger = max(k_samples, k_features)
    levels = np.sqrt(larger) * np.linalg.qr(rng.standard_normal((larger, larger)))[0]
    X_true = levels[np.ix_(labels, feature_labels)]
    X = gaussian_noise(X_true, noise, random_state=rng)
    sample_graph, feature_graph = (_graph_with_gap(side, gap, rng) for side in (labels, feature_labels))
    return BlockMatrix(X, X_true, sample_graph, feature_graph, labels, feature_labels)


def _graph_with_gap(labels: Array, gap: float, rng: np.random.RandomState) -> Graph:
    """Join the clusters by random edges just strong enough for ``lambda_k / lambda_k+1 = gap``."""
    n, k = len(labels), int(labels.max()) + 1
    within = sum(_random_tours(np.flatnonzero(labels == cluster), n, rng) for cluster in range(k))
    tours = _random_tours(np.arange(n), n, rng).tocoo()
    crossing = labels[tours.row] != labels[tours.col]
    # A round trip through all nodes visits all clusters, so that its crossings join them all.
    between = sp.csr_array((tours.data[crossing], (tours.row[crossing], tours.col[crossing])), shape=(n, n))

    strength = gap
    for _ in range(MOST_STEPS):
        graph = Graph(sp.csr_array(within + strength * between if gap > 0 else within))
        values = lowest_eigenpairs(graph, k + 1)[0]
        found = float(values[k - 1] / values[k])
        if abs(found - gap) <= GAP_TOLERANCE * gap:
            return graph
        strength *= gap / found  # lambda_k grows about in proportion, lambda_k+1 hardly
    raise RuntimeError(f"gap {gap} of {k} clusters of {n} nodes was not met; ask for a smaller one or for more nodes.")


def _random_tours(nodes: Array, n: int, rng: np.random.RandomState) -> sp.csr_array:
    """Weights (n, n) of random round trips through ``nodes``, which are thereby connected."""
    tours = [rng.permutation(nodes) for _ in range(TOURS)]
    start, end = np.concatenate(tours), np.concatenate([np.roll(tour, 1) for tour in tours])
    directed = sp.csr_array((rng.uniform(0.5, 1.5, len(start)), (start, end)), shape=(n, n))
    return sp.csr_array(directed + directed.T)
