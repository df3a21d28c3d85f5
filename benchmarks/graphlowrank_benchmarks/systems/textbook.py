"""Robust PCA written directly from its paper, for comparison with faster versions."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import svds

from ..internals import Array

ARPACK_SHARE = 0.05  # of the shorter side: for more singular vectors LAPACK is faster
FIRST_RANK = 10


def robust_pca(X: Array, *, tol: float = 1e-6, max_iter: int = 1000) -> tuple[Array, int, bool]:
    """Inexact augmented Lagrangian with partial SVD (Lin, Chen and Ma, 2010): (low_rank, n_iter, converged)."""
    weight, shorter = 1 / float(np.sqrt(max(X.shape))), min(X.shape)  # no numpy scalar: that would promote float32
    size, norm = float(np.linalg.norm(X)), float(np.linalg.norm(X, 2))
    Y = X / max(norm, float(np.abs(X).max()) / weight)
    low_rank, mu, predicted = np.zeros_like(X), 1.25 / norm, min(FIRST_RANK, shorter)
    for n_iter in range(1, max_iter + 1):
        A = X - low_rank + Y / mu
        S = np.sign(A) * np.maximum(np.abs(A) - weight / mu, 0)
        A = X - S + Y / mu
        if predicted <= ARPACK_SHARE * shorter:
            left, values, right = svds(A, predicted, v0=np.ones(shorter, dtype=A.dtype))
        else:
            left, values, right = np.linalg.svd(A, full_matrices=False)
        kept = values > 1 / mu
        low_rank = (left[:, kept] * (values[kept] - 1 / mu)) @ right[kept]
        rank = int(kept.sum())
        predicted = min(rank + 1 if rank < predicted else rank + round(ARPACK_SHARE * shorter), shorter)
        error = X - low_rank - S
        Y = Y + mu * error
        mu = min(1.5 * mu, 1e7)
        if np.linalg.norm(error) <= tol * size:
            return low_rank, n_iter, True
    return low_rank, max_iter, False
