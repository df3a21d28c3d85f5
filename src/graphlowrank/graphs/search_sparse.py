"""Nearest neighbours among sparse rows, which are never made dense all at once."""

from __future__ import annotations

import numpy as np

from .._backend import Array
from .._threads import map_ranges, single_threaded_libraries
from ..preprocessing.sparse import ShiftedSparse, some_rows
from .candidates import Candidates, nearest_first, without_selves
from .search_cells import CHUNK, DENSE_ENTRIES, centre_and_scale, to_single

COMPILED_ABOVE = 20_000_000  # stored entries looked at; below, scipy is done before a compiler has started
SPARSE_PRICE = 100  # dense products in the time of one of two sparse rows
SELECTION = 300  # dense products in the time that choosing the nearest takes, for each pair
PRODUCT_ENTRIES = 2_000_000  # of the products of a block of rows with all others


def all_pairs_price(X: ShiftedSparse) -> float:
    """Price of comparing all pairs of sparse rows, in products of a dense matrix."""
    return min(_products_price(X), float(len(X)) ** 2 * X.shape[1]) + SELECTION * float(len(X)) ** 2


def _products_price(X: ShiftedSparse) -> float:
    """Price of all inner products as products of sparse rows."""
    stored = np.bincount(X.values.indices, minlength=X.shape[1]).astype(np.float64)
    return SPARSE_PRICE * float(stored @ stored)


def all_sparse_pairs(queries: ShiftedSparse, X: ShiftedSparse, n_candidates: int) -> Array:
    """Rows of ``X`` nearest to each query, all pairs compared, in the cheaper way."""
    n_candidates = min(n_candidates, len(X))
    if _products_price(X) < float(len(X)) ** 2 * X.shape[1]:
        return _by_sparse_products(queries, X, n_candidates)
    return _by_dense_blocks(queries, X, n_candidates)


def _by_sparse_products(queries: ShiftedSparse, X: ShiftedSparse, n_candidates: int) -> Array:
    """``|x|^2 - 2 x.y`` from products of sparse rows; what is added to all columns cancels in differences."""
    shift, asking = X.row_shift().astype(np.float64), queries.row_shift().astype(np.float64)
    totals, of_queries = (np.asarray(one.values.sum(axis=1, dtype=np.float64)).ravel() for one in (X, queries))
    squares = np.asarray(X.values.multiply(X.values).sum(axis=1, dtype=np.float64)).ravel()
    squares += shift * (2 * totals + X.shape[1] * shift)
    turned, step = X.values.T.tocsr(), some_rows(len(X), PRODUCT_ENTRIES, at_most=CHUNK)
    found = np.empty((len(queries), n_candidates), dtype=np.int64)
    for start in range(0, len(queries), step):
        rows = slice(start, start + step)
        products = (queries.values[rows] @ turned).toarray()
        own = asking[rows, None]
        distances = squares - 2 * (products + shift * of_queries[rows, None] + own * (totals + X.shape[1] * shift))
        found[rows] = np.argpartition(distances, n_candidates - 1, axis=1)[:, :n_candidates]
    return found


def _by_dense_blocks(queries: ShiftedSparse, X: ShiftedSparse, n_candidates: int) -> Array:
    """Both sides made dense by blocks, for rows that are not very sparse."""
    import faiss

    centre, scale = centre_and_scale(X)
    step = some_rows(X.shape[1], DENSE_ENTRIES, at_most=CHUNK)
    found = np.empty((len(queries), n_candidates), dtype=np.int64)
    for first in range(0, len(queries), step):
        asking = to_single(queries[first : first + step], centre, scale)
        distances, indices = np.empty((len(asking), 0), np.float32), np.empty((len(asking), 0), np.int64)
        for start in range(0, len(X), step):
            part = to_single(X[start : start + step], centre, scale)
            with single_threaded_libraries():  # the same rounding whatever the number of threads
                squared, near = faiss.knn(asking, part, min(n_candidates, len(part)))
            distances, indices = np.hstack([distances, squared]), np.hstack([indices, near + start])
            best = np.argsort(distances, axis=1, kind="stable")[:, :n_candidates]
            distances, indices = np.take_along_axis(distances, best, axis=1), np.take_along_axis(indices, best, axis=1)
        found[first : first + step] = indices
    return found


def nearest_sparse(
    X: ShiftedSparse, candidates: Candidates, n_neighbors: int, queries: ShiftedSparse | None, *,
    compiled: bool | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Measure candidates among sparse rows; small data are done before a compiler has started."""
    asking = X if queries is None else queries
    work = candidates.indices.size * asking.values.nnz // max(len(asking), 1)
    if not (work > COMPILED_ABOVE if compiled is None else compiled):
        return _plain_nearest_sparse(X, candidates.indices, n_neighbors, queries)
    from ..kernels.distances import nearest_sparse_candidates

    squared = np.empty((len(asking), n_neighbors), dtype=X.dtype)
    indices = np.empty((len(asking), n_neighbors), dtype=np.int64)
    parts = [
        part
        for one in (asking, X)
        for part in (one.values.indptr, one.values.indices, one.values.data.astype(X.dtype, copy=False),
                     one.row_shift().astype(X.dtype, copy=False))
    ]  # fmt: skip
    map_ranges(
        nearest_sparse_candidates, len(asking), candidates.order, *parts, X.shape[1], candidates.indices,
        queries is None, squared, indices,
    )  # fmt: skip
    return squared, indices


def _plain_nearest_sparse(
    X: ShiftedSparse, candidates: Array, n_neighbors: int, queries: ShiftedSparse | None
) -> tuple[Array, Array]:
    """Twin of the compiled loop: differences of sparse rows, and what their shifts add."""
    if queries is None:
        queries, candidates = X, without_selves(candidates)
    candidates = np.sort(candidates, axis=1)
    squared = np.empty(candidates.shape, dtype=X.dtype)
    shifts = queries.row_shift().astype(np.float64)[:, None] - X.row_shift()[candidates]
    for k in range(candidates.shape[1]):
        apart = (queries.values - X.values[candidates[:, k]]).tocsr().astype(np.float64)
        own, shift = apart.multiply(apart).sum(axis=1), shifts[:, k]
        squared[:, k] = own + 2 * shift * apart.sum(axis=1) + X.shape[1] * shift**2
    return nearest_first(np.maximum(squared, 0), candidates, n_neighbors)
