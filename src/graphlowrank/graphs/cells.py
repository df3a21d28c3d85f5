"""Candidates for nearest neighbours from Voronoi cells of a projection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.extmath import randomized_svd

from .._backend import Array
from .._threads import library_limit, map_ranges, single_threaded_libraries

# Chosen on MNIST, USPS, video pixels, cells and clouds of up to a million points: see benchmarks/neighbours.py.
PROJECTED_DIMENSIONS = 96
CANDIDATES_PER_NEIGHBOUR = 2.4
PROJECTION_ROWS = 8000
CELLS_PER_ROOT = 4  # cells = 4 sqrt(n): finding the cells and searching them then cost about the same
CELLS_PROBED = 24
TRAINING_ROWS_PER_CELL = 20
TRAINING_ROUNDS = 4
CHUNK = 65_536  # rows whose cells are found together


@dataclass(frozen=True, eq=False)
class Candidates:
    """``indices`` (n, n_candidates) of near points, -1 for none, and an ``order`` in which neighbours are close."""

    indices: Array
    order: Array


def centre_and_scale(X: Array) -> tuple[Array, float]:
    """Centre and largest deviation: what makes single precision safe for offsets and units of any size."""
    centre = X.mean(axis=0, dtype=np.float64)
    scale = float(max((X.max(axis=0) - centre).max(), (centre - X.min(axis=0)).max()))
    return centre.astype(X.dtype), scale if scale > 0 else 1.0


def to_single(X: Array, centre: Array, scale: float) -> Array:
    """Centred, scaled, contiguous float32 copy of ``X`` for the search library."""
    points = X - centre
    points /= points.dtype.type(scale)
    return np.ascontiguousarray(points, dtype=np.float32)


def project(X: Array, n_dimensions: int, rng: np.random.RandomState) -> Array:
    """Single-precision coordinates along the leading principal directions, estimated on a part of the rows."""
    centre, scale = centre_and_scale(X)
    if X.shape[1] <= n_dimensions:
        return to_single(X, centre, scale)
    part = X[rng.choice(len(X), min(len(X), PROJECTION_ROWS), replace=False)] - centre
    directions = randomized_svd(part, min(n_dimensions, len(part)), n_iter=2, random_state=rng)[2].T
    return to_single(X @ directions, centre @ directions, scale)


def cell_candidates(X: Array, n_neighbors: int, rng: np.random.RandomState) -> Candidates:
    """Points near each row of ``X`` in the projection, itself usually among them.

    The inverted lists of faiss, searched by our own loop: the same candidates in a third of the time on MNIST. The
    outcome depends neither on the number of threads nor on chance between them, as that of NN-descent does.
    """
    from ..kernels.cell_search import QUERIES, search_cells

    points = project(X, PROJECTED_DIMENSIONS, rng)
    n = len(points)
    with library_limit():
        probes = _probes(points, max(1, min(int(CELLS_PER_ROOT * np.sqrt(n)), n // 8)), rng)
    order = np.argsort(probes[:, 0], kind="stable").astype(np.int32)
    n_cells = int(probes.max()) + 1
    cell_starts = np.searchsorted(probes[order, 0], np.arange(n_cells + 1))
    points, probes = points[order], probes[order]
    found = np.empty((n, min(n, int(np.ceil(CANDIDATES_PER_NEIGHBOUR * n_neighbors)) + 1)), dtype=np.int32)
    squares = np.einsum("ij,ij->i", points, points)
    with single_threaded_libraries():
        map_ranges(search_cells, -(-n // QUERIES), points, squares, cell_starts, probes, found)
    short = np.flatnonzero((found >= 0).sum(axis=1) <= n_neighbors)
    if short.size:  # cells can hold fewer points than asked for (clumps, tiny n): those rows are searched exactly
        found[short] = exact_candidates(points[short], points, found.shape[1])
    indices = np.empty_like(found)
    indices[order] = np.where(found >= 0, order[found], -1)
    return Candidates(indices, order)


def _probes(points: Array, n_cells: int, rng: np.random.RandomState) -> Array:
    """Nearest of ``n_cells`` cells to each point, (n, CELLS_PROBED), nearest first; their centres by k-means."""
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
    probes = np.empty((len(points), min(CELLS_PROBED, n_cells)), dtype=np.int32)
    for start in range(0, len(points), CHUNK):
        rows = slice(start, start + CHUNK)
        probes[rows] = faiss.knn(points[rows], k_means.centroids, probes.shape[1])[1]
    return probes


def exact_candidates(queries: Array, points: Array, n_candidates: int) -> Array:
    """All-pairs search in blocks; memory is a block of queries times a block of points."""
    import faiss

    with library_limit():
        return faiss.knn(queries, points, min(n_candidates, len(points)))[1]
