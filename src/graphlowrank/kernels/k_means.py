"""K-means without the GIL, so that many runs can share the cores: seeding by k-means++, then Lloyd's iterations.

Points are the columns of a C-contiguous (d, n) array: loops over points are vectorized for any number of dimensions and
clusters.
"""

import numpy as np

from .._typing import Array
from .compiling import compiled

TILE = 256  # points whose distances to four centers stay in the L1 cache


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
def nearest_centers(points: Array, centers: Array, labels: Array, squared: Array) -> bool:
    """Write the nearest center of each point and its squared distance; return whether any label changed."""
    n, n_centers = points.shape[1], centers.shape[0]
    totals, least, best = np.empty((4, TILE)), np.empty(TILE), np.empty(TILE, np.int64)
    changed = False
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        for i in range(size):
            least[i], best[i] = np.inf, 0
        for first in range(0, n_centers, 4):
            _distances_to_four(points, start, start + size, centers, first, totals)
            for c in range(first, min(first + 4, n_centers)):
                total = totals[c - first]
                for i in range(size):
                    best[i] = c if total[i] < least[i] else best[i]
                    least[i] = min(total[i], least[i])
        for i in range(size):
            squared[start + i] = least[i]
            changed |= labels[start + i] != best[i]
            labels[start + i] = best[i]
    return changed


@compiled(fastmath=True)
def _distances(points, centers, squared):  # type: ignore[no-untyped-def]
    """Squared distances (n_centers, n) of all points to a few centers."""
    n, n_centers = points.shape[1], centers.shape[0]
    totals = np.empty((4, TILE))
    for start in range(0, n, TILE):
        size = min(TILE, n - start)
        for first in range(0, n_centers, 4):
            _distances_to_four(points, start, start + size, centers, first, totals)
            for c in range(first, min(first + 4, n_centers)):
                for i in range(size):
                    squared[c, start + i] = totals[c - first, i]


@compiled(fastmath=True)
def _seed_centers(points, weights, uniforms, centers):  # type: ignore[no-untyped-def]
    """k-means++ (Arthur and Vassilvitskii, 2007) with several trials a center; ``uniforms`` are its random numbers.

    The first number draws the first center, rows of (n_centers - 1, n_trials) the trials of the others.
    """
    (dimension, n), n_centers = points.shape, centers.shape[0]
    n_trials = (uniforms.shape[0] - 1) // max(n_centers - 1, 1)
    trials, squared = np.empty((max(n_trials, 1), dimension)), np.empty((max(n_trials, 1), n))
    closest, cumulative = np.empty(n), np.cumsum(weights)
    chosen = min(np.searchsorted(cumulative, uniforms[0] * cumulative[-1], side="right"), n - 1)
    for j in range(dimension):
        centers[0, j] = points[j, chosen]
    _distances(points, centers[:1], squared)
    for i in range(n):
        closest[i] = squared[0, i]
    for c in range(1, n_centers):
        total = 0.0
        for i in range(n):
            total += weights[i] * closest[i]
            cumulative[i] = total
        for t in range(n_trials):
            drawn = min(np.searchsorted(cumulative, uniforms[1 + (c - 1) * n_trials + t] * total), n - 1)
            for j in range(dimension):
                trials[t, j] = points[j, drawn]
        _distances(points, trials, squared)
        best, least = 0, np.inf
        for t in range(n_trials):
            potential = 0.0
            for i in range(n):
                squared[t, i] = min(closest[i], squared[t, i])
                potential += weights[i] * squared[t, i]
            if potential < least:
                best, least = t, potential
        for i in range(n):
            closest[i] = squared[best, i]
        for j in range(dimension):
            centers[c, j] = trials[best, j]


@compiled(fastmath=True)
def _move_centers(points, weights, labels, squared, centers):  # type: ignore[no-untyped-def]
    """Move centers to the means of their points, empty ones to the farthest points; return the squared shift."""
    dimension, n_centers = points.shape[0], centers.shape[0]
    sums, mass = np.zeros((dimension, n_centers)), np.zeros(n_centers)
    for i in range(points.shape[1]):
        mass[labels[i]] += weights[i]
    for j in range(dimension):
        row, total = points[j], sums[j]
        for i in range(points.shape[1]):
            total[labels[i]] += weights[i] * row[i]
    for c in range(n_centers):
        if mass[c] == 0.0:
            far = 0
            for i in range(points.shape[1]):
                far = i if squared[i] > squared[far] else far
            for j in range(dimension):
                sums[j, labels[far]] -= weights[far] * points[j, far]
                sums[j, c] = weights[far] * points[j, far]
            mass[labels[far]] -= weights[far]
            mass[c] = weights[far]
            squared[far] = 0.0
    shift = 0.0
    for c in range(n_centers):
        for j in range(dimension):
            moved = sums[j, c] / mass[c] if mass[c] > 0.0 else centers[c, j]
            shift += (moved - centers[c, j]) * (moved - centers[c, j])
            centers[c, j] = moved
    return shift


@compiled(fastmath=True)
def k_means_run(
    points: Array,  # (d, n) float64
    weights: Array,  # (n,) float64
    uniforms: Array,  # random numbers, see _seed_centers
    tol: float,  # squared shift of the centers that ends the iterations
    max_iter: int,
    centers: Array,  # (n_centers, d) output
) -> float:
    """Cluster once; return the weighted sum of squared distances of the points to their centers."""
    n = points.shape[1]
    labels, squared = np.zeros(n, np.int64), np.empty(n)
    _seed_centers(points, weights, uniforms, centers)
    for iteration in range(max_iter):
        if not nearest_centers(points, centers, labels, squared) and iteration > 0:
            break
        if _move_centers(points, weights, labels, squared, centers) <= tol:
            break
    nearest_centers(points, centers, labels, squared)
    inertia = 0.0
    for i in range(n):
        inertia += weights[i] * squared[i]
    return inertia
