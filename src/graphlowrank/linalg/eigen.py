"""Extreme eigenvalues of symmetric matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from .._typing import Array

SMALL = 64  # rows; below, a dense solver is faster than a Lanczos run
LANCZOS_TOL = 1e-4  # relative residual; at 1e-3, a SAFETY of 1 % was too little for one graph in thousands
SAFETY = 1.01  # Lanczos values converge from below, and may have settled on a close second eigenvalue


def largest_eigenvalue(L: sp.csr_array) -> float:
    """Upper bound, about 1 % too large, of the largest eigenvalue of a positive semi-definite ``L``; for step sizes.

    The Lanczos value is raised by 1 % and capped by the row-sum bound.
    """
    if L.nnz == 0:
        return 0.0
    row_sum_bound = float(np.max(abs(L).sum(axis=1)))
    n = L.shape[0]
    if n < SMALL:
        return min(float(np.linalg.eigvalsh(L.toarray().astype(np.float64))[-1]), row_sum_bound)
    try:
        values = eigsh(L, 1, which="LA", v0=_start(n).astype(L.dtype), tol=LANCZOS_TOL, return_eigenvectors=False)
    except ArpackError:
        return row_sum_bound
    return min(float(values[0]) * SAFETY, row_sum_bound)


def dense_eigenpairs(A: Array, k: int) -> tuple[Array, Array]:
    """Largest k eigenvalues, in descending order, and eigenvectors (n, k) of a matrix, symmetric up to rounding."""
    n = len(A)
    values, vectors = eigh((A + A.T) / 2, subset_by_index=(n - k, n - 1))
    return values[::-1], vectors[:, ::-1]


def lanczos_eigenpairs(
    product: Callable[[Array], Array], n: int, k: int, *, failure: str, **options: Any
) -> tuple[Array, Array]:
    """Return the same of a matrix (n, n) given by its product with a vector; ``options`` as for scipy's ``eigsh``."""
    operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
    try:
        values, vectors = eigsh(operator, k, which="LA", v0=_start(n), **options)
    except ArpackNoConvergence as error:
        raise ArithmeticError(failure) from error
    order = np.argsort(-values)
    return values[order], vectors[:, order]


def _start(n: int) -> Array:
    """Return the same initial vector in every run."""
    return np.random.RandomState(0).standard_normal(n)
