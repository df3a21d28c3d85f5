"""Exact nearest-neighbor search: all pairs are compared, in blocks.

Sparse rows are compared by sparse products, or in dense blocks where they are not very sparse.
"""

import numpy as np

from .._threads import map_ranges, single_threaded_libraries
from .._typing import Array, RandomState
from ..linalg.blocks import map_row_blocks, row_blocks
from ..preprocessing.sparse import Data, ShiftedSparse, dense_rows, is_sparse
from .candidates import BLOCK_ENTRIES, nearest_of

SPARE_CANDIDATES = 4  # candidates beyond n_neighbors: single precision may swap near-ties at the border
ROUNDING = 4.0  # error of a squared distance by products, in units of the last place of the largest term
N_BLOCKS, MIN_BLOCK_ROWS, MAX_BLOCK_ROWS = 32, 256, 512  # blocks of queries, each on one thread
BLOCK_POINTS = 1024  # compared with a block of queries at a time: the products stay in the L2 cache
COMPILED_ABOVE = 1_000_000  # pairs; below, numpy is done before numba has loaded

# In multiplications of dense matrices:
SELECTION_COST = 50  # one pair to be ranked
SPARSE_SELECTION_COST = 300  # one pair of sparse rows
SPARSE_COST = 100  # one multiplication of two sparse rows


def search(X: Data, n_neighbors: int, *, random_state: RandomState = None) -> tuple[Array, Array]:
    """Exact search, see :class:`graphlowrank.graphs.NeighborSearch`; nothing in it is random."""
    return search_queries(None, X, n_neighbors)


def search_queries(queries: Data | None, X: Data, n_neighbors: int) -> tuple[Array, Array]:
    """Nearest rows of ``X`` to each of ``queries``, and their distances; None for its own rows, each without itself.

    Queries that happen to be ``X`` are queries: a model must predict for its training data what it does for a copy.
    """
    n_candidates = n_neighbors + (queries is None) + SPARE_CANDIDATES
    if is_sparse(X) and (queries is None or is_sparse(queries)):
        candidates = all_sparse_pairs(X if queries is None else queries, X, n_candidates)
        return nearest_of(X, candidates, n_neighbors, queries)
    center, scale = center_and_scale(X)
    points = to_single(X, center, scale)
    given = points if queries is None else to_single(queries, center, scale)
    candidates = exact_candidates(given, points, n_candidates)
    distances, indices = nearest_of(X, candidates, n_neighbors, queries)
    unsure = np.flatnonzero(_may_be_rounding(distances[:, -1] / scale, given, points))
    if not len(unsure):
        return distances, indices
    points = _centered(X, center, scale).astype(np.float64)
    given = points[unsure] if queries is None else _centered(queries[unsure], center, scale).astype(np.float64)
    candidates[unsure] = exact_candidates(given, points, n_candidates)
    return nearest_of(X, candidates, n_neighbors, queries)


def _may_be_rounding(distances: Array, queries: Array, points: Array) -> Array:
    """Booleans (n,): whether rounding of the products in single precision may have hidden a nearer point.

    That is possible for near duplicates, and for all samples if one of them is very far away.
    """
    own, others = (np.sqrt(np.einsum("ij,ij->i", one, one)) for one in (queries, points))
    return distances**2 < ROUNDING * np.finfo(np.float32).eps * (own + others.max(initial=0)) ** 2


def exact_candidates(queries: Array, points: Array, n_candidates: int) -> Array:
    """Return indices (n_queries, n_candidates) of the nearest points, nearest first."""
    return nearest_points(queries, points, n_candidates)[1]


def nearest_points(
    queries: Array, points: Array, n_candidates: int, *, compiled_above: int = COMPILED_ABOVE
) -> tuple[Array, Array]:
    """Nearest points to each query by products of blocks: squared distances (float32: less ``|query|^2``), indices.

    BLAS runs single-threaded on blocks of queries, and the blocks run on our threads, so that the rounding, which
    decides between equal points, does not depend on the number of threads.
    """
    n, k = len(queries), min(n_candidates, len(points))
    squares = np.einsum("ij,ij->i", points, points)
    distances, indices = np.empty((n, k), dtype=points.dtype), np.empty((n, k), dtype=np.int32)
    select = _select_compiled if n * len(points) > compiled_above else _select
    select = select if points.dtype == np.float32 else _select_in_double
    size = min(max(n // N_BLOCKS, MIN_BLOCK_ROWS), MAX_BLOCK_ROWS)

    def search_blocks(first: int, last: int) -> None:
        for start in range(first * size, min(last * size, n), size):
            rows = slice(start, min(start + size, n))
            distances[rows], indices[rows] = select(queries[rows], points, squares, k)

    with single_threaded_libraries():
        map_ranges(search_blocks, -(-n // size))
    return distances, indices


def _select_compiled(queries: Array, points: Array, squares: Array, k: int) -> tuple[Array, Array]:
    """Nearest ``k`` points to each query, one block of points after another."""
    from ..kernels.selection import keep_nearest

    best = np.full((len(queries), k), np.inf, dtype=np.float32)
    found = np.zeros((len(queries), k), dtype=np.int32)
    buffer = np.empty(len(queries) * BLOCK_POINTS, dtype=np.float32)
    for start in range(0, len(points), BLOCK_POINTS):
        block = points[start : start + BLOCK_POINTS]
        products = buffer[: len(queries) * len(block)].reshape(len(queries), len(block))
        np.matmul(queries, block.T, out=products)
        keep_nearest(products, squares[start : start + BLOCK_POINTS], start, best, found)
    return best, found


def _select(queries: Array, points: Array, squares: Array, k: int) -> tuple[Array, Array]:
    """Twin of the compiled loop."""
    return _smallest(squares - 2 * (queries @ points.T), k)


def _select_in_double(queries: Array, points: Array, squares: Array, k: int) -> tuple[Array, Array]:
    """Nearest points in double precision; those at a distance of rounding are equally near.

    The products of a query vary in the last places with the other queries of the block. Without the bound, so would the
    choice among more than ``k`` copies of a point.
    """
    own = np.einsum("ij,ij->i", queries, queries)[:, None]
    distances = squares - 2 * (queries @ points.T) + own
    return _smallest(np.maximum(distances, 4 * ROUNDING * np.finfo(np.float64).eps * own), k)


def _smallest(distances: Array, k: int) -> tuple[Array, Array]:
    near = np.sort(np.argpartition(distances, k - 1, axis=1)[:, :k], axis=1)
    nearest = np.take_along_axis(distances, near, axis=1)
    order = np.argsort(nearest, axis=1, kind="stable")
    return np.take_along_axis(nearest, order, axis=1), np.take_along_axis(near, order, axis=1)


def center_and_scale(X: Data) -> tuple[Array, float]:
    """Mean row (d,) and largest distance of an entry from it: normalized by both, data of any unit fit float32."""
    if is_sparse(X):
        center = X.mean().astype(X.dtype)
        return center, X.moved(-center).bound() or 1.0
    parts = map_row_blocks(lambda part: (part.sum(axis=0, dtype=np.float64), part.max(axis=0), part.min(axis=0)), X)
    sums, highest, lowest = (np.array(of_parts) for of_parts in zip(*parts, strict=True))
    center = sums.sum(axis=0) / len(X)
    scale = float(max((highest.max(axis=0) - center).max(), (center - lowest.min(axis=0)).max()))
    return center.astype(X.dtype), scale if scale > 0 else 1.0


def to_single(X: Data, center: Array, scale: float) -> Array:
    """Centered, scaled, C-contiguous float32 copy of ``X``."""
    return np.ascontiguousarray(_centered(X, center, scale), dtype=np.float32)


def _centered(X: Data, center: Array, scale: float) -> Array:
    points = dense_rows(X) - center
    points /= points.dtype.type(scale)
    return points


def all_pairs_cost(X: Data) -> float:
    """Cost of comparing all pairs of rows, in multiplications of dense matrices."""
    if not is_sparse(X):
        return float(len(X)) ** 2 * (X.shape[1] + SELECTION_COST)
    n_pairs = float(len(X)) ** 2
    return min(_sparse_product_cost(X), n_pairs * X.shape[1]) + SPARSE_SELECTION_COST * n_pairs


def _sparse_product_cost(X: ShiftedSparse) -> float:
    """Cost of all inner products by a sparse product."""
    stored = np.bincount(X.values.indices, minlength=X.shape[1]).astype(np.float64)
    return SPARSE_COST * float(stored @ stored)


def all_sparse_pairs(
    queries: ShiftedSparse, X: ShiftedSparse, n_candidates: int, *, by_products: bool | None = None,
    block_entries: int = BLOCK_ENTRIES,
) -> Array:  # fmt: skip
    """Rows (n_queries, n_candidates) of ``X`` nearest to each query, by the cheaper of the two ways."""
    if by_products is None:
        by_products = _sparse_product_cost(X) < float(len(X)) ** 2 * X.shape[1]
    compare = _by_sparse_products if by_products else _by_dense_blocks
    return compare(queries, X, min(n_candidates, len(X)), block_entries)


def _by_sparse_products(queries: ShiftedSparse, X: ShiftedSparse, n_candidates: int, block_entries: int) -> Array:
    """``|x|^2 - 2 x.y`` from sparse products; column shifts cancel in differences."""
    shift, query_shift = X.row_shift().astype(np.float64), queries.row_shift().astype(np.float64)
    totals, query_totals = (np.asarray(side.values.sum(axis=1, dtype=np.float64)).ravel() for side in (X, queries))
    squares = np.asarray(X.values.multiply(X.values).sum(axis=1, dtype=np.float64)).ravel()
    squares += shift * (2 * totals + X.shape[1] * shift)
    transposed, found = X.values.T.tocsr(), np.empty((len(queries), n_candidates), dtype=np.int64)
    for rows in row_blocks(len(queries), len(X), entries=block_entries):
        products = (queries.values[rows] @ transposed).toarray()
        own = query_shift[rows, None]
        distances = squares - 2 * (products + shift * query_totals[rows, None] + own * (totals + X.shape[1] * shift))
        found[rows] = np.argpartition(distances, n_candidates - 1, axis=1)[:, :n_candidates]
    return found


def _by_dense_blocks(queries: ShiftedSparse, X: ShiftedSparse, n_candidates: int, block_entries: int) -> Array:
    """Dense blocks of both sides."""
    center, scale = center_and_scale(X)
    found = np.empty((len(queries), n_candidates), dtype=np.int64)
    for rows in row_blocks(*queries.shape, entries=block_entries):
        block = to_single(queries[rows], center, scale)
        distances, indices = np.empty((len(block), 0), np.float32), np.empty((len(block), 0), np.int64)
        for others in row_blocks(*X.shape, entries=block_entries):
            points = to_single(X[others], center, scale)
            squared, near = nearest_points(block, points, n_candidates)
            distances, indices = np.hstack([distances, squared]), np.hstack([indices, near + others.start])
            best = np.argsort(distances, axis=1, kind="stable")[:, :n_candidates]
            distances, indices = np.take_along_axis(distances, best, axis=1), np.take_along_axis(indices, best, axis=1)
        found[rows] = indices
    return found
