"""Loops of k-means without the GIL, so that many runs can share the cores.

Points are the columns of a C-contiguous (d, n) array: loops over points are vectorized for any number of dimensions and
clusters.
"""

from .._typing import Array
from .compiling import compiled

TILE = 256  # points whose distances to four centers stay in the L1 cache
FAR = 1e308  # larger than any squared distance


@compiled(fastmath=True)
def _distances_to_four(points, start, stop, centers, first, totals):  # type: ignore[no-untyped-def]
    """Squared distances ``totals`` (4, TILE) of points start to stop to the centers from ``first`` on."""
    last = centers.shape[0] - 1
    c0, c1 = centers[first], centers[min(first + 1, last)]
    c2, c3 = centers[min(first + 2, last)], centers[min(first + 3, last)]
    t0, t1, t2, t3 = totals[0], totals[1], totals[2], totals[3]
    for i in range(stop - start):
        t0[i], t1[i], t2[i], t3[i] = 0.0, 0.0, 0.0, 0.0
    for j in range(points.shape[0]):
        row, x0, x1, x2, x3 = points[j, start:stop], c0[j], c1[j], c2[j], c3[j]
        for i in range(stop - start):
            t0[i] += (row[i] - x0) * (row[i] - x0)
            t1[i] += (row[i] - x1) * (row[i] - x1)
            t2[i] += (row[i] - x2) * (row[i] - x2)
            t3[i] += (row[i] - x3) * (row[i] - x3)


@compiled(fastmath=True)
def nearest_centers(points: Array, centers: Array, scratch: Array, labels: Array, squared: Array) -> None:
    """Write the nearest center of each point and its squared distance; ``scratch`` is (6, TILE)."""
    n, n_centers = points.shape[1], centers.shape[0]
    totals, least, best = scratch[:4], scratch[4], scratch[5]  # numbers of centers as floats: the loop is vectorized
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        for i in range(size):
            least[i], best[i] = FAR, 0.0
        for first in range(0, n_centers, 4):
            _distances_to_four(points, start, start + size, centers, first, totals)
            for c in range(first, min(first + 4, n_centers)):
                total, number = totals[c - first], float(c)
                for i in range(size):
                    best[i] = number if total[i] < least[i] else best[i]
                    least[i] = min(total[i], least[i])
        for i in range(size):
            squared[start + i] = least[i]
            labels[start + i] = int(best[i])


@compiled(fastmath=True)
def distances_to_trials(points: Array, trials: Array, totals: Array, closest: Array, squared: Array) -> None:
    """Write to ``squared`` (n_trials, n) the smaller one of ``closest`` (n,) and the squared distance to each trial."""
    for start in range(0, points.shape[1], TILE):
        stop = min(start + TILE, points.shape[1])
        for first in range(0, trials.shape[0], 4):
            _distances_to_four(points, start, stop, trials, first, totals)
            for c in range(first, min(first + 4, trials.shape[0])):
                for i in range(start, stop):
                    squared[c, i] = min(closest[i], totals[c - first, i - start])


@compiled(fastmath=True)
def iterate(
    points: Array, weights: Array, tol: float, max_iter: int,
    centers: Array,  # (n_clusters, d), moves
    scratch: Array, labels: Array, before: Array, squared: Array, sums: Array, mass: Array,
) -> None:  # fmt: skip
    """Lloyd's iterations: move centers to the means of their points, until they move by ``tol`` or no label changes.

    A center that loses all its points moves to the point farthest from its own. The last arguments are scratch:
    (6, TILE), (n,), (n,), (n,), (d, n_clusters) and (n_clusters,).
    """
    (dimension, n), n_centers = points.shape, centers.shape[0]
    nearest_centers(points, centers, scratch, labels, squared)
    for _ in range(max_iter):
        _add_points(points, weights, labels, sums, mass)
        for c in range(n_centers):
            if mass[c] == 0.0:
                far = 0
                for i in range(n):
                    far = i if squared[i] > squared[far] else far
                for j in range(dimension):
                    sums[j, labels[far]] -= weights[far] * points[j, far]
                    sums[j, c] = weights[far] * points[j, far]
                mass[labels[far]] -= weights[far]
                mass[c] = weights[far]
                squared[far] = 0.0
        shift, changed = 0.0, 0
        for c in range(n_centers):
            for j in range(dimension):
                moved = sums[j, c] / mass[c] if mass[c] > 0.0 else centers[c, j]
                shift += (moved - centers[c, j]) * (moved - centers[c, j])
                centers[c, j] = moved
        for i in range(n):
            before[i] = labels[i]
        nearest_centers(points, centers, scratch, labels, squared)
        for i in range(n):
            changed += before[i] != labels[i]
        if shift <= tol or changed == 0:
            return


@compiled(fastmath=True)
def _add_points(points, weights, labels, sums, mass):  # type: ignore[no-untyped-def]
    """Sum the weighted points of each cluster, and their weights."""
    for c in range(mass.shape[0]):
        mass[c] = 0.0
        for j in range(points.shape[0]):
            sums[j, c] = 0.0
    for i in range(points.shape[1]):
        mass[labels[i]] += weights[i]
    for j in range(points.shape[0]):
        row, total = points[j], sums[j]
        for i in range(points.shape[1]):
            total[labels[i]] += weights[i] * row[i]
