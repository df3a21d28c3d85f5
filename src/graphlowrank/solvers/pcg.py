"""Preconditioned conjugate gradients for many right-hand sides at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backend import Array, namespace, spmm
from .._threads import map_ranges
from ..linalg.grounded import GroundedLaplacian
from .solution import Solution

COMPILED_ABOVE = 500_000  # multiplications an iteration; below, scipy is done before a compiler has started


def block_pcg(
    A: Any,
    B: Array,
    *,
    diagonal: Array,
    precondition: Callable[[Array], Array] | None = None,
    X0: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> Solution:
    """Solve ``A X = B`` for a symmetric positive definite ``A``, one recurrence per column of ``B``.

    All columns share each product with ``A``, which is where the time goes. Columns that have converged are
    frozen (their step is zero).

    Parameters
    ----------
    A
        (n, n), anything with ``A @ X``; a sparse matrix or a `GroundedLaplacian` is worked on by compiled loops.
    B
        (n, k) right-hand sides.
    diagonal
        (n,) diagonal of A: positive, or infinite for rows that are not part of the system (their solution is 0).
    precondition
        Symmetric positive definite map of an (n, k) block to an (n, k) block, near the inverse of A; None divides by
        the ``diagonal`` (Jacobi).
    X0
        First guess; zero if None.
    tol
        A column is solved when every entry of the scaled residual, ``|r_i| / A_ii``, is at most ``tol`` times the
        largest ``|b_i| / A_ii``, whatever the preconditioner. Entry by entry: a norm would overlook nodes that hang on
        by faint ties.
    max_iter
        Iterations allowed.
    """
    options: dict[str, Any] = {"diagonal": diagonal, "precondition": precondition, "tol": tol, "max_iter": max_iter}
    if (unit := _unit(B, X0)) is not None:
        found = block_pcg(A, B / unit, X0=None if X0 is None else X0 / unit, **options)
        return Solution(found.X * unit, found.n_iter, found.converged, found.residual)
    if precondition is None and _worth_compiling(A, B):
        return _compiled_jacobi_pcg(A, B, diagonal, X0, tol, max_iter)
    xp = namespace(B)
    inverse = (1 / diagonal)[:, None]
    X = xp.zeros_like(B) if X0 is None else X0
    R = B - spmm(A, X) if X0 is not None else B
    scale = _column_largest(inverse * B)
    target = tol * scale
    scaled = inverse * R
    active = ~(_column_largest(scaled) <= target)  # what is not a number is not solved
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
    """Power of two for each column whose squares would leave the range of numbers, 1 for the others; None if all fit.

    A constant feature, centred in single precision, is a column of about 1e-18: its residuals square to nothing.
    """
    xp = namespace(B)
    largest = _column_largest(B)
    if X0 is not None:  # which must not leave the range either
        largest = xp.maximum(largest, _column_largest(X0))
    limits = xp.finfo(B.dtype)
    far = (largest > 0) & ((largest < float(limits.smallest_normal) ** 0.25) | (largest > float(limits.max) ** 0.25))
    far = far & xp.isfinite(largest)
    if not bool(xp.any(far)):
        return None
    one = xp.ones_like(largest)
    # A quarter of it: the logarithm of the largest number there is may be rounded up.
    return xp.where(far, 2.0 ** (xp.floor(xp.log2(xp.where(far, largest, one))) - 2), one)


def _worth_compiling(A: Any, B: Array) -> bool:
    return (
        isinstance(A, (sp.csr_array, GroundedLaplacian))
        and isinstance(B, np.ndarray)
        and A.dtype == B.dtype
        and (A if isinstance(A, sp.csr_array) else A.weights).nnz * B.shape[1] > COMPILED_ABOVE
    )


def _compiled_jacobi_pcg(
    A: sp.csr_array | GroundedLaplacian, B: Array, diagonal: Array, X0: Array | None, tol: float, max_iter: int
) -> Solution:
    """Twin of the loop above without its temporaries: three passes over memory an iteration instead of about twelve."""
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
    # Of a zero start the residual is B itself; what is not a number must stay so, or it would count as solved.
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
