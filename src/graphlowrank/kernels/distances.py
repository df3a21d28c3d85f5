"""Distances between rows and their candidate neighbors."""

from __future__ import annotations

import numpy as np

from .._backend import Array
from .compiling import compiled, in_precision_of


@compiled(fastmath=True)
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
    order: Array,
    queries: Array,
    X: Array,
    candidates: Array,
    themselves: bool,  # noqa: FBT001
    squared: Array,
    indices: Array,
) -> None:
    """Keep the nearest candidates of each query, ties by index.

    Parameters
    ----------
    start, stop
        Range of ``order``.
    order
        (n,) order of the queries: neighbors that follow each other share the cache.
    queries, X
        (n, p) and (m, p) rows to compare.
    candidates
        (n, n_candidates) rows of X; negative for none.
    themselves
        Whether the queries are the rows of X; a row is not its own neighbor.
    squared, indices
        (n, n_neighbors) outputs: squared distances, nearest first, and rows of X; inf and -1 where there are too few
        candidates.
    """
    zero = in_precision_of(X, 0.0)
    for position in range(start, stop):
        query = order[position]
        row, nearest, who = queries[query], squared[query], indices[query]
        nearest[:], who[:] = np.inf, -1
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
    query_starts: Array,
    query_indices: Array,
    query_data: Array,
    query_shift: Array,
    starts: Array,
    indices_: Array,
    data: Array,
    shift: Array,
    width: int,
    candidates: Array,
    themselves: bool,  # noqa: FBT001
    squared: Array,
    indices: Array,
) -> None:
    """Do the same for rows of CSR matrices with ``width`` columns, each row plus a number of its own."""
    for position in range(start, stop):
        query = order[position]
        nearest, who = squared[query], indices[query]
        nearest[:], who[:] = np.inf, -1
        first, last = query_starts[query], query_starts[query + 1]
        for k in range(candidates.shape[1]):
            candidate = candidates[query, k]
            if candidate < 0 or (themselves and candidate == query):
                continue
            apart = query_shift[query] - shift[candidate]
            distance = _squared_sparse_distance(
                query_indices[first:last], query_data[first:last],
                indices_[starts[candidate] : starts[candidate + 1]], data[starts[candidate] : starts[candidate + 1]],
                apart, width,
            )  # fmt: skip
            _keep_if_near(in_precision_of(data, distance), candidate, nearest, who)


@compiled()
def _squared_sparse_distance(indices, values, other_indices, other_values, apart, width):  # type: ignore[no-untyped-def]
    """Merge two sorted rows; entries that neither stores differ by ``apart``."""
    a, b, met, total = 0, 0, 0, 0.0
    n, m = len(indices), len(other_indices)
    while a < n or b < m:
        if b == m or (a < n and indices[a] < other_indices[b]):
            difference = values[a] + apart
            a += 1
        elif a == n or other_indices[b] < indices[a]:
            difference = apart - other_values[b]
            b += 1
        else:
            difference = values[a] - other_values[b] + apart
            a += 1
            b += 1
        met += 1
        total += np.float64(difference) * np.float64(difference)
    return total + (width - met) * np.float64(apart) * np.float64(apart)
