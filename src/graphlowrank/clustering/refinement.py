"""Refine a partition: move single nodes while the mean conductance falls, and merge clusters by modularity."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
import scipy.sparse as sp

from .._typing import Array

COMPILED_ABOVE = 20_000  # edges; below, numpy is as fast
MAX_PASSES = 30
MOVED_TOL = 1e-4  # share of nodes that may still move in the last pass
MIN_GAIN = 1e-10  # of a move, in a sum of n_clusters terms of at most 1
MIN_SHARE = 0.1  # of the mean volume: what a cluster lacks of it counts as weight that leaves it, see conductance


def refine(
    weights: sp.csr_array,
    labels: Array,
    n_clusters: int,
    *,
    min_share: float = MIN_SHARE,
    compiled_above: int = COMPILED_ABOVE,
) -> Array:
    """Move nodes to clusters of their neighbors while the mean conductance falls.

    Each pass finds the nodes whose move would gain, then moves them one after another if it still does. No cluster is
    emptied, and isolated nodes stay. ``weights`` are symmetric; the new labels (n_nodes,) never raise the conductance.
    ``min_share`` is that of :func:`graphlowrank.metrics.conductance`.
    """
    make_pass = _compiled_pass if weights.nnz > compiled_above else _plain_pass
    labels = labels.astype(np.int64)
    for _ in range(MAX_PASSES):
        if make_pass(weights, labels, n_clusters, min_share) <= MOVED_TOL * len(labels):
            break
    return labels


def _compiled_pass(weights: sp.csr_array, labels: Array, n_clusters: int, min_share: float) -> int:
    from ..kernels.moves import move_nodes

    return int(move_nodes(weights.indptr, weights.indices, weights.data, labels, n_clusters, min_share, MIN_GAIN))


def _plain_pass(weights: sp.csr_array, labels: Array, n_clusters: int, min_share: float) -> int:
    """Twin of the compiled pass; writes to ``labels``."""
    indicators = np.eye(n_clusters)[labels]
    links = np.asarray(weights @ indicators, dtype=np.float64)
    degrees = links.sum(axis=1)
    inside, volume = np.sum(indicators * links, axis=0), indicators.T @ degrees
    floor = min_share * volume.sum() / n_clusters
    gains = _gains(labels, links, degrees, inside, volume, floor)
    moves = 0
    for node in np.flatnonzero(gains.max(axis=1) > MIN_GAIN):
        entries = slice(weights.indptr[node], weights.indptr[node + 1])
        near = np.bincount(labels[weights.indices[entries]], weights=weights.data[entries], minlength=n_clusters)
        own, degree = labels[node], degrees[node]
        gain = _gains(labels[node : node + 1], near[None], degrees[node : node + 1], inside, volume, floor)[0]
        best = int(gain.argmax())
        if gain[best] > MIN_GAIN:
            inside[own] -= 2 * near[own]
            volume[own] -= degree
            inside[best] += 2 * near[best]
            volume[best] += degree
            labels[node] = best
            moves += 1
    return moves


def _gains(labels: Array, links: Array, degrees: Array, inside: Array, volume: Array, floor: float) -> Array:
    """Gain in the sum of inside / max(volume, floor) by moving nodes to clusters; -inf for moves not allowed."""
    rows = np.arange(len(labels))
    floor = max(floor, float(np.finfo(np.float64).tiny))
    held = inside / np.maximum(volume, floor)
    joined = (inside + 2 * links) / np.maximum(volume + degrees[:, None], floor)
    rest = volume[labels] - degrees
    own = links[rows, labels]
    stays = (rest <= 1e-9 * volume[labels]) | (own >= degrees)
    left = (inside[labels] - 2 * own) / np.where(stays, 1, np.maximum(rest, floor))
    gains = joined - held - (held[labels] - left)[:, None]
    gains[(links <= 0) | stays[:, None]] = -np.inf
    gains[rows, labels] = -np.inf
    return gains


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
