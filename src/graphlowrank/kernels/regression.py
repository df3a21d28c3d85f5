"""Huber regression of many rows on the same few regressors, one row at a time while it is in the cache."""

import numpy as np

from .._typing import Array
from .compiling import compiled


@compiled()
def solve_in_place(A: Array, b: Array) -> None:
    """``b = A^-1 b`` for a symmetric positive definite A, whose lower triangle becomes its Cholesky factor."""
    k = len(b)
    for i in range(k):
        for j in range(i + 1):
            total = A[i, j]
            for m in range(j):
                total -= A[i, m] * A[j, m]
            A[i, j] = np.sqrt(total) if i == j else total / A[j, j]
    for i in range(k):
        for m in range(i):
            b[i] -= A[i, m] * b[m]
        b[i] /= A[i, i]
    for i in range(k - 1, -1, -1):
        for m in range(i + 1, k):
            b[i] -= A[m, i] * b[m]
        b[i] /= A[i, i]


@compiled(fastmath=True)
def weigh(y: Array, C: Array, scores: Array, importance: Array, delta: float, w: Array, wy: Array) -> None:
    """``w = importance * delta / max(delta, |y - scores C|)`` and ``wy = w y``."""
    for j in range(len(y)):
        w[j] = y[j]
    for a in range(C.shape[0]):
        score, regressor = C.dtype.type(scores[a]), C[a]
        for j in range(len(y)):
            w[j] -= score * regressor[j]
    least = C.dtype.type(delta)
    for j in range(len(y)):
        w[j] = importance[j] * least / max(least, abs(w[j]))
        wy[j] = w[j] * y[j]


@compiled(fastmath=True)
def dot(x: Array, y: Array) -> float:
    """Inner product in the precision of the arrays."""
    total = x.dtype.type(0)
    for j in range(len(x)):
        total += x[j] * y[j]
    return total


def huber_rows(
    start: int,
    stop: int,
    Y: Array,
    C: Array,
    pairs: Array,  # products C[a] C[b] for b <= a, in the order of the lower triangle of a matrix
    importance: Array,  # one row for all where no entry is missing
    delta: float,
    ridge: Array,
    damping: float,
    tol: float,
    max_iter: int,
    scores: Array,  # start, and output
    n_iter: Array,
) -> None:
    """``scores[i] = argmin_s sum_j importance_ij huber(Y_ij - s C_j) + sum_a ridge_a s_a^2 / 2``, start <= i < stop.

    Iteratively reweighted least squares; twin of :func:`graphlowrank.solvers.irls.fit_rows`.
    """
    k, q = C.shape
    scratch = np.empty(q, C.dtype), np.empty(q, C.dtype), np.empty((k, k)), np.empty(k)
    _huber_rows(start, stop, Y, C, pairs, importance, delta, ridge, damping, tol, max_iter, scores, n_iter, *scratch)


@compiled()
def _huber_rows(
    start: int, stop: int, Y: Array, C: Array, pairs: Array, importance: Array, delta: float, ridge: Array,
    damping: float, tol: float, max_iter: int, scores: Array, n_iter: Array,
    w: Array, wy: Array, normal: Array, right: Array,
) -> None:  # fmt: skip
    k = C.shape[0]
    last = importance.shape[0] - 1
    for i in range(start, stop):
        for step in range(max_iter):
            weigh(Y[i], C, scores[i], importance[min(i, last)], delta, w, wy)
            pair = 0
            for a in range(k):
                for b in range(a + 1):
                    normal[a, b] = dot(w, pairs[pair])
                    pair += 1
                right[a] = dot(wy, C[a])
                normal[a, a] += ridge[a] + damping * normal[a, a] + 1e-300
            solve_in_place(normal, right)
            moved, size = 0.0, 1e-300
            for a in range(k):
                moved += (right[a] - scores[i, a]) ** 2
                size += right[a] ** 2
                scores[i, a] = right[a]
            n_iter[i] = step + 1
            if moved <= tol * tol * size:
                break
