"""Distances between rows and their candidate neighbors."""

from typing import TypeAlias

import numpy as np

from .._typing import Array
from .compiling import compiled

SparseRows: TypeAlias = tuple[Array, Array, Array, Array, int]
"""Row starts, columns and data of a CSR matrix, a number added to each row, and the number of columns."""


@compiled(fastmath=True, no_cpython_wrapper=True)
def _squared_distance(row, other, zero):  # type: ignore[no-untyped-def]
    total = zero
    for feature in range(row.shape[0]):
        difference = row[feature] - other[feature]
        total += difference * difference
    return total


@compiled()  # exact comparisons, without fastmath: equal rows are at equal distances
def nearest_candidates(
    start: int,
    stop: int,
    order: Array,  # (n,) of the queries: neighbors that follow each other share the cache
    queries: Array,  # (n, d)
    X: Array,  # (m, d)
    candidates: Array,  # (n, n_candidates) rows of X; negative for none
    themselves: bool,  # noqa: FBT001  # the queries are the rows of X, and no row is its own neighbor
    squared: Array,  # (n, n_neighbors) output: squared distances, nearest first; inf where there are too few candidates
    indices: Array,  # (n, n_neighbors) output: rows of X; -1 where there are too few
) -> None:
    """Keep the nearest candidates of each query, ties by index, for start <= position < stop in the order."""
    zero = X.dtype.type(0)  # a float64 would turn float32 arithmetic into float64
    for position in range(start, stop):
        query = order[position]
        row, nearest, who = queries[query], squared[query], indices[query]
        for k in range(who.shape[0]):
            nearest[k], who[k] = np.inf, -1
        for k in range(candidates.shape[1]):
            candidate = candidates[query, k]
            if candidate < 0 or (themselves and candidate == query):
                continue
            _keep_if_near(_squared_distance(row, X[candidate], zero), candidate, nearest, who)


@compiled(inline="always")
def _keep_if_near(distance, candidate, nearest, who):  # type: ignore[no-untyped-def]
    """Insert a candidate among the nearest so far, ties by index."""
    size = len(who)
    place = size
    while place > 0 and (
        distance < nearest[place - 1] or (distance == nearest[place - 1] and candidate < who[place - 1])
    ):
        place -= 1
    if place < size:
        for later in range(size - 1, place, -1):
            nearest[later], who[later] = nearest[later - 1], who[later - 1]
        nearest[place], who[place] = distance, candidate


@compiled()
def nearest_sparse_candidates(
    start: int,
    stop: int,
    order: Array,
    queries: SparseRows,
    X: SparseRows,
    candidates: Array,
    themselves: bool,  # noqa: FBT001
    squared: Array,
    indices: Array,
) -> None:
    """Do the same for sparse rows."""
    query_starts, query_columns, query_data, query_shift, _ = queries
    starts, columns, data, shift, width = X
    for position in range(start, stop):
        query = order[position]
        nearest, who = squared[query], indices[query]
        for k in range(who.shape[0]):
            nearest[k], who[k] = np.inf, -1
        own = slice(query_starts[query], query_starts[query + 1])
        for k in range(candidates.shape[1]):
            candidate = candidates[query, k]
            if candidate < 0 or (themselves and candidate == query):
                continue
            apart = query_shift[query] - shift[candidate]
            other = slice(starts[candidate], starts[candidate + 1])
            distance = _squared_sparse_distance(
                query_columns[own], query_data[own], columns[other], data[other], apart, width
            )
            _keep_if_near(data.dtype.type(distance), candidate, nearest, who)


@compiled(no_cpython_wrapper=True)
def _squared_sparse_distance(columns, values, other_columns, other_values, apart, width):  # type: ignore[no-untyped-def]
    """Merge two sorted rows; entries that neither stores differ by ``apart``."""
    a, b, met, total = 0, 0, 0, 0.0
    n, m = len(columns), len(other_columns)
    while a < n or b < m:
        if b == m or (a < n and columns[a] < other_columns[b]):
            difference = values[a] + apart
            a += 1
        elif a == n or other_columns[b] < columns[a]:
            difference = apart - other_values[b]
            b += 1
        else:
            difference = values[a] - other_values[b] + apart
            a += 1
            b += 1
        met += 1
        total += np.float64(difference) * np.float64(difference)
    return total + (width - met) * np.float64(apart) * np.float64(apart)
