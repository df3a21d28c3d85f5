"""Exact distances of candidate neighbors, in the precision of the data.

A search proposes candidates in single precision; this second step measures them and keeps the nearest. Distances are
therefore correct to rounding, and all that an approximate search can lose is recall.
"""

from __future__ import annotations

import numpy as np

from .._backend import Array
from .._threads import map_ranges
from ..preprocessing.sparse import Data, is_sparse
from .candidates import Candidates, nearest_first, without_self
from .search_sparse import nearest_sparse

BLOCK_ENTRIES = 4_000_000  # coordinate differences held at a time
COMPILED_ABOVE = 20_000_000  # coordinate differences; below, numpy finishes before numba has loaded


def nearest_of(
    X: Data, candidates: Candidates, n_neighbors: int, queries: Data | None = None, *, compiled: bool | None = None
) -> tuple[Array, Array]:
    """Measure candidates and keep the nearest; ties go to the lower index.

    Parameters
    ----------
    X : ndarray or ShiftedSparse of shape (n, d)
        Points that the candidates index.
    candidates : Candidates
        At least ``n_neighbors`` valid ones per query.
    n_neighbors : int
        Number to keep.
    queries : ndarray or ShiftedSparse of shape (n_queries, d), default=None
        Query points, stored as ``X`` is. None for the rows of ``X``, of which none is its own neighbor.
    compiled : bool, default=None
        Whether to use the compiled loop; None decides by the amount of work.

    Returns
    -------
    distances, indices : ndarrays of shape (n_queries, n_neighbors)
        Nearest first.
    """
    if is_sparse(X):
        assert queries is None or is_sparse(queries), "sparse points need sparse queries"
        squared, indices = nearest_sparse(X, candidates, n_neighbors, queries, compiled=compiled)
    else:
        assert not is_sparse(queries), "dense points need dense queries"
        if compiled is None:
            compiled = candidates.indices.size * X.shape[1] > COMPILED_ABOVE
        measure = _compiled_nearest if compiled else _plain_nearest
        squared, indices = measure(np.ascontiguousarray(X), candidates, n_neighbors, queries)
    if indices.min(initial=0) < 0 or not np.all(np.isfinite(squared)):
        raise FloatingPointError("distances overflow; rescale X.")
    return np.sqrt(squared), indices


def _compiled_nearest(X: Array, candidates: Candidates, n_neighbors: int, queries: Array | None) -> tuple[Array, Array]:
    from ..kernels.distances import nearest_candidates

    rows = X if queries is None else np.ascontiguousarray(queries, dtype=X.dtype)
    squared = np.empty((len(rows), n_neighbors), dtype=X.dtype)
    indices = np.empty((len(rows), n_neighbors), dtype=np.int64)
    map_ranges(
        nearest_candidates, len(rows), candidates.order, rows, X, candidates.indices, queries is None, squared, indices
    )
    return squared, indices


def _plain_nearest(X: Array, candidates: Candidates, n_neighbors: int, queries: Array | None) -> tuple[Array, Array]:
    """Numpy twin of the compiled loop, for small data."""
    proposed = candidates.indices
    if queries is None:
        queries, proposed = X, without_self(proposed)
    queries = queries.astype(X.dtype, copy=False)
    proposed = np.sort(proposed, axis=1)
    squared = np.empty(proposed.shape, dtype=X.dtype)
    step = max(1, BLOCK_ENTRIES // max(1, proposed.shape[1] * X.shape[1]))
    for start in range(0, len(queries), step):
        rows = slice(start, start + step)
        difference = X[proposed[rows]] - queries[rows, None, :]
        squared[rows] = np.einsum("ijk,ijk->ij", difference, difference)
    return nearest_first(squared, proposed, n_neighbors)
