"""Weighted least squares of many rows on the same few regressors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backend import Array

SLAB_ENTRIES = 2_000_000  # products of pairs of regressors that are formed at a time: bounds memory whatever p is


def weighted_least_squares(X: Array, C: Array, weights: Array, ridge: Any = 0.0) -> Array:
    """Scores (n, k) that minimise ``sum_j w_ij (x_ij - s_i C_j)^2 + sum_a ridge_a s_ia^2`` for each sample i.

    Parameters
    ----------
    X
        (n, p) samples.
    C
        (k, p) regressors.
    weights
        (n, p), >= 0; what X holds where they are 0 does not matter, if it is finite.
    ridge
        (k,) or one number, >= 0; a little is added so that samples of too few entries have scores, too.
    """
    k, p = C.shape
    normal = np.zeros((len(X), k, k))
    features = max(1, SLAB_ENTRIES // (k * k))
    for start in range(0, p, features):
        slab = C[:, start : start + features]
        pairs = np.einsum("aj,bj->jab", slab, slab).reshape(slab.shape[1], k * k)
        normal += (weights[:, start : start + features] @ pairs).reshape(-1, k, k)
    right_side = ((weights * X) @ C.T).astype(np.float64)
    least = 1e-12 * np.trace(normal, axis1=1, axis2=2) / k + np.finfo(float).tiny
    normal[:, np.arange(k), np.arange(k)] += least[:, None] + ridge
    return np.linalg.solve(normal, right_side[:, :, None])[:, :, 0]
