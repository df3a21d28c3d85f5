"""Iteratively reweighted least squares (IRLS): robust regression of many rows on the same few regressors."""

from typing import Protocol

import numpy as np

from .._threads import map_ranges
from .._typing import Array
from ..linalg.blocks import row_blocks
from ..linalg.least_squares import weighted_least_squares
from .solution import Solution

COMPILED_FROM = 2_000_000  # entries of Y; fewer are not worth waiting for a compiler
BLOCK_ENTRIES = 2_000_000  # entries of a block of rows; bounds memory for any number of rows
DAMPING = 1e-6  # share of each diagonal entry of the normal matrix; collinear regressors then share the score
UNFINISHED = 0.01  # share of the rows that may still be changing in a converged solution
# Lower bounds of residuals where the weight is singular, relative to the mean of a row, and to its smallest typical
# residual so far: the smallest, because outliers inflate the residuals of early fits. A row with few entries may be
# fitted exactly but for damping: with smaller weights the residuals that damping leaves would grow.
MEDIAN_FLOOR, MEAN_FLOOR, MEAN_FLOOR_OF_FEW = 1e-3, 1e-10, 1e-6


class Reweighted(Protocol):
    """A loss as IRLS sees it; see :class:`graphlowrank.models.losses.Loss`."""

    quadratic: bool  # the weight is constant
    singular: bool  # the weight is infinite at 0
    huber_delta: float | None  # scale of Huber's weight, which has a compiled loop; None for others

    def irls_weight(self, size: Array) -> Array:
        """Weight of residuals of this absolute value."""


def irls(
    Y: Array,
    C: Array,
    loss: Reweighted,
    *,
    start: Array | None = None,
    importance: Array | None = None,
    ridge: Array | None = None,
    damping: float = DAMPING,
    mean_damping: float = 0.0,
    tol: float = 1e-3,
    max_iter: int = 30,
    compiled: bool | None = None,
) -> Solution:
    """``argmin_S sum_ij importance_j loss(Y_ij - (S C)_ij) + sum_ia ridge_a S_ia^2 / 2``, row by row.

    Each step solves least squares with the weights ``loss'(r) / r``, scaled to 1 at 0, which lowers the objective. Rows
    are independent: each stops when its scores change by less than ``tol`` relative to their norm. NaN in Y (n, q) is
    left out. The regressors C (k, q) need not be orthogonal. A ``start`` (n, k) that outliers did not affect keeps them
    out from the first step. For ``damping`` see :func:`~graphlowrank.linalg.least_squares.weighted_least_squares`.
    Huber's loss without ``mean_damping`` has compiled loops, used where Y is large or ``compiled`` is True. The
    ``residual`` is the share of the rows still changing at the end; up to 1 % counts as converged.
    """
    if Y.ndim != 2 or C.ndim != 2 or Y.shape[1] != C.shape[1]:
        raise ValueError(f"Y and C must be matrices with as many columns, got {Y.shape} and {C.shape}.")
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter}.")
    weights = np.ones((1, Y.shape[1]), Y.dtype) if importance is None else importance.astype(Y.dtype)[None]
    if np.isnan(Y).any():
        weights, Y = np.where(np.isnan(Y), Y.dtype.type(0), weights), np.nan_to_num(Y, nan=0.0)
    scores = np.zeros((len(Y), len(C))) if start is None else np.array(start, dtype=np.float64)
    penalty = np.zeros(len(C)) if ridge is None else np.asarray(ridge, dtype=np.float64)
    n_iter = np.zeros(len(Y), dtype=np.int64)
    max_iter = 1 if loss.quadratic else max_iter
    compiled = Y.size >= COMPILED_FROM if compiled is None else compiled
    if scores.size and compiled and loss.huber_delta is not None and not mean_damping:
        from ..kernels.regression import huber_rows

        C = np.ascontiguousarray(C, dtype=Y.dtype)
        map_ranges(
            huber_rows, len(Y), np.ascontiguousarray(Y), C, products_of_rows(C), weights, loss.huber_delta,
            penalty, damping, tol, max_iter, scores, n_iter,
        )  # fmt: skip
    elif scores.size:
        for part in row_blocks(len(Y), max(Y.shape[1], len(C) ** 2), entries=BLOCK_ENTRIES):
            fit_rows(
                Y[part], C.astype(np.float64), loss, weights if len(weights) == 1 else weights[part], penalty,
                (damping, mean_damping), tol, max_iter, scores[part], n_iter[part],
            )  # fmt: skip
    unfinished = 0.0 if loss.quadratic or not scores.size else float(np.mean(n_iter == max_iter))
    most = int(n_iter.max(initial=0))
    return Solution(scores.astype(Y.dtype), most, converged=unfinished <= UNFINISHED, residual=unfinished)


def products_of_rows(C: Array) -> Array:
    """``C[a] * C[b]`` for b <= a, in the order of the lower triangle of a matrix."""
    rows, columns = np.tril_indices(len(C))
    return C[rows] * C[columns]


def fit_rows(
    Y: Array,
    C: Array,
    loss: Reweighted,
    weights: Array,
    ridge: Array,
    damping: tuple[float, float],
    tol: float,
    max_iter: int,
    scores: Array,
    n_iter: Array,
) -> None:
    """Improve ``scores`` (n, k) in place and count iterations in ``n_iter`` (n,); twin of the compiled ``huber_rows``.

    ``weights`` have one row for all where no entry is missing.
    """
    count = np.broadcast_to(np.count_nonzero(weights, axis=1), len(Y))
    size = np.abs(Y).sum(axis=1, dtype=np.float64) / np.maximum(count, 1)
    smallest = np.where(count <= 2 * len(C), MEAN_FLOOR_OF_FEW, MEAN_FLOOR) * size
    floor = np.full(len(Y), np.inf)  # of residuals, where the weight is singular
    scores[size == 0] = 0
    active = np.flatnonzero(size)
    for _ in range(max_iter):
        if active.size == 0:
            return
        y, given, penalty = Y[active], weights if len(weights) == 1 else weights[active], ridge
        distance = np.abs(y - scores[active] @ C)
        if loss.singular:
            least = np.maximum(MEDIAN_FLOOR * _typical(distance, given, len(C)), smallest[active])
            floor[active] = np.minimum(floor[active], least)
            unit = floor[active, None]  # keeps the weights of data in any units near 1
            distance, given, penalty = np.maximum(distance, unit), given * unit, ridge * unit
        found = weighted_least_squares(
            y, C, given * loss.irls_weight(distance), penalty, damping=damping[0], mean_damping=damping[1]
        )
        moved = np.linalg.norm(found - scores[active], axis=1)
        scores[active] = found
        n_iter[active] += 1
        active = active[moved > tol * np.maximum(np.linalg.norm(found, axis=1), np.finfo(np.float64).tiny)]


def _typical(distance: Array, weights: Array, k: int) -> Array:
    """Median residual of each row over its observed entries; of few entries, the smallest that k scores cannot make 0.

    Otherwise the floor of a row with fewer than 2 k entries falls to 0, and the first k residuals that get there stay.
    """
    seen = weights > 0
    typical = np.median(distance, axis=1) if seen.all() else np.nanmedian(np.where(seen, distance, np.nan), axis=1)
    count = np.broadcast_to(seen.sum(axis=1), len(distance))
    few = np.flatnonzero(count <= 2 * k)
    if few.size:
        ordered = np.sort(np.where(seen, distance, np.inf)[few], axis=1)
        typical[few] = np.maximum(typical[few], ordered[np.arange(few.size), np.minimum(k, count[few] - 1)])
    return np.asarray(typical)
