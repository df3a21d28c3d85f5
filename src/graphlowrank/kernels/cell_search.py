"""Nearest-neighbor search in Voronoi cells (inverted lists), many queries and one cell at a time.

Queries that are close together probe the same cells. So those of a block that probe a cell are compared with all its
points by one matrix product: as many operations as one query at a time, at the speed of BLAS.
"""

import numpy as np

from .._typing import Array
from .compiling import compiled

QUERIES = 2048  # per block; their lists of candidates stay in the L2 cache
POINTS = 256  # of a cell per product
FAR = 3e38  # larger than any squared distance


def search_cells(
    start: int,
    stop: int,
    queries: Array,  # (n, d) float32, near ones together; from the centers of their nearest cells
    points: Array,  # (m, d) float32, sorted by cell; from its center, as products of large numbers lose the distances
    squares: Array,  # (m,) squared norms of these coordinates
    centers: Array,  # (n_cells, d) centers of the cells
    cell_starts: Array,  # (n_cells + 1,) first point of each cell
    probes: Array,  # (n, n_probes) cells of each query, nearest first
    found: Array,  # (n, n_candidates) output: points, in no order; -1 where the cells hold too few
) -> None:
    """Nearest points to each query (itself, if it is one) in the cells that it probes, for blocks start <= b < stop."""
    n_probes, n_found = probes.shape[1], found.shape[1]
    gathered, own = np.empty((QUERIES, points.shape[1]), points.dtype), np.empty(QUERIES, points.dtype)
    ends, visitors = np.empty(len(cell_starts), np.int64), np.empty(QUERIES * n_probes, np.int32)
    best = np.empty((QUERIES, n_found), points.dtype)
    _search(
        start, stop, queries, points, squares, centers, cell_starts, probes, found, gathered, own, ends, visitors, best
    )  # fmt: skip


@compiled(fastmath=True)
def _search(
    start: int, stop: int, queries: Array, points: Array, squares: Array, centers: Array, cell_starts: Array,
    probes: Array, found: Array, gathered: Array, own: Array, ends: Array, visitors: Array, best: Array,
) -> None:  # fmt: skip
    n, n_cells, n_probes = queries.shape[0], len(cell_starts) - 1, probes.shape[1]
    zero = points.dtype.type(0)  # a float64 would turn float32 arithmetic into float64
    for block in range(start, stop):
        low, high = block * QUERIES, min((block + 1) * QUERIES, n)
        for query in range(low, high):
            for k in range(found.shape[1]):
                best[query - low, k], found[query, k] = FAR, -1
        for first_probe, last_probe in ((0, 1), (1, n_probes)):  # the nearest cell first: it rejects most others
            _list_visitors(low, high, first_probe, last_probe, probes, ends, visitors)
            begin = 0
            for cell in range(n_cells):
                end = ends[cell]
                for k in range(end - begin):
                    query = visitors[begin + k]
                    own[k] = _seen_from(centers[cell], queries[query], centers[probes[query, 0]], gathered[k], zero)
                for left in range(cell_starts[cell], cell_starts[cell + 1] if end > begin else 0, POINTS):
                    right = min(left + POINTS, cell_starts[cell + 1])
                    products = np.empty((end - begin, right - left), points.dtype)
                    np.dot(gathered[: end - begin], points[left:right].T, products)
                    for k in range(end - begin):
                        query = visitors[begin + k]
                        _keep_nearest(left, products[k], squares[left:right], own[k], best[query - low], found[query])
                begin = end


@compiled(no_cpython_wrapper=True)
def _list_visitors(low, high, first_probe, last_probe, probes, ends, visitors):  # type: ignore[no-untyped-def]
    """Sort queries by the cells they probe: those of cell c become ``visitors[ends[c - 1]:ends[c]]``."""
    for cell in range(len(ends)):
        ends[cell] = 0
    for query in range(low, high):
        for k in range(first_probe, last_probe):
            ends[probes[query, k] + 1] += 1
    for cell in range(len(ends) - 1):
        ends[cell + 1] += ends[cell]
    for query in range(low, high):
        for k in range(first_probe, last_probe):
            cell = probes[query, k]
            visitors[ends[cell]] = query
            ends[cell] += 1


@compiled(fastmath=True, no_cpython_wrapper=True)
def _seen_from(center, point, home, out, zero):  # type: ignore[no-untyped-def]
    """Write a point relative to ``home`` as relative to ``center``; return its squared norm."""
    square = zero
    for j in range(out.shape[0]):
        coordinate = point[j] + (home[j] - center[j])
        out[j] = coordinate
        square += coordinate * coordinate
    return square


@compiled(fastmath=True, inline="always")
def _keep_nearest(first, products, squares, own, best, who):  # type: ignore[no-untyped-def]
    """Add points to a query's candidates, a heap with the farthest on top."""
    size = best.shape[0]
    farthest = best[0]
    for j in range(products.shape[0]):
        distance = own + squares[j] - (products[j] + products[j])  # a literal 2 would make it float64
        if distance < farthest:
            place = 0
            child = 1
            while child < size:
                if child + 1 < size and best[child + 1] > best[child]:
                    child += 1
                if best[child] <= distance:
                    break
                best[place], who[place] = best[child], who[child]
                place = child
                child = 2 * place + 1
            best[place], who[place] = distance, first + j
            farthest = best[0]
