"""All-pairs comparison and exact re-ranking of sparse rows, which are never converted to dense all at once."""

from __future__ import annotations

import numpy as np

from .._backend import Array
from .._threads import map_ranges, single_threaded_libraries
from ..preprocessing.sparse import ShiftedSparse, some_rows
from .candidates import Candidates, center_and_scale, nearest_first, to_single, without_self

COMPILED_ABOVE = 20_000_000  # stored entries visited; below, scipy finishes before numba has loaded
SPARSE_COST = 100  # dense multiplications in the time of one multiplication of two sparse rows
SELECTION_COST = 300  # dense multiplications in the time that one pair takes to be ranked
PRODUCT_ENTRIES = 2_000_000  # inner products of a block of queries with all rows, held at a time
DENSE_ENTRIES = 4_000_000  # entries converted to dense at a time
MAX_BLOCK_ROWS = 65_536


def all_pairs_cost(X: ShiftedSparse) -> float:
    """Cost of comparing all pairs of rows, in multiplications of dense matrices."""
    return min(_sparse_product_cost(X), float(len(X)) ** 2 * X.shape[1]) + SELECTION_COST * float(len(X)) ** 2


def _sparse_product_cost(X: ShiftedSparse) -> float:
    """Cost of all inner products by a sparse product."""
    stored = np.bincount(X.values.indices, minlength=X.shape[1]).astype(np.float64)
    return SPARSE_COST * float(stored @ stored)


def all_sparse_pairs(queries: ShiftedSparse, X: ShiftedSparse, n_candidates: int) -> Array:
    """Rows (n_queries, n_candidates) of ``X`` nearest to each query, by sparse products or dense blocks."""
    n_candidates = min(n_candidates, len(X))
    if _sparse_product_cost(X) < float(len(X)) ** 2 * X.shape[1]:
        return _by_sparse_products(queries, X, n_candidates)
    return _by_dense_blocks(queries, X, n_candidates)


def _by_sparse_products(queries: ShiftedSparse, X: ShiftedSparse, n_candidates: int) -> Array:
    """``|x|^2 - 2 x.y`` from sparse products; column shifts cancel in differences."""
    shift, query_shift = X.row_shift().astype(np.float64), queries.row_shift().astype(np.float64)
    totals, query_totals = (np.asarray(side.values.sum(axis=1, dtype=np.float64)).ravel() for side in (X, queries))
    squares = np.asarray(X.values.multiply(X.values).sum(axis=1, dtype=np.float64)).ravel()
    squares += shift * (2 * totals + X.shape[1] * shift)
    transposed, step = X.values.T.tocsr(), some_rows(len(X), PRODUCT_ENTRIES, at_most=MAX_BLOCK_ROWS)
    found = np.empty((len(queries), n_candidates), dtype=np.int64)
    for start in range(0, len(queries), step):
        rows = slice(start, start + step)
        products = (queries.values[rows] @ transposed).toarray()
        own = query_shift[rows, None]
        distances = squares - 2 * (products + shift * query_totals[rows, None] + own * (totals + X.shape[1] * shift))
        found[rows] = np.argpartition(distances, n_candidates - 1, axis=1)[:, :n_candidates]
    return found


def _by_dense_blocks(queries: ShiftedSparse, X: ShiftedSparse, n_candidates: int) -> Array:
    """Dense blocks of both sides, for rows that are not very sparse."""
    import faiss

    center, scale = center_and_scale(X)
    step = some_rows(X.shape[1], DENSE_ENTRIES, at_most=MAX_BLOCK_ROWS)
    found = np.empty((len(queries), n_candidates), dtype=np.int64)
    for first in range(0, len(queries), step):
        block = to_single(queries[first : first + step], center, scale)
        distances, indices = np.empty((len(block), 0), np.float32), np.empty((len(block), 0), np.int64)
        for start in range(0, len(X), step):
            points = to_single(X[start : start + step], center, scale)
            with single_threaded_libraries():  # the same rounding on any number of threads
                squared, near = faiss.knn(block, points, min(n_candidates, len(points)))
            distances, indices = np.hstack([distances, squared]), np.hstack([indices, near + start])
            best = np.argsort(distances, axis=1, kind="stable")[:, :n_candidates]
            distances, indices = np.take_along_axis(distances, best, axis=1), np.take_along_axis(indices, best, axis=1)
        found[first : first + step] = indices
    return found


def nearest_sparse(
    X: ShiftedSparse, candidates: Candidates, n_neighbors: int, queries: ShiftedSparse | None, *,
    compiled: bool | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Squared distances and indices (n_queries, n_neighbors) of the nearest candidates among sparse rows."""
    asking = X if queries is None else queries
    work = candidates.indices.size * asking.values.nnz // max(len(asking), 1)
    if not (work > COMPILED_ABOVE if compiled is None else compiled):
        return _plain_nearest_sparse(X, candidates.indices, n_neighbors, queries)
    from ..kernels.distances import nearest_sparse_candidates

    squared = np.empty((len(asking), n_neighbors), dtype=X.dtype)
    indices = np.empty((len(asking), n_neighbors), dtype=np.int64)
    arrays = [
        array
        for side in (asking, X)
        for array in (side.values.indptr, side.values.indices, side.values.data.astype(X.dtype, copy=False),
                      side.row_shift().astype(X.dtype, copy=False))
    ]  # fmt: skip
    map_ranges(
        nearest_sparse_candidates, len(asking), candidates.order, *arrays, X.shape[1], candidates.indices,
        queries is None, squared, indices,
    )  # fmt: skip
    return squared, indices


def _plain_nearest_sparse(
    X: ShiftedSparse, candidates: Array, n_neighbors: int, queries: ShiftedSparse | None
) -> tuple[Array, Array]:
    """Scipy twin of the compiled loop: differences of sparse rows, plus the terms of their shifts."""
    if queries is None:
        queries, candidates = X, without_self(candidates)
    candidates = np.sort(candidates, axis=1)
    squared = np.empty(candidates.shape, dtype=X.dtype)
    shifts = queries.row_shift().astype(np.float64)[:, None] - X.row_shift()[candidates]
    for k in range(candidates.shape[1]):
        difference = (queries.values - X.values[candidates[:, k]]).tocsr().astype(np.float64)
        own, shift = difference.multiply(difference).sum(axis=1), shifts[:, k]
        squared[:, k] = own + 2 * shift * difference.sum(axis=1) + X.shape[1] * shift**2
    return nearest_first(np.maximum(squared, 0), candidates, n_neighbors)
