"""Preconditioned conjugate gradients (PCG) for many right-hand sides at once."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from .._backend import namespace
from .._threads import map_ranges
from .._typing import Array
from ..linalg.multigrid import multigrid, pyamg_installed
from ..linalg.products import GroundedLaplacian, spmm
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
    stall_after: int = STALL_AFTER,
) -> Solution:
    """Solve ``A X = B`` for a symmetric positive definite ``A``, with a preconditioner that fits.

    "jacobi" costs nothing to set up and suffices where every node is near a known one; "multigrid" (needs pyamg) does
    not slow down on long path graphs and large grids. "auto" starts with Jacobi and continues with multigrid after
    ``stall_after`` iterations, if pyamg is installed. ``strong`` makes the preconditioner that takes over; None for a
    multigrid V-cycle on A, which must then be sparse. For the rest see :func:`block_pcg`.
    """
    if preconditioner not in ("auto", "jacobi", "multigrid"):
        raise ValueError(f'preconditioner must be "auto", "jacobi" or "multigrid", got {preconditioner!r}.')
    options: dict[str, Any] = {"diagonal": A.diagonal() if diagonal is None else diagonal, "tol": tol}
    jacobi_iter = max_iter
    if preconditioner == "multigrid":
        jacobi_iter = 0
    elif preconditioner == "auto" and pyamg_installed():
        jacobi_iter = min(max_iter, stall_after)
    start = block_pcg(A, B, X0=X0, max_iter=jacobi_iter, **options)
    if start.converged or start.n_iter == max_iter:
        return start
    precondition = multigrid(A) if strong is None else strong()
    end = block_pcg(A, B, precondition=precondition, X0=start.X, max_iter=max_iter - start.n_iter, **options)
    return replace(end, n_iter=start.n_iter + end.n_iter)


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
    """Solve ``A X = B`` for a symmetric positive definite ``A``, anything with ``A @ X``, one recurrence per column.

    All columns share each product with A, which dominates the time; those that have converged are frozen (their step is
    zero). A column is solved when every entry of the scaled residual, ``|r_i| / A_ii``, is at most ``tol`` times the
    largest ``|b_i| / A_ii``, whatever the preconditioner: a norm over all entries would overlook nodes with weak edges.
    The ``diagonal`` is infinite for rows that are not part of the system, whose solution is 0. ``precondition``
    approximates the inverse of A; None divides by the diagonal (Jacobi), in compiled loops where the system is large
    or ``compiled`` is True.
    """
    if (unit := _unit(B, X0)) is not None:
        options: dict[str, Any] = {"diagonal": diagonal, "precondition": precondition, "compiled": compiled}
        X0 = None if X0 is None else X0 / unit
        found = block_pcg(A, B / unit, X0=X0, tol=tol, max_iter=max_iter, **options)
        return replace(found, X=found.X * unit)
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
    W = A.weights if isinstance(A, GroundedLaplacian) else A
    possible = isinstance(W, sp.csr_array) and isinstance(B, np.ndarray) and W.dtype == B.dtype
    return possible and (bool(W.nnz * B.shape[1] > COMPILED_ABOVE) if compiled is None else compiled)


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
