"""Robust PCA on Graphs (Shahid, Kalofolias, Bresson, Bronstein, Vandergheynst, 2015)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backend import Array
from .._threads import single_threaded_libraries
from ..linalg.shrinkage import Shrinkage, spectral_norm
from ..solvers.fista import Callback
from ..solvers.spd import solve_spd
from .rpca import LowRankPlusSparse, check_pursuit, solve_rpca

RELAXATION = 1.6  # between 1 and 2; overshooting by 0.6 takes a third fewer steps
BALANCED_EVERY, BALANCED_UNTIL = 10, 300  # iterations; a penalty that changed for ever might never converge
UNBALANCED = 4.0  # ratio of the two residuals that changes the penalty
EPS_FLOOR = 64
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

    Alternating directions between L on one side and S with a smooth copy W of L on the other: the shrinkage of singular
    values, the soft threshold and a sparse linear system, each solved by itself. gamma = 0 is :func:`solve_rpca`.

    Parameters
    ----------
    X
        (n, p) data, finite where observed; not written to.
    L_samples
        (n, n) sparse graph Laplacian of the samples.
    gamma
        Weight of the graph beside the errors, >= 0. The paper's is ``weight * gamma``; in ours a good gamma does not
        depend on the number of samples and features.
    weight, mask
        As for :func:`solve_rpca`.
    tol
        Relative residuals to stop at, of the constraints (L + S = X, W = L) and of optimality. Values below 64 eps
        (8e-6 in single precision) mean 64 eps: less cannot be reached.
    max_iter
        Iterations allowed.
    callback
        Called with (iteration, residual).

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
    if L_samples.shape != (len(X), len(X)):
        raise ValueError(f"L_samples must be {(len(X), len(X))} for X {X.shape}, got {L_samples.shape}.")
    if not 0 <= gamma < np.inf or not tol > 0 or max_iter < 1:
        raise ValueError(f"needs gamma >= 0, tol > 0, max_iter >= 1; got {gamma}, {tol} and {max_iter}.")
    if gamma == 0 or largest == 0:
        return solve_rpca(X, weight=weight, mask=mask, tol=min(tol, 1e-7), max_iter=max_iter, callback=callback)
    tol = max(tol, EPS_FLOOR * float(np.finfo(X.dtype).eps))
    # In units of the largest entry: the graph term grows with the square of X, the others with X.
    scaled, pull = X / X.dtype.type(largest), weight * gamma * largest
    residual, n_iter = np.inf, 0
    with single_threaded_libraries():
        state = _Directions(scaled, mask, weight, pull, sp.csr_array(L_samples), tol)
        while n_iter < max_iter and not residual <= tol:
            residual, n_iter = state.advance(), n_iter + 1
            if callback is not None:
                callback(n_iter, residual)
            if n_iter % BALANCED_EVERY == 0 and n_iter <= BALANCED_UNTIL and residual > tol:
                state.balance()
    low_rank, sparse, dual = state.parts(X.dtype.type(largest))
    return LowRankPlusSparse(low_rank, sparse, dual, state.rank, n_iter, converged=residual <= tol, residual=residual)


class _Directions:
    """The iterates.

    With penalty mu and multipliers ``mu E`` of L + S = X and ``mu F`` of W = L, a step is ::

        L = shrink((X - S + E + W + F) / 2, 1 / (2 mu))        singular values
        S = soft(X - L + E, weight / mu)                       entries, free where X is not observed
        W = (I + 2 pull / mu L_samples)^-1 (L - F)             columns
        E = E + X - L - S,  F = F + W - L

    with L over-relaxed in the last three. Two blocks, L and (S, W), so it converges for any mu.
    """

    def __init__(self, X: Array, mask: Array | None, weight: float, pull: float, L_samples: Any, tol: float) -> None:
        self.X, self.mask, self.weight, self.pull = X, mask, weight, pull
        self.L_samples = L_samples.astype(X.dtype)
        self.size = float(np.linalg.norm(X))
        self.spectral = spectral_norm(X)
        self.inner_tol = max(1e-2 * tol, SMALLEST_TOLERANCE)
        self._set_penalty(X.size / (4 * float(np.abs(X).sum())))  # Candès et al. (2011)
        self.low, self.sparse, self.smooth = np.zeros_like(X), np.zeros_like(X), np.zeros_like(X)
        self.E, self.F = np.zeros_like(X), np.zeros_like(X)
        self.shrinkage = Shrinkage(min(X.shape))
        self.rank, self.primal, self.dual_residual = 0, np.inf, np.inf

    def advance(self) -> float:
        """One iteration; return the larger of the relative residuals."""
        target = self.X - self.sparse
        target += self.E
        target += self.smooth
        target += self.F
        target *= 0.5
        self.rank, truncated = self.shrinkage(target, 1 / (2 * self.mu), self.spectral, out=self.low)
        fitted = RELAXATION * self.low + (1 - RELAXATION) * (self.X - self.sparse)
        close = RELAXATION * self.low + (1 - RELAXATION) * self.smooth
        sparse, smooth = self._errors(fitted), self._smoothed(close)
        self.E += self.X - fitted - sparse
        if self.mask is not None:
            self.E *= self.mask
        self.F += smooth - close
        moved = np.linalg.norm(sparse - self.sparse) + np.linalg.norm(smooth - self.smooth)
        self.sparse, self.smooth = sparse, smooth
        apart = np.linalg.norm(self.X - self.low - sparse) + np.linalg.norm(self.low - smooth)
        self.primal = float(apart) / self.size
        self.dual_residual = float(moved) / self.size
        return np.inf if truncated else max(self.primal, self.dual_residual)

    def _errors(self, low: Array) -> Array:
        """Soft threshold of what ``low`` leaves; all of it where X is not observed."""
        left = self.X - low
        left += self.E
        bound = left.dtype.type(self.weight / self.mu)
        errors = left - np.clip(left, -bound, bound)
        return errors if self.mask is None else np.where(self.mask, errors, left)

    def _smoothed(self, close: Array) -> Array:
        """Minimiser of ``pull tr(W^T L W) + mu / 2 ||W - close + F||^2``."""
        return solve_spd(self.system, close - self.F, X0=self.smooth, tol=self.inner_tol).X

    def _set_penalty(self, mu: float) -> None:
        """Take a penalty, and make the system of the smooth copy that goes with it."""
        self.mu, factor = mu, 2 * self.pull / mu
        identity = sp.eye_array(len(self.X), dtype=self.X.dtype, format="csr")
        self.system = sp.csr_array(identity + factor * self.L_samples).astype(self.X.dtype)

    def balance(self) -> None:
        """Raise the penalty where the constraints lag behind, lower it where the answer still moves."""
        ratio = self.primal / max(self.dual_residual, np.finfo(np.float64).tiny)
        factor = 2.0 if ratio > UNBALANCED else 0.5 if ratio < 1 / UNBALANCED else 1.0
        if factor == 1:
            return
        self._set_penalty(self.mu * factor)
        self.E /= self.X.dtype.type(factor)
        self.F /= self.X.dtype.type(factor)

    def parts(self, unit: float) -> tuple[Array, Array, Array]:
        """L, S and the multiplier of ``L + S = X``, in the units of the data."""
        sparse = self.sparse * unit
        if self.mask is not None:
            sparse *= self.mask
        return self.low * unit, sparse, self.E * self.X.dtype.type(self.mu)
