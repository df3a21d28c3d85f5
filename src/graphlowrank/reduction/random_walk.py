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
from ..kernels.walks import TRUNCATED, join_kept_nodes

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

    upper = sp.triu(weights, k=1, format="coo")
    edges = np.column_stack([upper.row, upper.col]).astype(np.int32)
    inside = kept[edges].all(axis=1)  # an edge between kept nodes needs no walk: it stays as it is
    edge_weights = upper.data.astype(np.float64)
    walked, walked_weights = edges[~inside], edge_weights[~inside]
    row_data = weights.data.astype(np.float64)
    cumulative = _cumulative_by_row(row_data, weights.indptr)

    ends = np.empty((len(walked), 2), dtype=np.int32)
    conductances = np.empty(len(walked))
    total = _symmetric(position[edges[inside]], edge_weights[inside] * n_repeats, n_keep)
    n_truncated = 0
    for repeat in range(n_repeats):
        map_ranges(
            join_kept_nodes, len(walked), walked, walked_weights, kept, weights.indptr, weights.indices,
            cumulative, row_data, max_steps, seed, repeat, ends, conductances,
        )  # fmt: skip
        n_truncated += int(np.sum(ends[:, 0] == TRUNCATED))
        joined = ends[:, 0] != ends[:, 1]  # a walk back to where it came from is a self-loop: no edge
        total = total + _symmetric(position[ends[joined]], conductances[joined], n_keep)
    if n_truncated:
        report_truncated(n_truncated, n_repeats * len(walked), max_steps)
    return (total / n_repeats).astype(weights.dtype).tocsr()


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


def _cumulative_by_row(values: Array, indptr: Array) -> Array:
    """Sum up the entries within each row of a CSR matrix, one after the other."""
    # Sums run row by row, not as differences of a global sum: tiny weights must survive beside large ones.
    cumulative = np.empty_like(values)
    lengths = np.diff(indptr)
    for length in np.unique(lengths[lengths > 0]):
        slots = indptr[:-1][lengths == length][:, None] + np.arange(length)
        cumulative[slots] = np.cumsum(values[slots], axis=1)
    return cumulative


def _symmetric(pairs: Array, values: Array, n: int) -> sp.csr_array:
    """Sum weights of unordered pairs into a symmetric matrix."""
    low, high = pairs.min(axis=1, initial=n), pairs.max(axis=1, initial=-1)
    half = sp.coo_array((values, (low, high)), shape=(n, n)).tocsr()
    return (half + half.T).tocsr()
