"""Distances between rows and their candidate neighbours."""

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


@compiled()  # comparisons to the letter: equal rows are at equal distances
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
    """Measure the candidates of each query and keep the nearest, ties by index.

    Parameters
    ----------
    start, stop
        Range of ``order``.
    order
        (n,) order in which to go through the queries: neighbours next to each other share what is in the cache.
    queries, X
        (n, p) and (m, p) rows to compare.
    candidates
        (n, n_candidates) rows of X; negative for none.
    themselves
        Whether the queries are the rows of X, none of them its own neighbour.
    squared, indices
        (n, n_neighbors) are filled with squared distances, nearest first, and rows of X; inf and -1 where there are
        too few candidates.
    """
    size, zero = indices.shape[1], in_precision_of(X, 0.0)
    for position in range(start, stop):
        query = order[position]
        row, nearest, who = queries[query], squared[query], indices[query]
        nearest[:], who[:] = np.inf, -1
        for k in range(candidates.shape[1]):
            candidate = candidates[query, k]
            if candidate < 0 or (themselves and candidate == query):
                continue
            distance = _squared_distance(row, X[candidate], zero)
            place = size
            while place > 0 and (
                distance < nearest[place - 1] or (distance == nearest[place - 1] and candidate < who[place - 1])
            ):
                place -= 1
            if place < size:
                for later in range(size - 1, place, -1):
                    nearest[later], who[later] = nearest[later - 1], who[later - 1]
                nearest[place], who[place] = distance, candidate
