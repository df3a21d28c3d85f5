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
def add_points(points: Array, weights: Array, labels: Array, sums: Array, mass: Array) -> None:
    """Add the weighted points of each cluster to ``sums`` (d, n_clusters), and their weights to ``mass``."""
    for i in range(points.shape[1]):
        mass[labels[i]] += weights[i]
    for j in range(points.shape[0]):
        row, total = points[j], sums[j]
        for i in range(points.shape[1]):
            total[labels[i]] += weights[i] * row[i]
