"""Sparse symmetric positive definite systems, with a preconditioner that fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from .._backend import Array
from ..linalg.multigrid import multigrid, pyamg_installed
from .pcg import block_pcg
from .solution import Solution

Preconditioner = Literal["auto", "jacobi", "multigrid"]

# Graphs of neighbours take 16 to 60 Jacobi iterations. All of multigrid costs as much as 30 (chains) to 70 of them, so
# waiting for 100 spares the many systems that do without it and costs the others little next to the 200 to 2000 saved.
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
    """Solve ``A X = B`` by preconditioned conjugate gradients, all columns together.

    Parameters
    ----------
    A
        (n, n) symmetric positive definite: a sparse matrix, or anything with ``A @ X`` where ``diagonal`` and
        ``strong`` are given.
    B
        (n, k) right-hand sides.
    diagonal
        (n,) diagonal of A, where it is at hand.
    strong
        Makes the preconditioner that takes over from Jacobi; None takes a V-cycle of multigrid on A.
    X0
        First guess; zero if None.
    preconditioner
        "jacobi" costs nothing to set up and is enough where every node is near a known one; "multigrid" (needs pyamg)
        does not slow down on long chains and large grids. "auto" starts with Jacobi and goes on with multigrid
        after 200 iterations, if pyamg is installed.
    tol
        See `block_pcg`.
    max_iter
        Iterations allowed, of both kinds together.

    Returns
    -------
    Solution
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
    end = block_pcg(
        A,
        B,
        diagonal=diagonal,
        precondition=multigrid(A) if strong is None else strong(),
        X0=start.X,
        tol=tol,
        max_iter=max_iter - start.n_iter,
    )
    return Solution(end.X, start.n_iter + end.n_iter, end.converged, end.residual)
