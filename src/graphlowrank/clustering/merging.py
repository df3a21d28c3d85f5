"""Merge small clusters by modularity."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
import scipy.sparse as sp

from .._typing import Array


def merge(weights: sp.csr_array, labels: Array, n_clusters: int) -> Array:
    """Merge pairs of clusters until ``n_clusters`` are left, each time the pair that raises the modularity most.

    Parameters
    ----------
    weights : csr_array of shape (n_nodes, n_nodes)
        Symmetric edge weights.
    labels : ndarray of shape (n_nodes,)
        Cluster labels.
    n_clusters : int
        Number of clusters wanted; fewer stay as they are.

    Returns
    -------
    ndarray of shape (n_nodes,)
        Cluster labels from 0.
    """
    names, labels = np.unique(labels, return_inverse=True)
    group = np.arange(len(names))
    for kept, joined, _ in islice(_merges(weights, labels, len(names)), max(len(names) - n_clusters, 0)):
        group[group == joined] = kept
    return np.unique(group, return_inverse=True)[1][labels]


def modularity_path(weights: sp.csr_array, labels: Array) -> Array:
    """Modularity with 1, 2, ... clusters, up to those of ``labels``, as pairs are merged one after another."""
    names, labels = np.unique(labels, return_inverse=True)
    links = links_between(weights, labels, len(names))
    total = max(links.sum(), np.finfo(np.float64).tiny)
    first = np.trace(links) / total - np.sum((links.sum(axis=1) / total) ** 2)
    gains = [gain for _, _, gain in _merges(weights, labels, len(names))]
    return np.cumsum([first, *gains])[::-1]


def _merges(weights: sp.csr_array, labels: Array, n_clusters: int) -> Iterator[tuple[int, int, float]]:
    """Yield (kept cluster, merged cluster, gain of modularity) until one cluster is left."""
    links = links_between(weights, labels, n_clusters)
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


def links_between(weights: sp.csr_array, labels: Array, n_clusters: int) -> Array:
    """Total edge weight between every two clusters (n_clusters, n_clusters); inner edges count twice."""
    rows = np.repeat(labels, np.diff(weights.indptr)).astype(np.int64)
    flat = np.bincount(rows * n_clusters + labels[weights.indices], weights=weights.data, minlength=n_clusters**2)
    return flat.astype(np.float64).reshape(n_clusters, n_clusters)
