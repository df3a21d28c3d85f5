"""Weighted least squares of many rows on the same few regressors."""

import numpy as np

from .._typing import Array
from .blocks import row_blocks

SLAB_ENTRIES = 2_000_000  # products of pairs of regressors formed at a time; bounds memory for any p


def weighted_least_squares(
    X: Array,
    C: Array,
    weights: Array,
    ridge: Array | float = 0.0,
    *,
    damping: float = 0.0,
    mean_damping: float = 1e-12,
) -> Array:
    """Scores (n, k) that minimize ``sum_j w_ij (x_ij - s_i C_j)^2 + sum_a ridge_a s_ia^2`` for each sample i.

    ``weights`` (n, p) may be 0 where X holds any finite number. ``damping`` and ``mean_damping`` are shares of each
    diagonal entry of the normal matrix, and of their mean, that are added to its diagonal: rows with fewer entries than
    regressors, or with collinear regressors, then have a solution.
    """
    k, p = C.shape
    normal = np.zeros((len(X), k, k))
    for features in row_blocks(p, k * k, entries=SLAB_ENTRIES):
        slab = C[:, features]
        pairs = np.einsum("aj,bj->jab", slab, slab).reshape(slab.shape[1], k * k)
        normal += (weights[:, features] @ pairs).reshape(-1, k, k)
    right_side = ((weights * X) @ C.T).astype(np.float64)
    least = mean_damping * np.trace(normal, axis1=1, axis2=2) / k + np.finfo(float).tiny
    diagonal = np.arange(k)
    normal[:, diagonal, diagonal] *= 1 + damping
    normal[:, diagonal, diagonal] += least[:, None] + ridge
    return np.linalg.solve(normal, right_side[:, :, None])[:, :, 0]
