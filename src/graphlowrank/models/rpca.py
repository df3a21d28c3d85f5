"""Robust PCA (principal component pursuit): the well-known convex model without graphs, to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._backend import Array
from .._threads import map_ranges, single_threaded_libraries
from ..linalg.shrinkage import Shrinkage, spectral_norm
from ..solvers.fista import Callback
from ..solvers.solution import Iterated, Solution
from .checks import as_real, check_mask, largest_entry
from .small_solver import CompressedProblem, SmallSolver

GROWTH = 0.5  # of the penalty in an iteration
LARGEST_PENALTY = 1e7  # of the first one
EPS_FLOOR = 8  # residuals below 8 eps are rounding
COMPRESSED_TOL = 1e-2  # of the problem's tol: FISTA compares the change of an iteration, RPCA the residual X - L - S
BLOCK = 1 << 15  # entries worked on at a time, so that they stay in cache


@dataclass(frozen=True, eq=False)
class LowRankPlusSparse(Iterated):
    """Answer of :func:`solve_rpca` and :func:`solve_rpcag`.

    Attributes
    ----------
    low_rank, sparse
        (n, p) parts. Zeros of the sparse part are exact.
    dual
        (n, p) multiplier Y of ``L + S = X``: at the optimum a subgradient of the errors' term, and of the nuclear norm
        plus the graph's term.
    rank
        Rank of ``low_rank``.
    n_iter, converged
        Iterations made, and whether the stopping rule was met.
    residual
        What the stopping rule looks at: ``||X - L - S||_F / ||X||_F``, or where there is a graph the larger of the
        residuals of the constraints and of optimality.
    """

    low_rank: Array
    sparse: Array
    dual: Array
    rank: int
    n_iter: int
    converged: bool
    residual: float

    def solution(self) -> Solution:
        """Return the low-rank part alone."""
        return Solution(self.low_rank, self.n_iter, converged=self.converged, residual=self.residual)


def solve_rpca(
    X: Array,
    *,
    weight: float | None = None,
    mask: Array | None = None,
    tol: float = 1e-7,
    max_iter: int = 1000,
    growth: float | None = None,
    callback: Callback | None = None,
) -> LowRankPlusSparse:
    """``argmin_{L, S} ||L||_* + weight ||S||_1`` subject to ``L + S = X`` on the observed entries.

    Inexact augmented Lagrange multipliers (Lin, Chen and Ma 2010), in the precision of X.

    Parameters
    ----------
    X
        (n, p) data, finite where observed; not written to.
    weight
        Price of an entry of S, > 0; None takes ``1 / sqrt(observed max(n, p))``, the choice of Candès et al. (2011),
        where ``observed`` is the share of entries that are.
    mask
        (n, p) booleans, True where X is observed; None for everywhere. S is zero elsewhere, and L is free.
    tol
        Relative residual to stop at. Values below 8 eps (1e-6 in single precision) mean 8 eps: less cannot be measured.
    max_iter
        Iterations allowed.
    growth
        Factor, > 1, by which the penalty grows. A smaller one is slower and comes nearer to the optimum, which the
        residual does not speak of. None takes 1.5, and less the fewer entries are observed: unseen ones are filled in
        step by step, and a penalty that grows too soon stops them half way.
    callback
        Called with (iteration, residual).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.outer(np.ones(20), np.arange(1.0, 21.0))
    >>> X[3, 4] += 50
    >>> answer = solve_rpca(X)
    >>> answer.rank, np.argwhere(answer.sparse).tolist(), round(float(answer.sparse[3, 4]), 3)
    (1, [[3, 4]], 50.0)
    """
    X, mask, weight, largest = check_pursuit(X, mask, weight)
    growth = 1 + GROWTH * _observed(mask) ** 2 if growth is None else growth
    if not tol >= 0 or max_iter < 1 or not growth > 1:
        raise ValueError(f"needs tol >= 0, max_iter >= 1, growth > 1; got {tol}, {max_iter} and {growth}.")
    if largest == 0:
        return LowRankPlusSparse(X.copy(), X.copy(), X.copy(), 0, 0, converged=True, residual=0.0)
    unit = largest if not 1e-12 < largest < 1e12 else 1.0  # so that squares neither overflow nor vanish
    scaled = X if unit == 1 else X / X.dtype.type(unit)
    tol = max(tol, EPS_FLOOR * float(np.finfo(X.dtype).eps))
    residual, n_iter, converged = np.inf, 0, False
    with single_threaded_libraries():
        found = _Multipliers(scaled, mask, weight, largest / unit, growth)
        while n_iter < max_iter and not converged:
            residual, n_iter = found.advance(), n_iter + 1
            converged = residual < tol and not found.truncated
            if callback is not None:
                callback(n_iter, residual)
    low_rank, sparse, dual = found.parts()
    if unit != 1:
        low_rank *= unit
        sparse *= unit
    return LowRankPlusSparse(low_rank, sparse, dual, found.rank, n_iter, converged=converged, residual=residual)


def check_pursuit(X: Any, mask: Any, weight: float | None) -> tuple[Array, Array | None, float, float]:
    """``X`` as a contiguous matrix of single or double precision, zero where not observed; mask; weight; largest |X|.

    A weight of None becomes the one of Candès et al. (2011).
    """
    X = as_real(X)
    mask = check_mask(mask, X.shape)
    if mask is not None:
        X = np.where(mask, X, X.dtype.type(0))
    largest = largest_entry(X)
    weight = 1 / float(np.sqrt(_observed(mask) * max(X.shape))) if weight is None else float(weight)
    if not 0 < weight < np.inf:
        raise ValueError(f"weight must be positive, got {weight}.")
    return X, mask, weight, largest


def _observed(mask: Array | None) -> float:
    """Share of the entries that are observed."""
    return 1.0 if mask is None else float(mask.mean())


class _Multipliers:
    """The iterates, in four arrays of the size of X that are overwritten in place.

    With penalty mu and ``E = Y / mu``, a step is ::

        L = shrink(X - S + E, 1 / mu)           singular values
        S = soft(X - L + E, weight / mu)        entries
        E = E + X - L - S                       = clip(X - L + E, +-weight / mu)

    so the new E alone tells S, and its change is the residual. Where X is not observed S costs nothing, so it makes up
    for L and E stays zero.
    """

    def __init__(self, X: Array, mask: Array | None, weight: float, largest: float, growth: float) -> None:
        self.X, self.mask, self.weight, self.growth = X, mask, weight, growth
        self.size = float(np.linalg.norm(X))
        self.spectral = spectral_norm(X)
        self.mu = 1.25 / self.spectral
        self.largest_mu = LARGEST_PENALTY * self.mu
        dual_norm = max(self.spectral, largest / weight)
        self.E = X * X.dtype.type(1 / (dual_norm * self.mu))
        bound = weight / self.mu
        self.M = np.clip(X + self.E, -bound, bound)  # X - S + E for S = soft(X + E)
        self.low = np.zeros_like(X)
        self.squares = np.zeros(-(-X.size // BLOCK))
        self.shrinkage = Shrinkage(min(X.shape))
        self.rank, self.truncated, self.edge = 0, False, 0.0

    def advance(self) -> float:
        """One iteration; return the relative residual."""
        self.rank, self.truncated = self.shrinkage(self.M, 1 / self.mu, self.spectral, out=self.low)
        bound, mu = self.weight / self.mu, self.mu
        self.mu = min(self.growth * mu, self.largest_mu)
        carry = mu / self.mu
        self.edge = self.X.dtype.type(bound) * self.X.dtype.type(carry)  # |E| where S is not zero
        observed = None if self.mask is None else self.mask.reshape(-1)
        map_ranges(
            _advance_entries, len(self.squares),
            *(A.reshape(-1) for A in (self.X, self.low, self.E, self.M)), observed, bound, carry, self.squares,
        )  # fmt: skip
        return float(np.sqrt(self.squares.sum())) / self.size

    def parts(self) -> tuple[Array, Array, Array]:
        """L, S and Y. The iterates end here: S takes the memory of M, Y that of E."""
        sparse = np.subtract(self.X, self.M, out=self.M)
        sparse += self.E
        sparse[np.abs(self.E) < self.edge] = 0
        if self.mask is not None:
            sparse *= self.mask
        self.E *= self.X.dtype.type(self.mu)
        return self.low, sparse, self.E


def _advance_entries(
    start: int,
    stop: int,
    X: Array,
    low: Array,
    E: Array,
    M: Array,
    observed: Array | None,
    bound: float,
    carry: float,
    squares: Array,
) -> None:
    """Update of E (for the next penalty), of ``M = X - S + E`` and of the squared residual, block by block."""
    buffer = np.empty(BLOCK, dtype=X.dtype)
    for block in range(start, stop):
        part = slice(block * BLOCK, (block + 1) * BLOCK)
        x, low_rank, e, m = X[part], low[part], E[part], M[part]
        clipped = buffer[: len(x)]
        np.add(x, e, out=clipped)
        clipped -= low_rank
        np.clip(clipped, -bound, bound, out=clipped)
        if observed is not None:
            clipped *= observed[part]
        np.subtract(clipped, e, out=m)  # X - L - S
        squares[block] = np.einsum("i,i->", m, m)  # not by BLAS, whose threads would compete with ours
        np.multiply(clipped, carry, out=e)
        m += low_rank
        m += e


def minimize_compressed(problem: CompressedProblem, callback: Callback | None) -> Solution:
    """RPCA of the compressed matrix."""
    options: dict[str, Any] = {"tol": COMPRESSED_TOL * problem.tol, "max_iter": problem.max_iter}
    return solve_rpca(problem.X, mask=problem.observed(), callback=callback, **options).solution()


SOLVER = SmallSolver("rpca", minimize_compressed, "RPCA")
