"""Approximate nearest-neighbor search in Voronoi cells of a projection (an inverted file index).

Inverted lists as in faiss, searched by our own loop in a third of its time on MNIST. The result depends neither on the
number of threads nor on their timing, as that of NN-descent does.
"""

from collections.abc import Callable

import numpy as np
from sklearn.utils import check_random_state

from .._threads import map_ranges, map_tasks
from .._typing import Array, RandomState
from ..linalg.blocks import row_blocks
from ..preprocessing.sparse import Data
from .candidates import nearest_of
from .locality import bisection_order
from .projection import CACHED_ROWS, PROJECTED_DIMENSIONS, project
from .search_exact import SPARE_CANDIDATES, center_and_scale, exact_candidates, to_single

# Chosen on MNIST, USPS, video pixels and point clouds of up to a million points: see benchmarks/studies/neighbors.py.
CELLS_PER_ROOT = 2  # cells = 2 sqrt(n): finding the cells and searching them then take about the same time
TRAINING_ROWS_PER_CELL = 20
TRAINING_ITERATIONS = 4

# The numbers of cells to probe and of candidates to measure are tuned on a few rows of the data.
TRIAL_QUERIES = 128
TRIAL_ENTRIES = 500_000  # of the data, in a block that a thread compares with the trial queries
TRIAL_CANDIDATES = 3  # per neighbor, whose distances are measured
TRIAL_RECALL = 0.993  # share of the true neighbors that lie in the probed cells, and that are among the candidates
MIN_PROBES, MAX_PROBES = 8, 64  # cells
MAX_CANDIDATES = 12  # per neighbor
CHUNK = 65_536  # rows whose cells are found together


def search(X: Data, n_neighbors: int, *, random_state: RandomState = None) -> tuple[Array, Array, Array]:
    """Approximate search, see :class:`graphlowrank.graphs.NeighborSearch`; the order goes from cell to cell."""
    candidates, order = cell_candidates(X, n_neighbors, check_random_state(random_state))
    return *nearest_of(X, candidates, n_neighbors, order=order), order


def cell_candidates(X: Data, n_neighbors: int, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Rows near each row of ``X`` in the projection, usually with the row itself; and the rows from cell to cell."""
    from ..kernels.cell_search import QUERIES, search_cells

    points = project(X, PROJECTED_DIMENSIONS, rng)
    n = len(points)
    centers = cell_centers(points, max(1, min(int(CELLS_PER_ROOT * np.sqrt(n)), n // 8)), rng)
    centers = centers[bisection_order(centers)]  # near cells get near numbers, and lie close in memory
    n_probes, n_candidates = tune(X, points, centers, n_neighbors, rng)
    probes = _nearest_cells(points, centers, n_probes)
    order = np.argsort(probes[:, 0], kind="stable").astype(np.int32)
    n_cells = int(probes.max()) + 1
    cell_starts = np.searchsorted(probes[order, 0], np.arange(n_cells + 1))
    points, probes, squares = _from_centers(points, probes, centers, order)
    found = np.empty((n, n_candidates), dtype=np.int32)
    map_ranges(search_cells, -(-n // QUERIES), points, points, squares, centers, cell_starts, probes, found)
    short = np.flatnonzero((found >= 0).sum(axis=1) <= n_neighbors)
    if short.size:  # the probed cells hold too few points (duplicates, tiny n): these rows are searched exactly
        points += centers[probes[:, 0]]
        found[short] = exact_candidates(points[short], points, found.shape[1])
    indices = np.empty_like(found)

    def renumber(start: int, stop: int) -> None:
        rows = slice(start, stop)
        indices[order[rows]] = np.where(found[rows] >= 0, order[found[rows]], -1)

    map_ranges(renumber, n)
    return indices, order


def _from_centers(points: Array, probes: Array, centers: Array, order: Array) -> tuple[Array, Array, Array]:
    """Points and probes in the given order, points relative to their cells' centers, and their squared norms."""
    sorted_points, sorted_probes = np.empty_like(points), np.empty_like(probes)
    squares = np.empty(len(points), dtype=points.dtype)

    def fill(start: int, stop: int) -> None:
        rows = slice(start, stop)
        sorted_probes[rows] = probes[order[rows]]
        sorted_points[rows] = points[order[rows]] - centers[sorted_probes[rows, 0]]
        squares[rows] = np.einsum("ij,ij->i", sorted_points[rows], sorted_points[rows])

    map_ranges(fill, len(points))
    return sorted_points, sorted_probes, squares


def cell_centers(
    points: Array,
    n_cells: int,
    rng: np.random.RandomState,
    nearest_center: Callable[[Array, Array], Array] = lambda points, centers: exact_candidates(points, centers, 1)[
        :, 0
    ],
) -> Array:
    """Centers (n_cells, d) by a few iterations of k-means on a subset of the points, in threads.

    From random points on. A center without points stays where it is: that costs a little time, no recall.
    """
    training = points[rng.choice(len(points), min(len(points), TRAINING_ROWS_PER_CELL * n_cells), replace=False)]
    centers = training[:n_cells].copy()
    for _ in range(TRAINING_ITERATIONS):
        nearest = nearest_center(training, centers)
        cells, first, counts = np.unique(np.sort(nearest), return_index=True, return_counts=True)
        sums = np.add.reduceat(training[np.argsort(nearest, kind="stable")], first, axis=0)
        centers[cells] = sums / counts[:, None].astype(np.float32)
    return centers


def tune(X: Data, points: Array, centers: Array, n_neighbors: int, rng: np.random.RandomState) -> tuple[int, int]:
    """Numbers of cells to probe and of candidates to measure that find nearly all true neighbors of the trial rows."""
    trial = rng.choice(len(X), min(len(X), TRIAL_QUERIES), replace=False)
    truth = true_neighbors(X, trial, n_neighbors)
    cells = exact_candidates(points[truth.ravel()], centers, 1).reshape(truth.shape)
    n_probes = probes_needed(exact_candidates(points[trial], centers, min(MAX_PROBES, len(centers))), cells)
    ranks = ranks_of(points, trial, truth) if points.shape[1] < X.shape[1] else None
    return n_probes, min(candidates_needed(n_neighbors, ranks), len(X))


def probes_needed(probes: Array, cells: Array) -> int:
    """Return how many of the nearest cells hold nearly all ``cells`` of the true neighbors of the trial rows."""
    most = probes.shape[1]
    recall = (probes[:, :, None] == cells[:, None, :]).sum(axis=(0, 2)).cumsum() / cells.size
    return min(most, max(MIN_PROBES, int(np.searchsorted(recall, TRIAL_RECALL)) + 1))


def candidates_needed(n_neighbors: int, ranks: Array | None) -> int:
    """Return how many nearest points, the row itself included, contain nearly all true neighbors.

    Their ranks are those in a projection; None if there is none.
    """
    n_candidates = n_neighbors + 1 + SPARE_CANDIDATES
    if ranks is not None:  # the projection changes the ranking
        n_candidates = max(n_candidates, int(np.quantile(ranks, TRIAL_RECALL)) + 2)
    return min(n_candidates, MAX_CANDIDATES * n_neighbors + SPARE_CANDIDATES)


def ranks_of(points: Array, rows: Array, neighbors: Array) -> Array:
    """Count the points closer to ``points[rows[i]]`` than ``points[neighbors[i, j]]`` is, for each i and j."""
    limits = ((points[rows][:, None] - points[neighbors]) ** 2).sum(axis=2, dtype=np.float64)

    def count(block: slice) -> Array:
        distances = _squared_distances(points[rows], points[block])
        query, near = np.nonzero(distances < limits.max(axis=1, keepdims=True))  # few: the rest need not be sorted
        closer = distances[query, near][:, None] < limits[query]
        return np.array([np.bincount(query, weights=of_limit, minlength=len(rows)) for of_limit in closer.T]).T

    counts: list[Array] = map_tasks(count, row_blocks(len(points), 1, entries=CACHED_ROWS))
    return np.sum(counts, axis=0)


def true_neighbors(X: Data, rows: Array, n_neighbors: int) -> Array:
    """Exact nearest other rows of ``X`` to a few of its rows; X is visited in blocks, not copied whole."""
    center, scale = center_and_scale(X)
    queries = to_single(X[rows], center, scale)
    n_candidates = min(TRIAL_CANDIDATES * n_neighbors + SPARE_CANDIDATES, len(X))

    def nearest(block: slice) -> tuple[Array, Array]:
        points = to_single(X[block], center, scale)
        found = np.einsum("ij,ij->i", points, points) - 2 * (queries @ points.T)
        best = np.argpartition(found, min(n_candidates, found.shape[1]) - 1, axis=1)[:, :n_candidates]
        return np.take_along_axis(found, best, axis=1), best + block.start

    blocks = row_blocks(*X.shape, entries=TRIAL_ENTRIES)
    distances, indices = (np.hstack(parts) for parts in zip(*map_tasks(nearest, blocks), strict=True))
    best = np.argpartition(distances, n_candidates - 1, axis=1)[:, :n_candidates]
    candidates = np.take_along_axis(indices, best, axis=1)
    # The row itself is its nearest, or a copy of it; distances in single precision only choose the candidates.
    near = nearest_of(X, candidates, n_neighbors + 1, X[rows])[1]
    itself = near == rows[:, None]
    itself[~itself.any(axis=1), -1] = True
    return near[~itself].reshape(len(rows), n_neighbors)


def _squared_distances(queries: Array, points: Array) -> Array:
    """All pairs (n_queries, n_points) by one product, in double precision because of the cancellation."""
    queries, points = queries.astype(np.float64), points.astype(np.float64)
    squares = np.einsum("ij,ij->i", points, points)
    own = np.einsum("ij,ij->i", queries, queries)
    squared: Array = own[:, None] + squares - 2 * (queries @ points.T)
    return squared


def _nearest_cells(points: Array, centers: Array, n_probes: int) -> Array:
    """Nearest cells (n, n_probes) to each point, nearest first."""
    probes = np.empty((len(points), n_probes), dtype=np.int32)
    for rows in row_blocks(len(points), 1, entries=CHUNK):
        probes[rows] = exact_candidates(points[rows], centers, n_probes)
    return probes
