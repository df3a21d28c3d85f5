"""Robust PCA on Graphs (Shahid, Kalofolias, Bresson, Bronstein, Vandergheynst, 2015)."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._threads import single_threaded_libraries
from .._typing import Array
from ..linalg.shrinkage import NuclearNorm, spectral_norm
from ..solvers.admm import ADMMState, admm
from ..solvers.conjugate_gradients import solve_spd
from ..solvers.fista import Callback
from ..solvers.solution import LowRankPlusSparse, Solution
from .checks import check_laplacian, strongest_gamma
from .losses import L1, DataFit
from .rpca import check_pursuit, minimize_compressed, solve_rpca
from .small_solver import CompressedProblem, SmallSolver

EPS_FLOOR = 64  # residuals below 64 eps are rounding
SMALLEST_TOLERANCE = 1e-8  # of the inner systems


def solve_rpcag(
    X: Array,
    L_samples: Any,
    *,
    gamma: float,
    weight: float | None = None,
    mask: Array | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    callback: Callback | None = None,
) -> LowRankPlusSparse:
    """``argmin_{L, S} ||L||_* + weight (||S||_1 + gamma tr(L^T L_samples L))`` subject to ``L + S = X`` where observed.

    ADMM on three terms of L: the nuclear norm, whose prox shrinks singular values; the l1 norm of X - L, a soft
    threshold; and the graph term, a sparse linear system. gamma = 0 is :func:`solve_rpca`.

    Parameters
    ----------
    X, weight, mask, callback
        As for :func:`solve_rpca`.
    L_samples
        (n, n) sparse graph Laplacian of the samples.
    gamma
        Weight of the graph term relative to the l1 norm, >= 0. The paper's is ``weight * gamma``; ours does not depend
        on the number of samples and features.
    tol, max_iter
        Relative primal and dual residuals to stop at, and iterations allowed. Values below 64 eps (8e-6 in single
        precision) mean 64 eps, since less cannot be reached.

    Examples
    --------
    >>> import numpy as np
    >>> from graphlowrank.graphs import path_graph
    >>> X = np.outer(np.ones(20), np.arange(1.0, 21.0))
    >>> X[3, 4] += 50
    >>> answer = solve_rpcag(X, path_graph(20).laplacian(), gamma=1.0)
    >>> answer.rank, round(float(answer.sparse[3, 4]))
    (1, 50)
    """
    X, mask, weight, largest = check_pursuit(X, mask, weight)
    check_laplacian(L_samples, len(X))
    if not 0 <= gamma < np.inf or not tol > 0 or max_iter < 1:
        raise ValueError(f"needs gamma >= 0, tol > 0, max_iter >= 1; got {gamma}, {tol} and {max_iter}.")
    if gamma == 0 or largest == 0:
        return solve_rpca(X, weight=weight, mask=mask, tol=min(tol, 1e-7), max_iter=max_iter, callback=callback)
    tol = max(tol, EPS_FLOOR * float(np.finfo(X.dtype).eps))
    # In units of the largest entry: the graph term grows with the square of X, the others with X.
    unit = X.dtype.type(largest)
    scaled = X / unit
    fit = DataFit(L1(), scaled, weight if mask is None else weight * mask.astype(X.dtype))
    L, strength = sp.csr_array(L_samples), weight * gamma * largest
    smooth = _GraphTerm(L.astype(X.dtype), min(strength, strongest_gamma(X, L)), tol)
    with single_threaded_libraries():
        nuclear, zero = NuclearNorm(min(X.shape), spectral_norm(scaled)), np.zeros_like(X)
        penalty = X.size / (4 * float(np.abs(scaled).sum()))  # Candès et al. (2011)
        found = admm(
            nuclear.prox,
            [fit.prox, smooth.prox],
            ADMMState(zero, (scaled, zero), (zero, zero), penalty),
            size=float(np.linalg.norm(scaled)),
            tol=tol,
            max_iter=max_iter,
            balance=True,
            exact=lambda: not nuclear.truncated,
            callback=callback,
        )
    sparse, dual = (scaled - found.copies[0]) * unit, found.duals[0] * X.dtype.type(-found.penalty)
    if mask is not None:
        sparse *= mask
        dual *= mask
    return LowRankPlusSparse(
        found.X * unit, sparse, dual, nuclear.rank, found.n_iter, converged=found.converged, residual=found.residual
    )


class _GraphTerm:
    """``gamma tr(W^T L W)``; its prox is a linear system, kept from call to call while the step is the same."""

    def __init__(self, L: sp.csr_array, gamma: float, tol: float) -> None:
        self.L, self.gamma, self.tol = L, gamma, max(1e-2 * tol, SMALLEST_TOLERANCE)
        self.step, self.system = 0.0, L
        self.last: Array | None = None

    def prox(self, V: Array, step: float) -> Array:
        """``(I + 2 gamma step L)^-1 V``, by conjugate gradients from the last answer."""
        if step != self.step:
            identity = sp.eye_array(len(V), dtype=V.dtype, format="csr")
            self.step, self.system = step, sp.csr_array(identity + 2 * self.gamma * step * self.L).astype(V.dtype)
        self.last = found = solve_spd(self.system, V, X0=self.last, tol=self.tol).X
        return found


def _minimize(problem: CompressedProblem, callback: Callback | None) -> Solution:
    if problem.L_samples is None:  # a single sample has no graph
        return minimize_compressed(problem, callback)
    return solve_rpcag(
        problem.X,
        problem.L_samples,
        gamma=problem.gammas[0],
        mask=problem.observed(),
        tol=problem.tol,
        max_iter=problem.max_iter,
        callback=callback,
    ).solution()


SOLVER = SmallSolver("rpcag", _minimize, "RPCAG", uses_sample_graph=True)
