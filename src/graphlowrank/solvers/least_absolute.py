"""Least absolute deviations of many rows on the same regressors, by an interior-point method."""

import numpy as np

from .._threads import map_tasks
from .._typing import Array
from ..linalg.blocks import row_blocks
from .irls import products_of_rows
from .solution import Solution

BLOCK_ENTRIES = 200_000  # of the rows that one thread solves at a time
SLAB_ENTRIES = 4_000_000  # of products of regressors that are held at a time
FIRST_MULTIPLIER = 0.1  # smallest multiplier at the start, in mean absolute residuals
DAMPING = 1e-12  # share of the mean diagonal entry of the normal matrix: fewer entries than regressors have a solution
EXACT = 64 * np.finfo(np.float64).eps  # residuals of this share of the data are rounding


def least_absolute(Y: Array, C: Array, start: Array, *, tol: float = 1e-6, max_iter: int = 100) -> Solution:
    """``argmin_S sum_ij |Y_ij - (S C)_ij|``, row by row, by Mehrotra's method; NaN in Y (n, q) is left out.

    The dual of a row y is the linear program ``max_d <y, d>`` with ``C d = 0`` and ``-1 <= d <= 1``. Primal and dual
    are solved together (Portnoy and Koenker 1997), from the scores ``start`` (n, k) and d = 0, until the duality gap
    is at most ``tol`` of the objective that all entries would have with the median residual. Rows are independent.
    The ``residual`` is the largest gap left, relative to the objective.
    """
    C = C.astype(np.float64)
    pairs = products_of_rows(C) if C.shape[1] * len(C) * (len(C) + 1) // 2 <= SLAB_ENTRIES else None

    def solve(rows: slice) -> tuple[Array, int, float]:
        return _solve_rows(Y[rows].astype(np.float64), C, pairs, start[rows].astype(np.float64), tol, max_iter)

    blocks = row_blocks(len(Y), max(Y.shape[1], len(C) ** 2), entries=BLOCK_ENTRIES)
    found = map_tasks(solve, list(blocks))
    scores = np.concatenate([start[:0].astype(np.float64), *(one[0] for one in found)])
    gap = max((one[2] for one in found), default=0.0)
    most = max((one[1] for one in found), default=0)
    return Solution(scores.astype(Y.dtype), most, converged=gap <= tol, residual=gap)


def _solve_rows(
    Y: Array, C: Array, pairs: Array | None, scores: Array, tol: float, max_iter: int
) -> tuple[Array, int, float]:
    """Return improved scores, iterations, and the largest relative gap of a block of rows."""
    seen = ~np.isnan(Y)
    Y = np.where(seen, Y, 0)
    r = np.where(seen, Y - scores @ C, 0)
    size = np.abs(Y).sum(axis=1)
    unit = np.abs(r).sum(axis=1) / np.maximum(np.count_nonzero(seen, axis=1), 1)
    gaps, rounding = np.zeros(len(Y)), EXACT * size
    active = np.flatnonzero(np.abs(r).sum(axis=1) > rounding)
    # Everything below is in units of the mean absolute residual of a row.
    y, s, r = (one[active] / unit[active, None] for one in (Y, scores, r))
    seen, upper, lower = seen[active].astype(np.float64), np.ones_like(y), np.ones_like(y)
    above, below = (np.where(seen, np.maximum(one, 0) + FIRST_MULTIPLIER, 1) for one in (r, -r))
    n_iter = 0
    while active.size and n_iter < max_iter:
        n_iter += 1
        s = s + _step(C, pairs, r, (seen, upper, lower, above, below))
        r = seen * (y - s @ C)
        objective = np.abs(r).sum(axis=1)
        gap = objective - np.einsum("ij,ij->i", y, lower - upper) / 2
        scores[active] = s * unit[active, None]
        gaps[active] = gap / np.maximum(objective, EXACT)  # an objective below is rounding, too
        least = rounding[active] / unit[active]
        done = gap <= np.maximum(tol * objective, least)
        if done.any():  # then compare with the objective without outliers: the other entries must be right, too
            typical = np.nanmedian(np.where(seen[done] > 0, np.abs(r[done]), np.nan), axis=1)
            usual = typical * np.count_nonzero(seen[done], axis=1)
            done[done] = gap[done] <= np.maximum(tol * usual, least[done])
        products = np.einsum("ij,ij,ij->i", seen, upper, above) + np.einsum("ij,ij,ij->i", seen, lower, below)
        done |= products <= least  # what the gap would be without rounding
        if done.any():
            gaps[active[done]] = 0
            keep = ~done
            active, y, s, r, seen = (one[keep] for one in (active, y, s, r, seen))
            upper, lower, above, below = (one[keep] for one in (upper, lower, above, below))
    return scores, n_iter, float(gaps.max(initial=0.0))


def _step(C: Array, pairs: Array | None, r: Array, state: tuple[Array, ...]) -> Array:
    """One step of Mehrotra's predictor and corrector; return the change of the scores, and change the state in place.

    Newton's method for ``above upper = below lower = mu``, ``above - below = y - s C`` and ``C d = 0``.
    """
    from ..kernels.interior_point import correct, predict, weigh

    _, upper, lower, _, _ = state
    q, weighted, mu, steps = np.empty_like(r), np.empty_like(r), np.empty(len(r)), np.empty(len(r))
    weigh(r, *state, q, weighted)
    normal = normal_matrices(q, C, pairs)
    violation = (lower - upper) @ C.T / 2  # of C d = 0, by rounding
    moved = _solved(normal, weighted @ C.T + violation) @ C
    predict(r, *state, q, moved, mu, weighted)
    change = _solved(normal, weighted @ C.T + violation)
    correct(r, *state, q, moved, mu, change @ C, steps, weighted)
    return change * steps[:, None]


def normal_matrices(weights: Array, C: Array, pairs: Array | None) -> Array:
    """``C diag(w) C^T`` (n, k, k) for each row w of ``weights``, and a little damping.

    ``pairs`` are the products of pairs of regressors, which turn this into one product of matrices; None if there are
    too many of them.
    """
    k = len(C)
    normal = np.empty((len(weights), k, k))
    if pairs is None:
        for part in row_blocks(len(weights), C.size, entries=SLAB_ENTRIES):
            roots = np.sqrt(weights[part])[:, None, :] * C
            normal[part] = roots @ roots.transpose(0, 2, 1)
    else:
        rows, columns = np.tril_indices(k)
        normal[:, rows, columns] = weights @ pairs.T
        normal[:, columns, rows] = normal[:, rows, columns]
    diagonal = np.arange(k)
    damping = DAMPING * np.trace(normal, axis1=1, axis2=2) / k + np.finfo(np.float64).tiny
    normal[:, diagonal, diagonal] += damping[:, None]
    return normal


def _solved(normal: Array, right_side: Array) -> Array:
    return np.linalg.solve(normal, right_side[:, :, None])[:, :, 0]
