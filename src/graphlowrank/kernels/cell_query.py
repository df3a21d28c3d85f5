"""Nearest points of a few cells to each query, one query at a time.

Unlike products of many queries with many points (:mod:`.cell_search`), the answer for a query depends on nothing else:
each distance is a sum of squared differences in one order, without fused or reordered operations.
"""

from typing import TypeAlias

import numpy as np

from .._typing import Array
from .compiling import compiled

LANES = 16  # points whose smallest distance is compared first; cells are padded to a multiple
TERMS = 4  # coordinates that are added at a time; points are padded to a multiple
CellArrays: TypeAlias = tuple[Array, Array, Array]
"""Points cell by cell: coordinates (flat: of each cell, all first ones, then all second ones, ...), first place of each
cell (n_cells + 1,), and numbers of the points (n_places,), -1 for padding."""

PADDING = 1e18  # coordinate of points that only fill up a cell
FAR = 1e35  # no squared distance of padding is smaller; one of a point that is larger is not found


def nearest_in_cells(
    start: int,
    stop: int,
    order: Array,  # (n,) in which to visit the queries: successive ones share the cells in the cache
    queries: Array,  # (n, d) float32
    homes: Array,  # (n,) nearest cell of each query
    cells: CellArrays,
    around: CellArrays,  # for each cell, the centers of the cells around it, itself first, padding last
    inverses: Array,  # (n_places of around,) 1 / (2 distance from the first of these centers)
    limit: float,  # square of the share of the distance of the neighbors so far within which a cell is searched
    squared: Array,  # (n, k) output: squared distances, nearest first, ties by number
    found: Array,  # (n, k) output: numbers of the points; -1 where the cells hold too few
) -> None:
    """Keep the nearest points in the cells around each query, for start <= position < stop in the order.

    The points of a cell are beyond the plane halfway between its center and that of the query's own cell. A cell is not
    searched if the distance from that plane, divided by the root of ``limit``, is more than that of the last neighbor.
    """
    size = max(int(np.max(np.diff(starts))) for _, starts, _ in (cells, around))
    scratch = np.empty((2, size), dtype=np.float32)
    _visit(start, stop, order, queries, homes, cells, around, inverses, np.float32(limit), squared, found, scratch)


@compiled()
def _visit(
    start: int, stop: int, order: Array, queries: Array, homes: Array, cells: CellArrays, around: CellArrays,
    inverses: Array, limit: float, squared: Array, found: Array, scratch: Array,
) -> None:  # fmt: skip
    (coordinates, starts, numbers), (centers, center_starts, center_numbers) = cells, around
    zero = queries.dtype.type(0)  # a float64 would turn float32 arithmetic into float64
    n_columns = queries.shape[1]
    for position in range(start, stop):
        query = order[position]
        row, nearest, who = queries[query], squared[query], found[query]
        for k in range(who.shape[0]):
            nearest[k], who[k] = FAR, -1
        low, high = center_starts[homes[query]], center_starts[homes[query] + 1]
        to_centers = scratch[0, : high - low]
        _measure(row, centers[low * n_columns : high * n_columns], to_centers, zero)
        for k in range(high - low):
            cell = center_numbers[low + k]
            if cell < 0:
                break
            beyond = (to_centers[k] - to_centers[0]) * inverses[low + k]
            if k > 0 and beyond > zero and beyond * beyond > limit * nearest[who.shape[0] - 1]:
                continue
            first, last = starts[cell], starts[cell + 1]
            distances = scratch[1, : last - first]
            _measure(row, coordinates[first * n_columns : last * n_columns], distances, zero)
            _keep_nearest(distances, numbers[first:last], nearest, who)


def nearest_in_cell(start: int, stop: int, queries: Array, cells: CellArrays, squared: Array, found: Array) -> None:
    """Keep the nearest of all points, which are in one cell, for queries start <= i < stop."""
    scratch = np.empty(len(cells[2]), dtype=np.float32)
    _visit_one(start, stop, queries, cells, squared, found, scratch)


@compiled()
def _visit_one(
    start: int, stop: int, queries: Array, cells: CellArrays, squared: Array, found: Array, scratch: Array
) -> None:
    zero = queries.dtype.type(0)
    for query in range(start, stop):
        row, nearest, who = queries[query], squared[query], found[query]
        for k in range(who.shape[0]):
            nearest[k], who[k] = FAR, -1
        _measure(row, cells[0], scratch, zero)
        _keep_nearest(scratch, cells[2], nearest, who)


@compiled(no_cpython_wrapper=True)  # without fastmath: the rounding is the same for every point
def _measure(row, coordinates, distances, zero):  # type: ignore[no-untyped-def]
    """Squared distances of the points of a cell."""
    size = distances.shape[0]
    for j in range(size):
        distances[j] = zero
    for column in range(0, row.shape[0], TERMS):
        a, b, c, d = row[column], row[column + 1], row[column + 2], row[column + 3]
        at = column * size
        of_a, of_b = coordinates[at : at + size], coordinates[at + size : at + 2 * size]
        of_c, of_d = coordinates[at + 2 * size : at + 3 * size], coordinates[at + 3 * size : at + 4 * size]
        for j in range(size):
            e, f, g, h = a - of_a[j], b - of_b[j], c - of_c[j], d - of_d[j]
            distances[j] += (e * e + f * f) + (g * g + h * h)


@compiled(fastmath={"nnan", "nsz"}, no_cpython_wrapper=True)  # only compares: the smallest of a group in one step
def _keep_nearest(distances, numbers, nearest, who):  # type: ignore[no-untyped-def]
    """Insert the points of a cell among the nearest so far, ties by number."""
    last = who.shape[0] - 1
    for start in range(0, distances.shape[0], LANES):
        group = distances[start : start + LANES]
        least = group[0]
        for j in range(1, LANES):
            least = min(least, group[j])
        if least > nearest[last]:
            continue
        for j in range(LANES):
            distance, number = group[j], numbers[start + j]
            if distance > nearest[last] or number < 0 or (distance == nearest[last] and number > who[last]):
                continue
            place = last
            while place > 0 and (
                distance < nearest[place - 1] or (distance == nearest[place - 1] and number < who[place - 1])
            ):
                nearest[place], who[place] = nearest[place - 1], who[place - 1]
                place -= 1
            nearest[place], who[place] = distance, number
