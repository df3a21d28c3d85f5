"""Preconditioned conjugate gradients (PCG) for many right-hand sides at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from .._backend import Array, namespace
from .._threads import map_ranges
from ..linalg.grounded import GroundedLaplacian
from ..linalg.multigrid import multigrid, pyamg_installed
from ..linalg.products import spmm
from .solution import Solution

Preconditioner = Literal["auto", "jacobi", "multigrid"]

COMPILED_ABOVE = 500_000  # multiplications per iteration; below, scipy is done before a compiler has started
# Neighborhood graphs take 16 to 60 Jacobi iterations. Multigrid in all costs as much as 30 (path graphs) to 70 of them;
# systems that need it save 200 to 2000 iterations, so waiting this long costs them little and spares the others.
STALL_AFTER = 200


def solve_spd(
    A: Any,
    B: Array,
    *,
    diagonal: Array | None = None,
    strong: Callable[[], Callable[[Array], Array]] | None = None,
    X0: Array | None = None,
    preconditioner: Preconditioner = "auto",
    tol: float = 1e-7,
    max_iter: int = 2000,
) -> Solution:
    """Solve ``A X = B`` for a sparse symmetric positive definite ``A``, with a preconditioner that fits.

    Parameters
    ----------
    A
        (n, n) symmetric positive definite: a sparse matrix, or anything with ``A @ X`` where ``diagonal`` and
        ``strong`` are given.
    B
        (n, k) right-hand sides.
    diagonal
        (n,) diagonal of A; None for ``A.diagonal()``.
    strong
        Makes the preconditioner that takes over from Jacobi; None for a multigrid V-cycle on A.
    X0
        Initial guess; None for zero.
    preconditioner
        "jacobi" costs nothing to set up and suffices where every node is near a known one; "multigrid" (needs pyamg)
        does not slow down on long path graphs and large grids. "auto" starts with Jacobi and continues with multigrid
        after 200 iterations, if pyamg is installed.
    tol
        See :func:`block_pcg`.
    max_iter
        Iterations allowed, of both kinds together.

    Returns
    -------
    solution
        ``X`` is (n, k); ``n_iter`` counts iterations of both kinds.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> solve_spd(sp.csr_array([[2.0, -1.0], [-1.0, 2.0]]), np.array([[0.0], [3.0]])).X.ravel().round(6)
    array([1., 2.])
    """
    if preconditioner not in ("auto", "jacobi", "multigrid"):
        raise ValueError(f'preconditioner must be "auto", "jacobi" or "multigrid", got {preconditioner!r}.')
    diagonal = A.diagonal() if diagonal is None else diagonal
    jacobi_iter = max_iter
    if preconditioner == "multigrid":
        jacobi_iter = 0
    elif preconditioner == "auto" and pyamg_installed():
        jacobi_iter = min(max_iter, STALL_AFTER)
    start = block_pcg(A, B, diagonal=diagonal, X0=X0, tol=tol, max_iter=jacobi_iter)
    if start.converged or start.n_iter == max_iter:
        return start
    precondition = multigrid(A) if strong is None else strong()
    end = block_pcg(
        A, B, diagonal=diagonal, precondition=precondition, X0=start.X, tol=tol, max_iter=max_iter - start.n_iter
    )
    return Solution(end.X, start.n_iter + end.n_iter, end.converged, end.residual)


def block_pcg(
    A: Any,
    B: Array,
    *,
    diagonal: Array,
    precondition: Callable[[Array], Array] | None = None,
    X0: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    compiled: bool | None = None,
) -> Solution:
    """Solve ``A X = B`` for a symmetric positive definite ``A``, one recurrence per column of ``B``.

    All columns share each product with ``A``, which dominates the time. Columns that have converged are frozen (their
    step is zero).

    Parameters
    ----------
    A
        (n, n), anything with ``A @ X``. CSR matrices and `GroundedLaplacian` have compiled loops.
    B
        (n, k) right-hand sides.
    diagonal
        (n,) diagonal of A: positive, or infinite for rows that are not part of the system (their solution is 0).
    precondition
        Symmetric positive definite map of an (n, k) block to an (n, k) block that approximates the inverse of A; None
        divides by the ``diagonal`` (Jacobi).
    X0
        Initial guess; None for zero.
    tol
        A column is solved when every entry of the scaled residual, ``|r_i| / A_ii``, is at most ``tol`` times the
        largest ``|b_i| / A_ii``, whatever the preconditioner. A norm over all entries would overlook nodes with weak
        edges.
    max_iter
        Iterations allowed.
    compiled
        Whether to run compiled loops, where there are any; None where the system is large enough to be worth it.
    """
    options: dict[str, Any] = {
        "diagonal": diagonal, "precondition": precondition, "tol": tol, "max_iter": max_iter, "compiled": compiled
    }  # fmt: skip
    if (unit := _unit(B, X0)) is not None:
        found = block_pcg(A, B / unit, X0=None if X0 is None else X0 / unit, **options)
        return Solution(found.X * unit, found.n_iter, found.converged, found.residual)
    if precondition is None and _worth_compiling(A, B, compiled):
        return _compiled_jacobi_pcg(A, B, diagonal, X0, tol, max_iter)
    xp = namespace(B)
    inverse = (1 / diagonal)[:, None]
    X = xp.zeros_like(B) if X0 is None else X0
    R = B - spmm(A, X) if X0 is not None else B
    scale = _column_largest(inverse * B)
    target = tol * scale
    scaled = inverse * R
    active = ~(_column_largest(scaled) <= target)  # NaN is not solved
    P, rz = xp.zeros_like(B), xp.zeros_like(scale)
    n_iter = 0
    while bool(xp.any(active)) and n_iter < max_iter:
        Z = scaled if precondition is None else precondition(R)
        rz_next = xp.sum(R * Z, axis=0)
        P = Z + _ratio(rz_next, rz, active) * P
        rz = rz_next
        AP = spmm(A, P)
        alpha = _ratio(rz, xp.sum(P * AP, axis=0), active)
        X = X + alpha * P
        R = R - alpha * AP
        scaled = inverse * R
        active = active & ~(_column_largest(scaled) <= target)
        n_iter += 1
    return Solution(X, n_iter, not bool(xp.any(active)), _relative(_column_largest(scaled), scale))


def _unit(B: Array, X0: Array | None) -> Array | None:
    """Power of two for each column whose squares would over- or underflow, 1 for the others; None if all fit.

    A constant feature, centered in single precision, is a column of about 1e-18, whose squared residuals underflow.
    """
    xp = namespace(B)
    largest = _column_largest(B)
    if X0 is not None:
        largest = xp.maximum(largest, _column_largest(X0))
    limits = xp.finfo(B.dtype)
    far = (largest > 0) & ((largest < float(limits.smallest_normal) ** 0.25) | (largest > float(limits.max) ** 0.25))
    far = far & xp.isfinite(largest)
    if not bool(xp.any(far)):
        return None
    one = xp.ones_like(largest)
    # A quarter of it: the logarithm of the largest floating-point number may be rounded up.
    return xp.where(far, 2.0 ** (xp.floor(xp.log2(xp.where(far, largest, one))) - 2), one)


def _worth_compiling(A: Any, B: Array, compiled: bool | None) -> bool:  # noqa: FBT001
    possible = isinstance(A, (sp.csr_array, GroundedLaplacian)) and isinstance(B, np.ndarray) and A.dtype == B.dtype
    if not possible or compiled is not None:
        return possible and bool(compiled)
    nnz = (A if isinstance(A, sp.csr_array) else A.weights).nnz
    return bool(nnz * B.shape[1] > COMPILED_ABOVE)


def _compiled_jacobi_pcg(
    A: sp.csr_array | GroundedLaplacian, B: Array, diagonal: Array, X0: Array | None, tol: float, max_iter: int
) -> Solution:
    """Twin of the plain loop without temporaries: three passes over memory per iteration instead of about twelve."""
    from ..kernels.conjugate_gradient import BLOCK, advance, product_and_energy, redirect

    if isinstance(A, GroundedLaplacian):
        W, own = A.weights, A.degrees
    else:
        W, own = -A, np.zeros(len(B), dtype=B.dtype)
    inverse = np.ascontiguousarray(1 / diagonal, dtype=B.dtype)
    X = np.zeros_like(B, order="C") if X0 is None else np.array(X0, dtype=B.dtype, order="C")
    R = np.array(B, order="C") if X0 is None else B - spmm(A, X)
    n_blocks = -(-len(B) // BLOCK)
    energy = np.empty((n_blocks, B.shape[1]), dtype=B.dtype)
    sums = np.empty((n_blocks, 2, B.shape[1]), dtype=B.dtype)
    AP, P = np.zeros_like(R), np.zeros_like(R)

    def measure(alpha: Array) -> tuple[Array, Array]:
        map_ranges(advance, n_blocks, alpha, P, AP, inverse, X, R, sums)
        rz = sums[:, 0].sum(axis=0)
        return rz, np.where(np.isfinite(rz), sums[:, 1].max(axis=0, initial=0), np.inf)

    zero = np.zeros(B.shape[1], dtype=B.dtype)
    rz, largest = measure(zero)
    # From a zero start the residual is B itself. NaN must stay NaN, or its column would count as solved.
    scale = np.where(np.isfinite(largest), largest, np.nan) if X0 is None else _column_largest(inverse[:, None] * B)
    active, beta = ~(largest <= tol * scale), zero
    n_iter = 0
    while active.any() and n_iter < max_iter:
        map_ranges(redirect, n_blocks, beta, R, inverse, P)
        map_ranges(product_and_energy, n_blocks, W.indptr, W.indices, W.data, own, inverse, P, AP, energy)
        previous = rz
        rz, largest = measure(_ratio(rz, energy.sum(axis=0), active))
        active = active & ~(largest <= tol * scale)
        beta = _ratio(rz, previous, active)
        n_iter += 1
    return Solution(X, n_iter, not bool(active.any()), _relative(largest, scale))


def _relative(largest: Array, scale: Array) -> float:
    """Largest residual over the columns, each relative to its scale."""
    xp = namespace(scale)
    return float(xp.max(largest / xp.where(scale > 0, scale, xp.ones_like(scale)))) if scale.shape[0] else 0.0


def _column_largest(X: Array) -> Array:
    xp = namespace(X)
    return xp.maximum(xp.max(X, axis=0), -xp.min(X, axis=0))  # without a copy as large as X


def _ratio(numerator: Array, denominator: Array, active: Array) -> Array:
    """``numerator / denominator`` where the column is active and the denominator positive, else 0."""
    xp = namespace(numerator)
    usable = active & (denominator > 0)
    return xp.where(
        usable, numerator / xp.where(usable, denominator, xp.ones_like(denominator)), xp.zeros_like(numerator)
    )
