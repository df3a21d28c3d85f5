"""Kron reduction by random walks (Durfee, Kyng, Peebles, Rao, Sachdeva, STOC 2017).

From both ends of an edge, a random walk (transition probabilities proportional to the edge weights) runs until it hits
a kept node. The two hit nodes are connected with weight 1 / (sum of the resistances along walk, edge and walk). The sum
over all edges has the Schur complement of the Laplacian as its expectation.
"""

import logging
import warnings

import numpy as np
import scipy.sparse as sp

from .._threads import map_ranges
from .._typing import Array
from ..kernels.walks import STEP, alias_tables, copy_rows, merge_rows, scatter_walks, walk_to_kept

logger = logging.getLogger("graphlowrank")

TRUNCATED_SHARE = 0.01  # of the walks; more are reported by a warning
ENTRY_BYTES = 12  # int32 column and float64 weight


def random_walk_weights(
    weights: sp.csr_array, keep: Array, *, n_repeats: int, max_steps: int, seed: int
) -> sp.csr_array:
    """Sparse estimate (n_keep, n_keep) of the Kron-reduced edge weights, the mean of ``n_repeats`` rounds."""
    n_nodes, n_keep = weights.shape[0], len(keep)
    tables = np.column_stack([weights.indptr[:-1], np.diff(weights.indptr)])
    tables[keep, 1] = 0
    position = np.empty(n_nodes, dtype=np.int32)
    position[keep] = np.arange(n_keep, dtype=np.int32)
    slots = np.empty(weights.nnz, dtype=STEP)
    unit = float(weights.data.max(initial=0.0)) or 1.0
    map_ranges(alias_tables, n_nodes, weights.indptr, weights.indices, weights.data, unit, slots)

    edges, edge_weights = _upper_edges(weights)
    ends, paths = edges.ravel(), np.empty(edges.size, dtype=np.float32)
    total, n_truncated = None, 0
    for repeat in range(n_repeats):
        # Allocating memory costs as much as the loops over it, so the last round reuses the arrays of its input.
        last = repeat == n_repeats - 1
        hits = ends if last else np.empty_like(ends)
        map_ranges(walk_to_kept, ends.size, ends, tables, slots, max_steps, seed, repeat, hits, paths)
        spare = slots.view(np.uint8) if last else np.empty(ENTRY_BYTES * ends.size, dtype=np.uint8)
        joined, truncated = _join(hits, paths, edge_weights, unit, position, n_keep, 1 / n_repeats, spare)
        total, n_truncated = joined if total is None else total + joined, n_truncated + truncated
    if n_truncated:
        walked = (tables[_upper_edges(weights)[0], 1] > 0).any(axis=1)  # edges between kept nodes need no walk
        report_truncated(n_truncated, n_repeats * int(walked.sum()), max_steps)
    return total


def _upper_edges(weights: sp.csr_array) -> tuple[Array, Array]:
    """Each edge once, as (n_edges, 2) nodes, lower one first, and (n_edges,) edge weights."""
    rows = np.repeat(np.arange(weights.shape[0], dtype=np.int32), np.diff(weights.indptr))
    upper = weights.indices > rows
    ends = (rows[upper], weights.indices[upper])
    return np.stack(ends, axis=1, dtype=np.int32, casting="same_kind"), weights.data[upper]


def report_truncated(n_truncated: int, n_walks: int, max_steps: int) -> None:
    """Log truncated walks; warn if there are so many that the reduced graph is biased."""
    message = f"{n_truncated} of {n_walks} random walks were truncated at {max_steps} steps"
    if n_truncated <= TRUNCATED_SHARE * n_walks:
        logger.info(message)
        return
    warnings.warn(
        f"{message}, so edge weights between kept nodes are too small. Kept nodes are far apart on this graph: keep "
        "more of them, use reduction='exact', or raise max_steps.",
        RuntimeWarning,
        stacklevel=4,
    )


def _join(
    hits: Array, paths: Array, edge_weights: Array, unit: float, position: Array, n: int, scale: float, spare: Array
) -> tuple[sp.csr_array, int]:
    """Sum the weights of walks between each pair of the n kept nodes, in a buffer of bytes; count truncated walks."""
    starts, lengths = np.empty(n + 1, dtype=np.int64), np.empty(n, dtype=np.int64)
    entries = spare[: 8 * hits.size].view(np.float64)
    columns = spare[8 * hits.size : ENTRY_BYTES * hits.size].view(np.int32)
    truncated = scatter_walks(hits, paths, edge_weights, unit, position, starts, columns, entries)
    map_ranges(merge_rows, n, starts, columns, entries, lengths)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32 if hits.size < 2**31 else np.int64)
    indices, data = np.empty(indptr[-1], dtype=indptr.dtype), np.empty(indptr[-1], dtype=edge_weights.dtype)
    map_ranges(copy_rows, n, starts, columns, entries, scale, indptr, indices, data)
    return sp.csr_array((data, indices, indptr), shape=(n, n)), truncated
