"""Loops of a neighbor-preserving map: memberships of neighbors, and moves of points by attraction and repulsion."""

import numpy as np
from numba import uint64

from .._typing import Array
from .compiling import compiled
from .random_bits import GOLDEN, S32, first_state, mix

N_BISECTIONS = 40
SOFTENING = 0.001  # added to squared distances in the repulsion, as UMAP does
LARGEST_STEP = 4.0  # of a repulsion, in steps, and
LARGEST_PULL = 0.4  # of an attraction, in distances: two nodes that both move do not meet
LEAST_MEMBERSHIP = 1e-4  # of a neighbor, as in the edge weights: components stay connected
N_DOUBLINGS = 20


@compiled()
def calibrate_memberships(
    start: int, stop: int, indptr: Array, distances: Array, nearest: Array, memberships: Array
) -> None:
    """Write the membership of each neighbor of rows start to stop: ``exp(-(d - d_1) / s)``, 0 beyond the nearest k.

    d_1 is the distance of the nearest neighbor, and s makes the memberships of a row sum to ``log2(k + 1)``. k is the
    size of ``nearest``, which is scratch, or the number of neighbors if they are fewer.
    """
    n_neighbors = nearest.shape[0]
    for row in range(start, stop):
        first, last = indptr[row], indptr[row + 1]
        count = 0
        for entry in range(first, last):
            value = distances[entry]
            if count == n_neighbors and value >= nearest[n_neighbors - 1]:
                continue
            place = min(count, n_neighbors - 1)
            while place > 0 and nearest[place - 1] > value:
                nearest[place] = nearest[place - 1]
                place -= 1
            nearest[place] = value
            count = min(count + 1, n_neighbors)
        if count == 0:
            continue
        least, most = nearest[0], nearest[count - 1]
        scale = _scale(nearest, count)
        for entry in range(first, last):
            if distances[entry] > most:
                memberships[entry] = 0.0
            elif scale > 0.0:
                memberships[entry] = max(np.exp((least - distances[entry]) / scale), LEAST_MEMBERSHIP)
            else:
                memberships[entry] = 1.0


@compiled(inline="always")
def _scale(nearest, count):  # type: ignore[no-untyped-def]
    """Return the scale at which the memberships of the nearest have the right sum; 0 if they are equally near."""
    target, low, high = np.log2(count + 1.0), 0.0, nearest[count - 1] - nearest[0]
    if high <= 0.0:
        return 0.0
    for _ in range(N_DOUBLINGS):
        if _sum(nearest, count, high) >= target:
            break
        high *= 2.0
    for _ in range(N_BISECTIONS):
        middle = 0.5 * (low + high)
        if _sum(nearest, count, middle) < target:
            low = middle
        else:
            high = middle
    return high


@compiled(inline="always")
def _sum(nearest, count, scale):  # type: ignore[no-untyped-def]
    total = 0.0
    for place in range(count):
        total += np.exp(-(nearest[place] - nearest[0]) / scale)
    return total


@compiled()
def unite_memberships(start: int, stop: int, indptr: Array, indices: Array, memberships: Array, united: Array) -> None:
    """Write the probability ``p + q - p q`` that either end of an edge counts the other as a neighbor.

    Columns of a row are sorted, and each edge is stored in both directions.
    """
    for row in range(start, stop):
        for entry in range(indptr[row], indptr[row + 1]):
            low, high = indptr[indices[entry]], indptr[indices[entry] + 1]
            while high - low > 1:
                middle = (low + high) // 2
                if indices[middle] <= row:
                    low = middle
                else:
                    high = middle
            own, other = memberships[entry], memberships[low]
            united[entry] = own + other - own * other


@compiled(fastmath=True)
def move_points(
    start: int, stop: int, indptr: Array, indices: Array, weights: Array, keys: Array, points: Array, others: Array,
    seed: int, epoch: int, step: float, repulsion: float, n_negative: int, moved: Array,
) -> None:  # fmt: skip
    """Move points start to stop once along each of their edges, and away from ``n_negative`` random points for each.

    Edges lead to rows of ``others``, where the random points are, too. The random numbers are a function of (seed,
    epoch, key of the point, edge). ``moved`` is the output.
    """
    dimension, n_others = points.shape[1], others.shape[0]
    limit = LARGEST_STEP * step
    for i in range(start, stop):
        state = first_state(seed, epoch, keys[i])
        for k in range(dimension):
            moved[i, k] = points[i, k]
        for entry in range(indptr[i], indptr[i + 1]):
            j, weight = indices[entry], weights[entry]
            square = 0.0
            for k in range(dimension):
                square += (moved[i, k] - others[j, k]) ** 2
            pull = min(4.0 * step * weight / (1.0 + square), LARGEST_PULL)
            for k in range(dimension):
                moved[i, k] -= pull * (moved[i, k] - others[j, k])
            for _ in range(n_negative):
                state += GOLDEN
                j = np.int64(((mix(state) >> S32) * uint64(n_others)) >> S32)
                square = 0.0
                for k in range(dimension):
                    square += (moved[i, k] - others[j, k]) ** 2
                push = 2.0 * step * repulsion * weight / n_negative / ((SOFTENING + square) * (1.0 + square))
                for k in range(dimension):
                    moved[i, k] += min(max(push * (moved[i, k] - others[j, k]), -limit), limit)
