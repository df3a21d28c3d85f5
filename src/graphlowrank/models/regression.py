"""Scores of new samples on known components, under the model's loss."""

from __future__ import annotations

import numpy as np

from .._backend import Array
from ..linalg.regression import weighted_least_squares
from ..preprocessing.missing import has_missing
from .losses import LossName

BLOCK_ENTRIES = 2_000_000  # entries of a block of samples: bounds memory whatever n and p are
L1_DELTA = 1e-3  # l1 is Huber's loss with a corner this narrow, in units of the sample's median residual


def robust_scores(
    X: Array,
    components: Array,
    *,
    loss: LossName,
    huber_delta: float = 1.0,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> Array:
    """``argmin_S loss(X - S components)`` for orthonormal rows of ``components``, row by row of X.

    "l2" is the orthogonal projection. "huber" and "l1" re-weight it (iteratively reweighted least squares, which lowers
    the objective at every step); each sample stops on its own, so its scores do not depend on its company. "l1" is
    treated as Huber's loss with a very narrow corner.

    Parameters
    ----------
    X
        (n, p) centred samples; entries that are NaN have no say.
    components
        (k, p) orthonormal rows.
    loss, huber_delta
        Loss of the model, in the units of X.
    tol, max_iter
        A sample stops when its scores change by less than ``tol`` relative to their size.
    """
    gaps = has_missing(X)
    scores = np.empty((len(X), len(components)), dtype=X.dtype) if gaps else X @ components.T
    if components.shape[0] == 0 or (loss == "l2" and not gaps):
        return scores
    rows = max(1, BLOCK_ENTRIES // max(X.shape[1], len(components) ** 2))
    for start in range(0, len(X), rows):
        block = slice(start, start + rows)
        part, observed = X[block], None
        if gaps:
            observed = (~np.isnan(part)).astype(X.dtype)
            part = np.nan_to_num(part, nan=0.0)
            scores[block] = weighted_least_squares(part, components.astype(np.float64), observed)
        if loss != "l2":
            scores[block] = _reweighted(
                part, components, scores[block], observed, loss, huber_delta, tol, max_iter
            )  # fmt: skip
    return scores


def _reweighted(
    X: Array,
    C: Array,
    S: Array,
    observed: Array | None,
    loss: LossName,
    huber_delta: float,
    tol: float,
    max_iter: int,
) -> Array:
    """IRLS for Huber's loss on a block of samples; missing entries are zero in X and in ``observed``."""
    S = S.astype(np.float64)
    C = C.astype(np.float64)
    size = np.abs(X).mean(axis=1, dtype=np.float64)
    delta = np.full(len(X), huber_delta) if loss == "huber" else np.full(len(X), np.inf)
    active = np.flatnonzero(size > 0)
    for _ in range(max_iter):
        if active.size == 0:
            break
        distance = np.abs(X[active] - S[active] @ C)
        if loss == "l1":
            # Gross errors inflate every residual of the first fit; the corner narrows as they are found out.
            middle = np.median(distance, axis=1) if observed is None else _median_where(distance, observed[active])
            corner = np.maximum(L1_DELTA * middle, 1e-10 * size[active])
            delta[active] = np.minimum(delta[active], corner)
        weights = delta[active, None] / np.maximum(distance, delta[active, None])
        if observed is not None:
            weights *= observed[active]
        S_next = weighted_least_squares(X[active], C, weights)
        moved = np.linalg.norm(S_next - S[active], axis=1)
        S[active] = S_next
        active = active[moved > tol * np.maximum(np.linalg.norm(S_next, axis=1), np.finfo(np.float64).tiny)]
    return S


def _median_where(distance: Array, observed: Array) -> Array:
    """Median of each row's observed entries; every row has some."""
    return np.nanmedian(np.where(observed > 0, distance, np.nan), axis=1)
