"""Nearest neighbours: one function over an exact and an approximate search.

Either engine proposes candidates from single-precision arithmetic; the same second step measures the
candidates exactly in the data's own precision and keeps the nearest. So distances are right to rounding whatever
proposed them, and the only thing "approximate" can cost is recall.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from .._backend import Array
from .._threads import map_ranges
from ..preprocessing.sparse import Data, ShiftedSparse
from .candidates import Candidates, nearest_first, without_selves
from .search_cells import SPARE_CANDIDATES, cell_candidates, centre_and_scale, exact_candidates, to_single
from .search_sparse import all_pairs_price, all_sparse_pairs, nearest_sparse

Engine = Literal["auto", "exact", "approximate"]

EXACT_PRODUCTS = 1e11  # n^2 (p + 50) up to which all pairs are compared: about a second on two cores
SELECTION = 50  # products that keeping the nearest costs for each pair
BLOCK_ENTRIES = 4_000_000
COMPILED_ABOVE = 20_000_000  # coordinate differences; below, numpy is done before a compiler has started


def compares_all_pairs(n: int, n_dimensions: int) -> bool:
    """Whether "auto" is exact for so many points."""
    return n**2 * (n_dimensions + SELECTION) <= EXACT_PRODUCTS


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Lists (n, n_neighbors), nearest first, and the rows in an order that keeps neighbours close, if one is known."""

    distances: Array
    indices: Array
    order: Array | None


def nearest_neighbours(
    X: Data, n_neighbors: int, *, engine: Engine = "auto", random_state: Any = None
) -> tuple[Array, Array]:
    """Nearest other rows of each row, in Euclidean distance.

    Parameters
    ----------
    X
        (n, d) float32 or float64, finite; dense, or sparse with shifts.
    n_neighbors
        Neighbours per row, at most n - 1; a row is never its own neighbour.
    engine
        "exact" compares all pairs in blocks. "approximate" projects on the leading principal directions,
        searches the nearest of about 2 sqrt(n) Voronoi cells, and measures the candidates in full; how many of both is
        found out on 128 points, for a recall of about 0.98. "auto" is exact
        where that takes about a second: up to 31000 rows of 50 numbers, 10900 of 784, 2700 of 13000.
    random_state
        Seed of the approximate engine.

    Returns
    -------
    distances, indices
        (n, n_neighbors) each, nearest first. Every index is valid and every distance finite.
    """
    found = search_neighbours(X, n_neighbors, engine=engine, random_state=random_state)
    return found.distances, found.indices


def search_neighbours(X: Data, n_neighbors: int, *, engine: Engine = "auto", random_state: Any = None) -> Neighbours:
    """Do what :func:`nearest_neighbours` says, and tell the order in which the rows were gone through."""
    n = X.shape[0]
    if not 1 <= n_neighbors < n:
        raise ValueError(
            f"n_neighbors={n_neighbors} needs at least {n_neighbors + 1} points, got {n}; lower n_neighbors."
        )
    if engine not in ("auto", "exact", "approximate"):
        raise ValueError(f"neighbors must be 'auto', 'exact' or 'approximate', got {engine!r}.")
    unit = _safe_unit(X)
    if unit != 1:
        found = search_neighbours(X / unit, n_neighbors, engine=engine, random_state=random_state)
        return replace(found, distances=found.distances * unit)
    if engine == "exact" or (engine == "auto" and _all_pairs_pay(X)):
        candidates = Candidates(_all_pairs(X, X, n_neighbors + 1 + SPARE_CANDIDATES), np.arange(n))
        return Neighbours(*nearest_of(X, candidates, n_neighbors), None)
    candidates = cell_candidates(X, n_neighbors, check_random_state(random_state))
    return Neighbours(*nearest_of(X, candidates, n_neighbors), candidates.order)


def nearest_to(queries: Data, X: Data, n_neighbors: int) -> tuple[Array, Array]:
    """Nearest rows of ``X`` to each row of ``queries``, both dense or both sparse; returns (distances, indices)."""
    unit = _safe_unit(X)
    if unit != 1:
        distances, indices = nearest_to(queries / unit, X / unit, n_neighbors)
        return distances * unit, indices
    candidates = Candidates(_all_pairs(queries, X, n_neighbors + SPARE_CANDIDATES), np.arange(len(queries)))
    return nearest_of(X, candidates, n_neighbors, queries=queries)


def _sparse(queries: Data) -> ShiftedSparse:
    assert isinstance(queries, ShiftedSparse), "sparse rows are compared with sparse rows"
    return queries


def _all_pairs_pay(X: Data) -> bool:
    if isinstance(X, ShiftedSparse):
        return all_pairs_price(X) <= EXACT_PRODUCTS
    return compares_all_pairs(len(X), X.shape[1])


def _all_pairs(queries: Data, X: Data, n_candidates: int) -> Array:
    """Rows of ``X`` nearest to each query in single-precision arithmetic."""
    if isinstance(X, ShiftedSparse):
        return all_sparse_pairs(_sparse(queries), X, n_candidates)
    centre, scale = centre_and_scale(X)
    points = to_single(X, centre, scale)
    return exact_candidates(points if queries is X else to_single(queries, centre, scale), points, n_candidates)


def _safe_unit(X: Data) -> Any:
    """1, or the size of X where its squares would overflow or vanish."""
    size = X.bound() if isinstance(X, ShiftedSparse) else max(X.max(), -X.min())
    limit = np.sqrt(np.finfo(X.dtype).max) / 1e6
    return X.dtype.type(1) if size == 0 or 1 / limit < size < limit else size


def nearest_of(X: Data, candidates: Candidates, n_neighbors: int, queries: Data | None = None) -> tuple[Array, Array]:
    """Measure candidates exactly and keep the nearest (ties by index); returns (distances, indices).

    Without queries the rows of X are the queries, and none is its own neighbour.
    """
    rows = None if queries is None or isinstance(queries, ShiftedSparse) else queries
    if isinstance(X, ShiftedSparse):
        squared, indices = nearest_sparse(X, candidates, n_neighbors, None if queries is None else _sparse(queries))
    elif candidates.indices.size * X.shape[1] > COMPILED_ABOVE:
        squared, indices = _compiled_nearest(np.ascontiguousarray(X), candidates, n_neighbors, rows)
    else:
        squared, indices = _plain_nearest(np.ascontiguousarray(X), candidates.indices, n_neighbors, rows)
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


def _plain_nearest(X: Array, candidates: Array, n_neighbors: int, queries: Array | None) -> tuple[Array, Array]:
    """Twin of the compiled loop for small data."""
    if queries is None:
        queries, candidates = X, without_selves(candidates)
    queries = queries.astype(X.dtype, copy=False)
    candidates = np.sort(candidates, axis=1)
    squared = np.empty(candidates.shape, dtype=X.dtype)
    rows = max(1, BLOCK_ENTRIES // max(1, candidates.shape[1] * X.shape[1]))
    for start in range(0, len(queries), rows):
        block = slice(start, start + rows)
        difference = X[candidates[block]] - queries[block, None, :]
        squared[block] = np.einsum("ijk,ijk->ij", difference, difference)
    return nearest_first(squared, candidates, n_neighbors)
