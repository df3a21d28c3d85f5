"""Inexact augmented Lagrange multipliers for robust PCA (Lin, Chen and Ma 2010)."""

import numpy as np

from .._threads import map_ranges, single_threaded_libraries
from .._typing import Array
from ..linalg.shrinkage import NuclearNorm, spectral_norm
from .fista import Callback
from .solution import LowRankPlusSparse

MAX_PENALTY = 1e7  # times the first one
BLOCK = 1 << 15  # entries processed together, so that they stay in the cache


def inexact_alm(
    X: Array,
    mask: Array | None,
    *,
    weight: float,
    largest: float,
    growth: float,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> LowRankPlusSparse:
    """``argmin_{L, S} ||L||_* + weight ||S||_1`` subject to ``L + S = X`` where ``mask`` is True or None.

    X must be 0 elsewhere; ``largest`` is its largest absolute value, and ``growth`` > 1 the factor of the penalty per
    iteration. Stops when ``||X - L - S||_F < tol ||X||_F`` and no singular value may be lacking.
    """
    residual, n_iter, converged = np.inf, 0, False
    with single_threaded_libraries():
        state = InexactALM(X, mask, weight, largest, growth)
        while n_iter < max_iter and not converged:
            residual, n_iter = state.advance(), n_iter + 1
            converged = residual < tol and not state.nuclear.truncated
            if callback is not None:
                callback(n_iter, residual)
    return LowRankPlusSparse(*state.parts(), state.nuclear.rank, n_iter, converged=converged, residual=residual)


class InexactALM:
    """Iterates, in four arrays of the size of X that are overwritten in place.

    With penalty mu and ``E = Y / mu``, a step is ::

        L = shrink(X - S + E, 1 / mu)           singular values
        S = soft(X - L + E, weight / mu)        entries
        E = E + X - L - S                       = clip(X - L + E, +-weight / mu)

    so E determines S, and its change is the residual. Where X is not observed, S costs nothing: it equals X - L there,
    and E stays zero.
    """

    def __init__(self, X: Array, mask: Array | None, weight: float, largest: float, growth: float) -> None:
        self.X, self.mask, self.weight, self.growth = X, mask, weight, growth
        self.size = float(np.linalg.norm(X))
        self.nuclear = NuclearNorm(min(X.shape), spectral_norm(X))
        self.mu = 1.25 / self.nuclear.spectral
        self.largest_mu = MAX_PENALTY * self.mu
        dual_norm = max(self.nuclear.spectral, largest / weight)
        self.E = X * X.dtype.type(1 / (dual_norm * self.mu))
        bound = weight / self.mu
        self.M = np.clip(X + self.E, -bound, bound)  # X - S + E for S = soft(X + E)
        self.low = np.zeros_like(X)
        self.squares = np.zeros(-(-X.size // BLOCK))
        self.bound = 0.0

    def advance(self) -> float:
        """One iteration; return the relative residual."""
        self.nuclear.prox(self.M, 1 / self.mu, out=self.low)
        bound, mu = self.weight / self.mu, self.mu
        self.mu = min(self.growth * mu, self.largest_mu)
        carry = mu / self.mu
        self.bound = self.X.dtype.type(bound) * self.X.dtype.type(carry)  # |E| where S is not zero
        map_ranges(self._advance_blocks, len(self.squares), bound, carry)
        return float(np.sqrt(self.squares.sum())) / self.size

    def _advance_blocks(self, start: int, stop: int, bound: float, carry: float) -> None:
        """Update E (for the next penalty), ``M = X - S + E`` and the squared residual, block by block."""
        X, low, E, M = (A.reshape(-1) for A in (self.X, self.low, self.E, self.M))
        observed = None if self.mask is None else self.mask.reshape(-1)
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
            self.squares[block] = np.einsum("i,i->", m, m)  # not BLAS, whose threads would compete with ours
            np.multiply(clipped, carry, out=e)
            m += low_rank
            m += e

    def parts(self) -> tuple[Array, Array, Array]:
        """L, S and the multiplier. Ends the iteration: S takes the memory of M, the multiplier that of E."""
        sparse = np.subtract(self.X, self.M, out=self.M)
        sparse += self.E
        sparse[np.abs(self.E) < self.bound] = 0
        if self.mask is not None:
            sparse *= self.mask
        self.E *= self.X.dtype.type(self.mu)
        return self.low, sparse, self.E
