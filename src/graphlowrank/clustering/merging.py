"""Join many small clusters to the number wanted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
import scipy.sparse as sp

from .._backend import Array


def merge(weights: sp.csr_array, labels: Array, n_clusters: int) -> Array:
    """Join pairs of clusters until ``n_clusters`` are left, each time the pair that raises the modularity most.

    Parameters
    ----------
    weights
        (n_nodes, n_nodes) symmetric weights.
    labels
        (n_nodes,) cluster numbers.
    n_clusters
        Clusters to end with; fewer are left alone.

    Returns
    -------
    labels
        (n_nodes,) cluster numbers from 0.
    """
    names, labels = np.unique(labels, return_inverse=True)
    group = np.arange(len(names))
    for kept, joined, _ in islice(_mergers(weights, labels, len(names)), max(len(names) - n_clusters, 0)):
        group[group == joined] = kept
    return np.unique(group, return_inverse=True)[1][labels]


def modularity_along(weights: sp.csr_array, labels: Array) -> Array:
    """Modularity with 1, 2, ... clusters, up to those of ``labels``, when they are joined one pair after another."""
    names, labels = np.unique(labels, return_inverse=True)
    links = between_clusters(weights, labels, len(names))
    total = max(links.sum(), np.finfo(np.float64).tiny)
    first = np.trace(links) / total - np.sum((links.sum(axis=1) / total) ** 2)
    gains = [gain for _, _, gain in _mergers(weights, labels, len(names))]
    return np.cumsum([first, *gains])[::-1]


def _mergers(weights: sp.csr_array, labels: Array, n_clusters: int) -> Iterator[tuple[int, int, float]]:
    """Pairs to join, (kept, joined, gain of modularity), until one cluster is left."""
    links = between_clusters(weights, labels, n_clusters)
    total = max(links.sum(), np.finfo(np.float64).tiny)
    alive = np.ones(n_clusters, dtype=bool)
    for _ in range(n_clusters - 1):
        volume = links.sum(axis=1)
        gain = links - np.outer(volume, volume) / total
        gain[~alive] = gain[:, ~alive] = -np.inf
        np.fill_diagonal(gain, -np.inf)
        kept, joined = sorted(int(place) for place in np.unravel_index(int(gain.argmax()), gain.shape))
        yield kept, joined, 2 * float(gain[kept, joined]) / total
        links[kept] += links[joined]
        links[:, kept] += links[:, joined]
        links[joined] = links[:, joined] = 0
        alive[joined] = False


def between_clusters(weights: sp.csr_array, labels: Array, n_clusters: int) -> Array:
    """Weight between every two clusters, (n_clusters, n_clusters); the diagonal counts each inner edge twice."""
    rows = np.repeat(labels, np.diff(weights.indptr)).astype(np.int64)
    flat = np.bincount(rows * n_clusters + labels[weights.indices], weights=weights.data, minlength=n_clusters**2)
    return flat.astype(np.float64).reshape(n_clusters, n_clusters)
