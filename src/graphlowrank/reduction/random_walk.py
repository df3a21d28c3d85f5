"""Kron reduction by random walks (Durfee, Kyng, Peebles, Rao, Sachdeva, STOC 2017).

From both ends of an edge, walk (steps in proportion to weights) until a kept node is hit. Joining the two hits with
conductance 1 / (sum of resistances along walk + edge + walk), summed over all edges, has the Schur complement of the
Laplacian as its expectation.
"""

from __future__ import annotations

import logging
import warnings

import numpy as np
import scipy.sparse as sp

from .._backend import Array
from .._threads import map_ranges
from ..kernels.walks import STEP, TRUNCATED, alias_tables, walk_to_kept

logger = logging.getLogger("graphlowrank")

TRUNCATED_SHARE = 0.01


def random_walk_weights(
    weights: sp.csr_array, keep: Array, *, n_repeats: int, max_steps: int, seed: int
) -> sp.csr_array:
    """Sparse estimate (n_keep, n_keep) of the Kron-reduced weights, the mean of ``n_repeats`` rounds."""
    n_nodes, n_keep = weights.shape[0], len(keep)
    kept = np.zeros(n_nodes, dtype=bool)
    kept[keep] = True
    position = np.full(n_nodes, TRUNCATED, dtype=np.int32)
    position[keep] = np.arange(n_keep, dtype=np.int32)
    slots = np.empty(weights.nnz, dtype=STEP)
    map_ranges(alias_tables, n_nodes, weights.indptr, weights.indices, weights.data, slots)

    edges, edge_weights = _upper_edges(weights)
    inside = kept[edges].all(axis=1)  # an edge between kept nodes needs no walk: it stays as it is
    total = _symmetric(position[edges[inside]], edge_weights[inside].astype(np.float64) * n_repeats, n_keep)
    edges, resistances = edges[~inside], 1 / edge_weights[~inside]
    hits = np.empty(edges.size, dtype=np.int32)
    paths = np.empty(edges.size, dtype=np.float32)
    n_truncated = 0
    for repeat in range(n_repeats):
        map_ranges(
            walk_to_kept, edges.size, edges.ravel(), kept, weights.indptr, slots, max_steps, seed, repeat, hits, paths
        )
        ends = hits.reshape(-1, 2)
        arrived = (ends != TRUNCATED).all(axis=1)
        n_truncated += len(ends) - int(arrived.sum())
        joined = arrived & (ends[:, 0] != ends[:, 1])  # a walk back to where it came from is a self-loop: no edge
        path = resistances[joined] + paths.reshape(-1, 2)[joined].sum(axis=1, dtype=np.float64)
        total = total + _symmetric(position[ends[joined]], 1 / path, n_keep)
    if n_truncated:
        report_truncated(n_truncated, n_repeats * len(edges), max_steps)
    return (total / n_repeats).astype(weights.dtype).tocsr()


def _upper_edges(weights: sp.csr_array) -> tuple[Array, Array]:
    """Each edge once, as (n_edges, 2) node numbers, lower one first, and (n_edges,) weights."""
    rows = np.repeat(np.arange(weights.shape[0], dtype=np.int32), np.diff(weights.indptr))
    upper = rows < weights.indices
    return np.column_stack([rows[upper], weights.indices[upper].astype(np.int32)]), weights.data[upper]


def report_truncated(n_truncated: int, n_walks: int, max_steps: int) -> None:
    """Log a few walks cut short; warn where so many were that the reduced graph suffers."""
    message = f"{n_truncated} of {n_walks} random walks were cut at {max_steps} steps"
    if n_truncated <= TRUNCATED_SHARE * n_walks:
        logger.info(message)
        return
    warnings.warn(
        f"{message}, so weights between kept nodes are too small. Kept nodes are far apart on this graph: keep more of "
        "them, use reduction='exact', or raise max_steps.",
        RuntimeWarning,
        stacklevel=4,
    )


def _symmetric(pairs: Array, values: Array, n: int) -> sp.csr_array:
    """Sum weights of unordered pairs into a symmetric matrix."""
    low, high = pairs.min(axis=1, initial=n), pairs.max(axis=1, initial=-1)
    half = sp.coo_array((values, (low, high)), shape=(n, n)).tocsr()
    return (half + half.T).tocsr()
