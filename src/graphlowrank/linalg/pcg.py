"""Preconditioned conjugate gradients for many right-hand sides at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._backend import Array, namespace, spmm
from ..solution import Solution


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
        (n, n), anything with ``A @ X``.
    B
        (n, k) right-hand sides.
    diagonal
        (n,) positive diagonal of A.
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
        active = active & (_column_largest(scaled) > target)
        n_iter += 1
    relative = _column_largest(scaled) / xp.where(scale > 0, scale, xp.ones_like(scale))
    residual = float(xp.max(relative)) if B.shape[1] else 0.0
    return Solution(X, n_iter, converged=not bool(xp.any(active)), residual=residual)


def _column_largest(X: Array) -> Array:
    xp = namespace(X)
    return xp.max(xp.abs(X), axis=0)


def _ratio(numerator: Array, denominator: Array, active: Array) -> Array:
    """``numerator / denominator`` where the column is active and the denominator positive, else 0."""
    xp = namespace(numerator)
    usable = active & (denominator > 0)
    return xp.where(
        usable, numerator / xp.where(usable, denominator, xp.ones_like(denominator)), xp.zeros_like(numerator)
    )
