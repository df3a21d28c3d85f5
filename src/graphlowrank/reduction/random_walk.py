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
from ..kernels.join import copy_rows, merge_rows, scatter_walks
from ..kernels.walks import STEP, alias_tables, copy_upper, count_upper, walk_to_kept

logger = logging.getLogger("graphlowrank")

TRUNCATED_SHARE = 0.01
ENTRY_BYTES = 12  # of a column number and a conductance


def random_walk_weights(
    weights: sp.csr_array, keep: Array, *, n_repeats: int, max_steps: int, seed: int
) -> sp.csr_array:
    """Sparse estimate (n_keep, n_keep) of the Kron-reduced weights, the mean of ``n_repeats`` rounds."""
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
        # Fresh memory costs as much as the loops over it: in the last round walks end where they began, and what is
        # behind the tables is free after it.
        last = repeat == n_repeats - 1
        hits = ends if last else np.empty_like(ends)
        map_ranges(walk_to_kept, ends.size, ends, tables, slots, max_steps, seed, repeat, hits, paths)
        spare = slots.view(np.uint8) if last else np.empty(ENTRY_BYTES * ends.size, dtype=np.uint8)
        joined, lost = _join(hits, paths, edge_weights, unit, position, n_keep, 1 / n_repeats, spare)
        total, n_truncated = joined if total is None else total + joined, n_truncated + lost
    if n_truncated:
        walked = int((tables[_upper_edges(weights)[0], 1] > 0).any(axis=1).sum())  # none between kept nodes
        report_truncated(n_truncated, n_repeats * walked, max_steps)
    return total


def _upper_edges(weights: sp.csr_array) -> tuple[Array, Array]:
    """Each edge once, as (n_edges, 2) node numbers, lower one first, and (n_edges,) weights."""
    n_nodes = weights.shape[0]
    starts = np.zeros(n_nodes + 1, dtype=np.int64)
    map_ranges(count_upper, n_nodes, weights.indptr, weights.indices, starts)
    np.cumsum(starts, out=starts)
    edges, values = np.empty((starts[-1], 2), dtype=np.int32), np.empty(starts[-1], dtype=weights.dtype)
    map_ranges(copy_upper, n_nodes, weights.indptr, weights.indices, weights.data, starts, edges, values)
    return edges, values


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


def _join(
    hits: Array, paths: Array, edge_weights: Array, unit: float, position: Array, n: int, scale: float, spare: Array
) -> tuple[sp.csr_array, int]:
    """Sum the conductances of the walks between each pair of the n kept nodes; also the number of walks lost.

    ``spare`` are bytes to work in.
    """
    starts, lengths = np.empty(n + 1, dtype=np.int64), np.empty(n, dtype=np.int64)
    entries = spare[: 8 * hits.size].view(np.float64)
    columns = spare[8 * hits.size : ENTRY_BYTES * hits.size].view(np.int32)
    lost = scatter_walks(hits, paths, edge_weights, unit, position, starts, columns, entries)
    map_ranges(merge_rows, n, starts, columns, entries, lengths)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32 if hits.size < 2**31 else np.int64)
    indices, data = np.empty(indptr[-1], dtype=indptr.dtype), np.empty(indptr[-1], dtype=edge_weights.dtype)
    map_ranges(copy_rows, n, starts, columns, entries, scale, indptr, indices, data)
    return sp.csr_array((data, indices, indptr), shape=(n, n)), lost
