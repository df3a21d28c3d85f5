"""Preconditioned conjugate gradients for many right-hand sides at once."""

from __future__ import annotations

from typing import Any

from .._backend import Array, namespace, spmm
from ..solution import Solution


def block_pcg(
    A: Any, B: Array, *, diagonal: Array, X0: Array | None = None, tol: float = 1e-6, max_iter: int = 1000
) -> Solution:
    """Solve ``A X = B`` for a symmetric positive definite ``A``, one recurrence per column of ``B``.

    All columns share each product with ``A``, which is where the time goes. Columns that have converged are
    frozen (their step is zero). The preconditioner is the ``diagonal`` of A (Jacobi).

    Parameters
    ----------
    A
        (n, n), anything with ``A @ X``.
    B
        (n, k) right-hand sides.
    diagonal
        (n,) positive diagonal of A.
    X0
        First guess; zero if None.
    tol
        A column is solved when its residual norm is at most ``tol`` times its norm in ``B``.
    max_iter
        Iterations allowed.
    """
    xp = namespace(B)
    inverse = (1 / diagonal)[:, None]
    X = xp.zeros_like(B) if X0 is None else X0
    R = B - spmm(A, X) if X0 is not None else B
    target = tol * _column_norms(B)
    Z = inverse * R
    P = Z
    rz = xp.sum(R * Z, axis=0)
    active = _column_norms(R) > target
    n_iter = 0
    while bool(xp.any(active)) and n_iter < max_iter:
        AP = spmm(A, P)
        curvature = xp.sum(P * AP, axis=0)
        alpha = _ratio(rz, curvature, active)
        X = X + alpha * P
        R = R - alpha * AP
        Z = inverse * R
        rz_next = xp.sum(R * Z, axis=0)
        P = Z + _ratio(rz_next, rz, active) * P
        rz = rz_next
        active = active & (_column_norms(R) > target)
        n_iter += 1
    norms = _column_norms(B)
    relative = _column_norms(R) / xp.where(norms > 0, norms, xp.ones_like(norms))
    return Solution(
        X, n_iter, converged=not bool(xp.any(active)), residual=float(xp.max(relative)) if B.shape[1] else 0.0
    )


def _column_norms(X: Array) -> Array:
    xp = namespace(X)
    return xp.sqrt(xp.sum(X * X, axis=0))


def _ratio(numerator: Array, denominator: Array, active: Array) -> Array:
    """``numerator / denominator`` where the column is active and the denominator positive, else 0."""
    xp = namespace(numerator)
    usable = active & (denominator > 0)
    return xp.where(
        usable, numerator / xp.where(usable, denominator, xp.ones_like(denominator)), xp.zeros_like(numerator)
    )
