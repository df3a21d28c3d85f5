"""Candidate neighbors, and their exact distances in the precision of the data.

A search proposes candidates in single precision; :func:`nearest_of` measures them and keeps the nearest. Distances are
therefore correct to rounding, and all that an approximate search can lose is recall.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._threads import map_ranges
from .._typing import Array
from ..linalg.blocks import row_blocks
from ..preprocessing.sparse import Data, ShiftedSparse, is_sparse

BLOCK_ENTRIES = 4_000_000  # numbers held at a time
COMPILED_ABOVE = 20_000_000  # coordinate differences; below, numpy finishes before numba has loaded


def nearest_of(
    X: Data,
    candidates: Array,  # (n_queries, n_candidates) rows of X; -1 for none
    n_neighbors: int,
    queries: Data | None = None,  # None for the rows of X, of which none is its own neighbor
    *,
    order: Array | None = None,  # in which to visit the queries, so that successive ones share candidates in the cache
    compiled: bool | None = None,
) -> tuple[Array, Array]:
    """Distances and indices (n_queries, n_neighbors) of the nearest candidates; ties go to the lower index."""
    X = X if is_sparse(X) else np.ascontiguousarray(X)
    rows = X if queries is None else queries
    assert is_sparse(X) == is_sparse(rows), "points and queries must both be dense, or both sparse"
    if compiled is None:
        n_entries = rows.values.nnz if is_sparse(rows) else rows.size
        compiled = candidates.size * n_entries // max(len(rows), 1) > COMPILED_ABOVE
    if compiled:
        order = np.arange(len(rows)) if order is None else order
        squared, indices = _compiled_nearest(X, rows, candidates, n_neighbors, order, themselves=queries is None)
    else:
        squared, indices = _plain_nearest(X, rows, candidates, n_neighbors, themselves=queries is None)
    if indices.min(initial=0) < 0 or not np.all(np.isfinite(squared)):
        raise FloatingPointError("distances overflow; rescale X.")
    return np.sqrt(squared), indices


def _compiled_nearest(
    X: Data, queries: Data, candidates: Array, n_neighbors: int, order: Array, *, themselves: bool
) -> tuple[Array, Array]:
    from ..kernels.distances import nearest_candidates, nearest_sparse_candidates

    kernel = nearest_sparse_candidates if is_sparse(X) else nearest_candidates
    squared = np.empty((len(queries), n_neighbors), dtype=X.dtype)
    indices = np.empty((len(queries), n_neighbors), dtype=np.int64)
    sides = [_kernel_rows(side, X.dtype) for side in (queries, X)]
    # One type of numbers, or the kernel would be compiled again for another.
    order, candidates = (np.ascontiguousarray(numbers, dtype=np.int32) for numbers in (order, candidates))
    map_ranges(kernel, len(queries), order, *sides, candidates, themselves, squared, indices)
    return squared, indices


def _kernel_rows(X: Data, dtype: np.dtype[Any]) -> Array | tuple[Any, ...]:
    """Rows as the kernels take them: an array, or the parts of a sparse matrix."""
    if not is_sparse(X):
        return np.ascontiguousarray(X, dtype=dtype)
    data, shift = (part.astype(dtype, copy=False) for part in (X.values.data, X.row_shift()))
    return X.values.indptr, X.values.indices, data, shift, X.shape[1]


def _plain_nearest(
    X: Data, queries: Data, candidates: Array, n_neighbors: int, *, themselves: bool
) -> tuple[Array, Array]:
    """Twin of the compiled loops, for small data."""
    if themselves:
        candidates = np.where(candidates == np.arange(len(candidates))[:, None], -1, candidates)
    candidates = np.sort(candidates, axis=1)  # ties go to the lower index
    measure: Callable[[Any, Any, Array], Array] = _squared_sparse if is_sparse(X) else _squared_dense
    squared = measure(X, queries, candidates)
    squared[candidates < 0] = np.inf
    nearest = np.argsort(squared, axis=1, kind="stable")[:, :n_neighbors]
    return np.take_along_axis(squared, nearest, axis=1), np.take_along_axis(candidates, nearest, axis=1)


def _squared_dense(X: Array, queries: Array, candidates: Array) -> Array:
    queries = queries.astype(X.dtype, copy=False)
    squared = np.empty(candidates.shape, dtype=X.dtype)
    for rows in row_blocks(len(queries), candidates.shape[1] * X.shape[1], entries=BLOCK_ENTRIES):
        difference = X[candidates[rows]] - queries[rows, None, :]
        squared[rows] = np.einsum("ijk,ijk->ij", difference, difference)
    return squared


def _squared_sparse(X: ShiftedSparse, queries: ShiftedSparse, candidates: Array) -> Array:
    """Squares of differences of sparse rows, plus the terms of their shifts; column shifts cancel."""
    squared = np.empty(candidates.shape, dtype=X.dtype)
    shifts = queries.row_shift().astype(np.float64)[:, None] - X.row_shift()[candidates]
    for k in range(candidates.shape[1]):
        difference = (queries.values - X.values[candidates[:, k]]).tocsr().astype(np.float64)
        own, shift = difference.multiply(difference).sum(axis=1), shifts[:, k]
        squared[:, k] = own + 2 * shift * difference.sum(axis=1) + X.shape[1] * shift**2
    return np.maximum(squared, 0)
