"""Huber regression of many rows on the same few regressors."""

from __future__ import annotations

import numpy as np

from .._backend import Array
from .._threads import map_ranges
from ..preprocessing.missing import has_missing
from ..solvers.solution import Solution

COMPILED_FROM = 2_000_000  # entries of Y; fewer are not worth waiting for a compiler
TINY = 1e-6  # of each diagonal entry of the normal matrix, added to it: regressors that are alike share the score


def huber_fit(
    Y: Array,
    C: Array,
    *,
    corner: float,
    start: Array | None = None,
    importance: Array | None = None,
    ridge: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = 30,
    compiled: bool | None = None,
) -> Solution:
    """``argmin_S sum_ij importance_j huber(Y_ij - (S C)_ij) + sum_ia ridge_a S_ia^2 / 2``, row by row.

    ``huber(x)`` is ``x^2 / 2`` up to ``corner`` and goes on in a straight line. Iteratively reweighted least squares:
    each step lowers the objective. Rows do not depend on one another.

    Parameters
    ----------
    Y
        (n, q) rows to explain; a view of a larger array will do. Entries that are NaN have no say.
    C
        (k, q) regressors, of any lengths and angles.
    corner
        Where the loss turns linear, > 0: about the size of small errors in Y.
    start
        (n, k) first guess; None for zeros. A guess that gross errors did not touch keeps them out from the first step.
    importance
        (q,) weight of each column, > 0; None for ones.
    ridge
        (k,) penalty of each score, >= 0; None for zeros.
    tol, max_iter
        A row stops when its scores change by less than ``tol``, relative to their length.
    compiled
        Whether to run compiled loops; None where Y is large enough to be worth it. Answers differ by rounding.

    Returns
    -------
    solution
        ``X``: (n, k) scores. ``residual``: share of the rows that were still changing at the end; up to one in a
        hundred is taken as converged.

    Examples
    --------
    >>> import numpy as np
    >>> C = np.ones((1, 5))
    >>> huber_fit(np.array([[1.0, 1, 1, 1, 100]]), C, corner=0.1, tol=1e-9).X.round(3)
    array([[1.025]])
    """
    if Y.ndim != 2 or C.ndim != 2 or Y.shape[1] != C.shape[1]:
        raise ValueError(f"Y and C must be matrices with as many columns, got {Y.shape} and {C.shape}.")
    if not 0 < corner < np.inf or max_iter < 1:
        raise ValueError(f"needs corner > 0 and max_iter >= 1; got {corner} and {max_iter}.")
    C = np.ascontiguousarray(C, dtype=Y.dtype)
    weights = np.ones((1, Y.shape[1]), dtype=Y.dtype) if importance is None else importance.astype(Y.dtype)[None]
    if has_missing(Y):
        weights, Y = np.where(np.isnan(Y), 0, weights).astype(Y.dtype), np.nan_to_num(Y, nan=0.0)
    scores = np.zeros((len(Y), len(C))) if start is None else np.array(start, dtype=np.float64)
    penalty = np.zeros(len(C)) if ridge is None else np.asarray(ridge, dtype=np.float64)
    n_iter = np.zeros(len(Y), dtype=np.int64)
    if not (Y.size >= COMPILED_FROM if compiled is None else compiled):
        fit_plainly(0, len(Y), Y, C, _pairs(C), weights, corner, penalty, tol, max_iter, scores, n_iter)
    else:
        from ..kernels.regression import huber_rows

        map_ranges(
            huber_rows, len(Y), np.ascontiguousarray(Y), C, _pairs(C), weights, corner, penalty, tol, max_iter, scores,
            n_iter,
        )  # fmt: skip
    unfinished = float(np.mean(n_iter == max_iter)) if len(Y) else 0.0
    most = int(n_iter.max(initial=0))
    return Solution(scores.astype(Y.dtype), most, converged=unfinished <= 0.01, residual=unfinished)


def _pairs(C: Array) -> Array:
    """Products of regressors, in the order of the lower half of a matrix."""
    rows, columns = np.tril_indices(len(C))
    return C[rows] * C[columns]


def fit_plainly(
    start: int,
    stop: int,
    Y: Array,
    C: Array,
    pairs: Array,
    importance: Array,
    corner: float,
    ridge: Array,
    tol: float,
    max_iter: int,
    scores: Array,
    n_iter: Array,
) -> None:
    """Twin of :func:`graphlowrank.kernels.regression.huber_rows` in numpy."""
    k = len(C)
    rows, columns = np.tril_indices(k)
    diagonal = np.arange(k)
    active = np.arange(start, stop)
    for _ in range(max_iter if k else 0):
        y = Y[active]
        given = importance if len(importance) == 1 else importance[active]
        w = given * corner / np.maximum(corner, np.abs(y - scores[active] @ C))
        normal = np.empty((len(active), k, k))
        normal[:, rows, columns] = normal[:, columns, rows] = w @ pairs.T
        normal[:, diagonal, diagonal] *= 1 + TINY
        normal[:, diagonal, diagonal] += ridge + np.finfo(float).tiny
        found = np.linalg.solve(normal, ((w * y) @ C.T)[:, :, None])[:, :, 0]
        moved = np.linalg.norm(found - scores[active], axis=1)
        scores[active] = found
        n_iter[active] += 1
        active = active[moved > tol * np.linalg.norm(found, axis=1)]
        if active.size == 0:
            return
