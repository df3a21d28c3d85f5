"""Extreme eigenvalues of sparse symmetric matrices."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError, eigsh

SMALL = 64  # below this a dense solver is faster than a Lanczos run
LANCZOS_TOLERANCE = 1e-4  # of the residual; from 1e-3 on, 1 % of safety was once too little in thousands of graphs
SAFETY = 1.01  # a Lanczos value approaches from below, and may have settled on a close second


def largest_eigenvalue(L: sp.csr_array) -> float:
    """Largest eigenvalue of a positive semi-definite ``L``, from above: a safe bound for step sizes.

    The Lanczos value is raised by 1 % and capped by the row-sum bound.

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
    start = np.random.RandomState(0).standard_normal(L.shape[0]).astype(L.dtype)  # the same in every run
    try:
        values = eigsh(
            L,
            k=1,
            which="LA",
            v0=start,
            tol=LANCZOS_TOLERANCE,
            ncv=min(20, L.shape[0] - 1),
            return_eigenvectors=False,
        )
    except ArpackError:
        return row_sum_bound
    return min(float(values[0]) * SAFETY, row_sum_bound)
