"""Extreme eigenvalues of sparse symmetric matrices."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

SMALL = 64  # below this a dense solver is faster than a Lanczos run
LANCZOS_TOLERANCE = 1e-4


def largest_eigenvalue(L: sp.csr_array) -> float:
    """Largest eigenvalue of a positive semi-definite ``L``, from above: a safe bound for step sizes.

    A Lanczos value approaches from below, so its tolerance is added; the row-sum bound caps it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> round(largest_eigenvalue(sp.csr_array([[1.0, -1.0], [-1.0, 1.0]])), 3)
    2.0
    """
    if L.nnz == 0:
        return 0.0
    row_sum_bound = float(np.max(abs(L).sum(axis=1)))
    if L.shape[0] < SMALL:
        return min(float(np.linalg.eigvalsh(L.toarray().astype(np.float64))[-1]), row_sum_bound)
    start = np.sqrt(np.abs(L.diagonal())).astype(L.dtype)  # large where the top eigenvector can be; never random
    start[::2] *= -1
    try:
        values = eigsh(
            L, k=1, which="LA", v0=start, tol=LANCZOS_TOLERANCE, ncv=min(20, L.shape[0] - 1), return_eigenvectors=False
        )
    except ArpackNoConvergence:
        return row_sum_bound
    return min(float(values[0]) * (1 + 10 * LANCZOS_TOLERANCE), row_sum_bound)
