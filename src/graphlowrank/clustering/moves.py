"""Lower the mean conductance of a partition by moving single nodes."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .._backend import Array

COMPILED_ABOVE = 300_000  # entries of the graph; below, numpy is done before a compiler has started
MAX_PASSES = 30
SETTLED = 1e-4  # share of nodes that may still move in the last pass
LEAST_GAIN = 1e-10  # of one node's move, in a sum of as many terms of at most 1 as there are clusters


def improve(weights: sp.csr_array, labels: Array, n_clusters: int) -> Array:
    """Move nodes to clusters of their neighbours for as long as the mean conductance falls.

    In each pass the nodes that would gain are found, then moved one after another, each if it still gains. No cluster
    is emptied; an isolated node stays where it is.

    Parameters
    ----------
    weights
        (n_nodes, n_nodes) symmetric weights.
    labels
        (n_nodes,) cluster numbers below ``n_clusters``.
    n_clusters
        Clusters that there are.

    Returns
    -------
    labels
        (n_nodes,) with a mean conductance that is no higher.
    """
    make_pass = _compiled_pass if weights.nnz > COMPILED_ABOVE else _plain_pass
    labels = labels.astype(np.int64)
    for _ in range(MAX_PASSES):
        if make_pass(weights, labels, n_clusters) <= SETTLED * len(labels):
            break
    return labels


def _compiled_pass(weights: sp.csr_array, labels: Array, n_clusters: int) -> int:
    from ..kernels.moves import cluster_sums, move_nodes

    graph = (weights.indptr, weights.indices, weights.data)
    inside, volume, links = (np.zeros(n_clusters) for _ in range(3))
    cluster_sums(*graph, labels, inside, volume)
    return int(move_nodes(*graph, labels, inside, volume, links, np.empty(len(labels), np.int64), LEAST_GAIN))


def _plain_pass(weights: sp.csr_array, labels: Array, n_clusters: int) -> int:
    """Twin of the compiled pass; writes to ``labels``."""
    indicators = np.eye(n_clusters)[labels]
    links = np.asarray(weights @ indicators, dtype=np.float64)
    degrees = links.sum(axis=1)
    inside, volume = np.sum(indicators * links, axis=0), indicators.T @ degrees
    gains = _gains(labels, links, degrees, inside, volume)
    moves = 0
    for node in np.flatnonzero(gains.max(axis=1) > LEAST_GAIN):
        entries = slice(weights.indptr[node], weights.indptr[node + 1])
        near = np.bincount(labels[weights.indices[entries]], weights=weights.data[entries], minlength=n_clusters)
        own, degree = labels[node], degrees[node]
        gain = _gains(labels[node : node + 1], near[None], degrees[node : node + 1], inside, volume)[0]
        best = int(gain.argmax())
        if gain[best] > LEAST_GAIN:
            inside[own] -= 2 * near[own]
            volume[own] -= degree
            inside[best] += 2 * near[best]
            volume[best] += degree
            labels[node] = best
            moves += 1
    return moves


def _gains(labels: Array, links: Array, degrees: Array, inside: Array, volume: Array) -> Array:
    """Gain of moving each node to each cluster in the sum of inside / volume; -inf where it may not go."""
    rows = np.arange(len(labels))
    held = np.divide(inside, volume, out=np.zeros_like(volume), where=volume > 0)
    joined = (inside + 2 * links) / np.maximum(volume + degrees[:, None], np.finfo(np.float64).tiny)
    rest = volume[labels] - degrees
    own = links[rows, labels]
    stays = (rest <= 1e-9 * volume[labels]) | (own >= degrees)
    left = (inside[labels] - 2 * own) / np.where(stays, 1, rest)
    gains = joined - held - (held[labels] - left)[:, None]
    gains[(links <= 0) | stays[:, None]] = -np.inf
    gains[rows, labels] = -np.inf
    return gains
