"""Extreme eigenvalues of symmetric matrices."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning

from .._typing import Array

SMALL = 64  # rows; below, a dense solver is faster than a Lanczos run
LANCZOS_TOL = 1e-4  # relative residual; at 1e-3, a SAFETY of 1 % was too little for one graph in thousands
DENSE_UP_TO = 5000  # rows of a matrix that is formed if Lanczos fails
LOOSE_TOL = 1e-5
SAFETY = 1.01  # Lanczos values converge from below, and may have settled on a close second eigenvalue


def largest_eigenvalue(L: sp.csr_array, *, exact: bool = False) -> float:
    """Upper bound, about 1 % too large, of the largest eigenvalue of a positive semi-definite ``L``; for step sizes.

    ``exact`` is the eigenvalue itself, up to rounding, in more iterations.
    """
    if L.nnz == 0:
        return 0.0
    row_sum_bound = float(np.max(abs(L).sum(axis=1)))
    n = L.shape[0]
    if n < SMALL:
        return min(float(np.linalg.eigvalsh(L.toarray().astype(np.float64))[-1]), row_sum_bound)
    tol = 0 if exact else LANCZOS_TOL
    try:
        values = eigsh(L, 1, which="LA", v0=_start(n).astype(L.dtype), tol=tol, return_eigenvectors=False)
    except ArpackError:
        return row_sum_bound
    if exact:
        return float(values[0])
    return min(float(values[0]) * SAFETY, row_sum_bound)


def diagonal_bound(L: sp.csr_array) -> Array:
    """Diagonal of a matrix ``D >= L``, for a positive semi-definite ``L`` (n, n); for step sizes of the n entries.

    It is the diagonal of L times the largest eigenvalue that L has when scaled to unit diagonal, at most 2 for a
    Laplacian. Where degrees differ, it is far below ``largest_eigenvalue(L)`` for most nodes.
    """
    diagonal = np.maximum(L.diagonal(), 0)
    # Where the diagonal is 0, so is the row.
    scale = sp.diags_array(np.divide(1, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=diagonal > 0))
    return diagonal * largest_eigenvalue(sp.csr_array(scale @ L @ scale))


def dense_eigenpairs(A: Array, k: int) -> tuple[Array, Array]:
    """Largest k eigenvalues, in descending order, and eigenvectors (n, k) of a matrix, symmetric up to rounding."""
    n = len(A)
    values, vectors = eigh((A + A.T) / 2, subset_by_index=(n - k, n - 1))
    return values[::-1], vectors[:, ::-1]


def lanczos_eigenpairs(
    product: Callable[[Array], Array],
    n: int,
    k: int,
    *,
    failure: str,
    tol: float,
    shift: float = 0.0,
    dense_up_to: int = DENSE_UP_TO,
    **options: Any,
) -> tuple[Array, Array]:
    """Return the same of a matrix A (n, n) given by its products with dense matrices (n, m).

    Accuracy is relative to the eigenvalues of ``A + shift I``, so ``shift`` makes it possible for those near 0.
    Coinciding eigenvalues are hard for Lanczos: if it fails, a small matrix is formed, and for a large one the
    tolerance is raised to 1e-5, with a warning. Other ``options`` are those of scipy's ``eigsh``.
    """
    operator = LinearOperator((n, n), matvec=lambda v: product(v[:, None]).ravel() + shift * v, dtype=np.float64)
    for accuracy in (tol, LOOSE_TOL):
        try:
            values, vectors = eigsh(operator, k, which="LA", v0=_start(n), tol=accuracy, **options)
        except ArpackNoConvergence:
            if n <= dense_up_to:
                return dense_eigenpairs(product(np.eye(n)), k)
            continue
        if accuracy > tol:
            message = f"eigenvectors are accurate to {accuracy:g} only, since some eigenvalues nearly coincide."
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        order = np.argsort(-values)
        return values[order] - shift, vectors[:, order]
    raise ArithmeticError(failure)


def _start(n: int) -> Array:
    """Return the same initial vector in every run."""
    return np.random.RandomState(0).standard_normal(n)
