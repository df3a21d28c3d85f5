"""Merge small clusters by modularity."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
import scipy.sparse as sp

from .._typing import Array


def merge(weights: sp.csr_array, labels: Array, n_clusters: int) -> Array:
    """Merge pairs of clusters until ``n_clusters`` are left, each time the pair that raises the modularity most.

    ``weights`` are symmetric edge weights; the new labels (n_nodes,) count from 0. Fewer clusters stay as they are.
    """
    names, labels = np.unique(labels, return_inverse=True)
    group = np.arange(len(names))
    merges = _merges(_links_between(weights, labels, len(names)))
    for kept, joined, _ in islice(merges, max(len(names) - n_clusters, 0)):
        group[group == joined] = kept
    return np.unique(group, return_inverse=True)[1][labels]


def modularity_path(weights: sp.csr_array, labels: Array) -> Array:
    """Modularity with 1, 2, ... clusters, up to those of ``labels``, as pairs are merged one after another."""
    names, labels = np.unique(labels, return_inverse=True)
    links = _links_between(weights, labels, len(names))
    total = max(links.sum(), np.finfo(np.float64).tiny)
    first = np.trace(links) / total - np.sum((links.sum(axis=1) / total) ** 2)
    gains = [gain for _, _, gain in _merges(links)]
    return np.cumsum([first, *gains])[::-1]


def _merges(links: Array) -> Iterator[tuple[int, int, float]]:
    """Yield (kept cluster, merged cluster, gain of modularity) until one cluster is left; writes to ``links``."""
    total = max(links.sum(), np.finfo(np.float64).tiny)
    alive = np.ones(len(links), dtype=bool)
    for _ in range(len(links) - 1):
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


def _links_between(weights: sp.csr_array, labels: Array, n_clusters: int) -> Array:
    """Total edge weight between every two clusters (n_clusters, n_clusters); inner edges count twice."""
    rows = np.repeat(labels, np.diff(weights.indptr)).astype(np.int64)
    flat = np.bincount(rows * n_clusters + labels[weights.indices], weights=weights.data, minlength=n_clusters**2)
    return flat.astype(np.float64).reshape(n_clusters, n_clusters)
