"""Candidates for nearest neighbours from Voronoi cells of a projection."""

from __future__ import annotations

import numpy as np
from sklearn.utils.extmath import randomized_svd

from .._backend import Array
from .._threads import map_ranges, single_threaded_libraries
from ..linalg.svd import sketched_directions
from ..preprocessing.sparse import Data, ShiftedSparse, dense_rows, some_rows
from .candidates import Candidates
from .locality import near_each_other

# Chosen on MNIST, USPS, video pixels and clouds of up to a million points: see benchmarks/neighbours.py.
PROJECTED_DIMENSIONS = 96
PROJECTION_ROWS = 8000
CELLS_PER_ROOT = 2  # cells = 2 sqrt(n): finding the cells and searching them then cost about the same
TRAINING_ROWS_PER_CELL = 20
TRAINING_ROUNDS = 4

# How many cells to probe and how many candidates to measure is found out on a few points of the data themselves.
TRIAL_QUERIES = 128
TRIAL_RECALL = 0.993  # share of their true neighbours to lie in the cells probed, and to be among the candidates
FEWEST_CELLS_PROBED, MOST_CELLS_PROBED = 8, 64
MOST_CANDIDATES = 12  # for each neighbour
SPARE_CANDIDATES = 4  # room for single-precision ties at the border of the neighbourhood
CACHED_ROWS = 4096  # gone through together, so that what is made of them stays in the cache
CHUNK = 65_536  # rows whose cells are found together
FEWEST_SEARCHED, MOST_SEARCHED = 1024, 4096  # rows compared with all others at a time
DENSE_ENTRIES = 4_000_000  # of sparse rows that are made dense at a time


def centre_and_scale(X: Data) -> tuple[Array, float]:
    """Centre and largest deviation: what makes single precision safe for offsets and units of any size."""
    if isinstance(X, ShiftedSparse):
        centre = X.mean().astype(X.dtype)
        return centre, X.moved(-centre).bound() or 1.0
    centre = X.mean(axis=0, dtype=np.float64)
    scale = float(max((X.max(axis=0) - centre).max(), (centre - X.min(axis=0)).max()))
    return centre.astype(X.dtype), scale if scale > 0 else 1.0


def to_single(X: Data, centre: Array, scale: float) -> Array:
    """Centred, scaled, contiguous float32 copy of ``X`` for the search library."""
    points = dense_rows(X) - centre
    points /= points.dtype.type(scale)
    return np.ascontiguousarray(points, dtype=np.float32)


def project(X: Data, n_dimensions: int, rng: np.random.RandomState) -> Array:
    """Single-precision coordinates along the leading principal directions, estimated on a part of the rows."""
    centre, scale = centre_and_scale(X)
    if X.shape[1] <= n_dimensions:
        return to_single(X, centre, scale)
    rows = rng.choice(len(X), min(len(X), PROJECTION_ROWS), replace=False)
    if isinstance(X, ShiftedSparse):
        centred = X.moved(-centre)
        return (centred @ sketched_directions(centred[rows], n_dimensions, rng) / scale).astype(np.float32)
    part = X[rows] - centre
    points = np.empty((len(X), min(n_dimensions, len(part))), dtype=np.float32)

    def multiply(first: int, last: int, directions: Array) -> None:
        for start in range(first * CACHED_ROWS, min(last * CACHED_ROWS, len(X)), CACHED_ROWS):
            # Centred before the product: a large offset would drown what it is for.
            points[start : start + CACHED_ROWS] = (X[start : start + CACHED_ROWS] - centre) @ directions

    with single_threaded_libraries():  # the same rounding whatever the number of threads
        directions = randomized_svd(part, points.shape[1], n_iter=2, random_state=rng)[2].T
        map_ranges(multiply, -(-len(X) // CACHED_ROWS), np.ascontiguousarray(directions))
    points /= np.float32(scale)
    return points


def cell_candidates(X: Data, n_neighbors: int, rng: np.random.RandomState) -> Candidates:
    """Points near each row of ``X`` in the projection, itself usually among them.

    The inverted lists of faiss, searched by our own loop, which takes a third of the time of theirs on MNIST. The
    outcome depends neither on the number of threads nor on chance between them, as that of NN-descent does.
    """
    from ..kernels.cell_search import QUERIES, search_cells

    points = project(X, PROJECTED_DIMENSIONS, rng)
    n = len(points)
    with single_threaded_libraries():
        centres = _cell_centres(points, max(1, min(int(CELLS_PER_ROOT * np.sqrt(n)), n // 8)), rng)
        centres = centres[near_each_other(centres)]  # cells of near numbers are near: so is what is in them, in memory
        n_probes, n_candidates = _effort(X, points, centres, n_neighbors, rng)
    probes = _nearest_cells(points, centres, n_probes)
    order = np.argsort(probes[:, 0], kind="stable").astype(np.int32)
    n_cells = int(probes.max()) + 1
    cell_starts = np.searchsorted(probes[order, 0], np.arange(n_cells + 1))
    points, probes = points[order], probes[order]
    found = np.empty((n, n_candidates), dtype=np.int32)
    points -= centres[probes[:, 0]]
    squares = np.einsum("ij,ij->i", points, points)
    with single_threaded_libraries():
        map_ranges(search_cells, -(-n // QUERIES), points, squares, centres, cell_starts, probes, found)
    short = np.flatnonzero((found >= 0).sum(axis=1) <= n_neighbors)
    if short.size:  # cells can hold fewer points than asked for (clumps, tiny n): those rows are searched exactly
        points += centres[probes[:, 0]]
        found[short] = exact_candidates(points[short], points, found.shape[1])
    indices = np.empty_like(found)
    indices[order] = np.where(found >= 0, order[found], -1)
    return Candidates(indices, order)


def _cell_centres(points: Array, n_cells: int, rng: np.random.RandomState) -> Array:
    """Centres (n_cells, d) by a few rounds of k-means on a part of the points."""
    import faiss

    k_means = faiss.Kmeans(
        points.shape[1],
        n_cells,
        niter=TRAINING_ROUNDS,
        seed=int(rng.randint(2**31 - 1)),
        max_points_per_centroid=TRAINING_ROWS_PER_CELL,
        min_points_per_centroid=1,
    )
    k_means.train(points)
    return np.asarray(k_means.centroids)


def _effort(X: Data, points: Array, centres: Array, n_neighbors: int, rng: np.random.RandomState) -> tuple[int, int]:
    """Cells to probe and candidates to measure so that nearly all true neighbours of some trial points are found."""
    trial = rng.choice(len(X), min(len(X), TRIAL_QUERIES), replace=False)
    truth = _true_neighbours(X, trial, n_neighbors)
    most = min(MOST_CELLS_PROBED, len(centres))
    cells = exact_candidates(points[truth.ravel()], centres, 1).reshape(truth.shape)
    probes = exact_candidates(points[trial], centres, most)
    found = (probes[:, :, None] == cells[:, None, :]).sum(axis=(0, 2)).cumsum() / cells.size
    n_probes = min(most, max(FEWEST_CELLS_PROBED, int(np.searchsorted(found, TRIAL_RECALL)) + 1))

    fewest = n_neighbors + 1 + SPARE_CANDIDATES
    if points.shape[1] < X.shape[1]:  # the projection upsets the order
        fewest = max(fewest, int(np.quantile(_ranks(points, trial, truth), TRIAL_RECALL)) + 2)
    return n_probes, min(fewest, MOST_CANDIDATES * n_neighbors + SPARE_CANDIDATES, len(X))


def _ranks(points: Array, rows: Array, neighbours: Array) -> Array:
    """Points that are nearer to ``points[rows[i]]`` than ``points[neighbours[i, j]]`` is, counted for each i and j."""
    ranks = np.zeros(neighbours.shape, dtype=np.int64)
    limits = ((points[rows][:, None] - points[neighbours]) ** 2).sum(axis=2, dtype=np.float64)
    for start in range(0, len(points), CACHED_ROWS):
        distances = _squared_distances(points[rows], points[start : start + CACHED_ROWS])
        ranks += (distances[:, None, :] < limits[:, :, None]).sum(axis=2)
    return ranks


def _true_neighbours(X: Data, rows: Array, n_neighbors: int) -> Array:
    """Nearest other rows of ``X`` to a few of its rows, exactly; X is gone through in parts, not copied whole."""
    centre, scale = centre_and_scale(X)
    queries = to_single(X[rows], centre, scale)
    distances = np.full((len(rows), n_neighbors), np.inf)
    indices = np.zeros((len(rows), n_neighbors), dtype=np.int64)
    step = some_rows(X.shape[1], DENSE_ENTRIES, at_most=CACHED_ROWS)
    for start in range(0, len(X), step):
        part = to_single(X[start : start + step], centre, scale)
        found = _squared_distances(queries, part)
        inside = np.flatnonzero((rows >= start) & (rows < start + len(part)))
        found[inside, rows[inside] - start] = np.inf  # itself
        distances = np.hstack([distances, found])
        indices = np.hstack([indices, np.broadcast_to(np.arange(start, start + len(part)), found.shape)])
        best = np.argpartition(distances, n_neighbors - 1, axis=1)[:, :n_neighbors]
        distances, indices = np.take_along_axis(distances, best, axis=1), np.take_along_axis(indices, best, axis=1)
    return indices


def _squared_distances(queries: Array, points: Array) -> Array:
    """Pairwise (n_queries, n_points), by one product; in double precision, which stands the cancellation."""
    queries, points = queries.astype(np.float64), points.astype(np.float64)
    squares = np.einsum("ij,ij->i", points, points)
    own = np.einsum("ij,ij->i", queries, queries)
    return own[:, None] + squares - 2 * (queries @ points.T)


def _nearest_cells(points: Array, centres: Array, n_probes: int) -> Array:
    """Nearest cells (n, n_probes) to each point, nearest first."""
    probes = np.empty((len(points), n_probes), dtype=np.int32)
    for start in range(0, len(points), CHUNK):
        rows = slice(start, start + CHUNK)
        probes[rows] = exact_candidates(points[rows], centres, n_probes)
    return probes


def exact_candidates(queries: Array, points: Array, n_candidates: int) -> Array:
    """All-pairs search in blocks; memory is a block of queries times a block of points.

    The blocks are ours, on threads of ours: which of many equal points the library takes depends on its rounding, and
    that on its threads.
    """
    import faiss

    found = np.empty((len(queries), min(n_candidates, len(points))), dtype=np.int64)
    size = min(max(len(queries) // 8, FEWEST_SEARCHED), MOST_SEARCHED)

    def search(first: int, last: int) -> None:
        faiss.omp_set_num_threads(1)  # each thread has a number of its own
        for block in range(first, last):
            rows = slice(block * size, (block + 1) * size)
            found[rows] = faiss.knn(queries[rows], points, found.shape[1])[1]

    with single_threaded_libraries():
        map_ranges(search, -(-len(queries) // size))
    return found
