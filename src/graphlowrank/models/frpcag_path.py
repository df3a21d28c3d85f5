"""FRPCAG on a small block for one pair of gammas after another: ADMM in the eigenvectors of both graphs.

FISTA's steps are as short as the gammas are large, and so it stops early where the gammas are large: from a solution
for other gammas it may not move at all. Here both graph terms are one division in the eigenvectors, found once for all
gammas, and the way to go is as long for large ones as for small ones. What is dense is cubic in the sides of the block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._backend import Array
from .._threads import single_threaded_libraries
from ..preprocessing.missing import column_median
from .losses import DataFit, make_loss

RELAXED = 1.6  # over-relaxation (Boyd et al. 2011, section 3.4.3)
PENALTY = 2.0  # of U != Z; the l1 loss then moves an entry by half a deviation of the data at a time


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues and eigenvectors of a Laplacian; no vectors where there is no graph, for the identity."""

    values: Array
    vectors: Array | None


def spectrum_of(L: Any, n_nodes: int, dtype: Any) -> Spectrum:
    """All eigenpairs of a sparse Laplacian, None for no graph."""
    if L is None:
        return Spectrum(np.zeros(n_nodes, dtype=dtype), None)
    with single_threaded_libraries():  # the same rounding whatever the number of threads
        values, vectors = np.linalg.eigh(L.toarray().astype(np.float64))
    return Spectrum(np.maximum(values, 0).astype(dtype), vectors.astype(dtype))


@dataclass(frozen=True, eq=False)
class Reached:
    """Where ADMM stands: the solution, and what it goes on from.

    Attributes
    ----------
    X
        The solution.
    split, dual
        Its copy that the loss sees, and the multiplier of their difference, scaled.
    n_iter
        Iterations of the last call.
    """

    X: Array
    split: Array
    dual: Array
    n_iter: int


class FRPCAGPath:
    """The problem of :func:`~graphlowrank.models.solve_frpcag` on one block, for any gammas.

    Parameters
    ----------
    X
        (n_samples, n_features) block in units of its deviation, NaN where an entry is missing.
    samples, features
        From :func:`spectrum_of`.
    start
        First guess; where it is NaN, the data, or the median of the feature where they are missing.
    loss, huber_delta
        "l1", "l2" or "huber".
    weights
        Of the entries, anything that broadcasts against X.
    """

    def __init__(
        self,
        X: Array,
        samples: Spectrum,
        features: Spectrum,
        start: Array,
        *,
        loss: str = "l1",
        huber_delta: float = 1.0,
        weights: Any = 1.0,
    ) -> None:
        missing = np.isnan(X)
        self.samples, self.features = samples, features
        filled = np.where(missing, column_median(X), X)
        self.fit = DataFit(make_loss(loss, huber_delta), filled, (weights * ~missing).astype(X.dtype))
        begin = np.where(np.isnan(start), filled, start).astype(X.dtype)
        self.reached = Reached(begin, begin, np.zeros_like(begin), 0)

    def solve(self, gammas: tuple[float, float], *, tol: float, max_iter: int, start: Reached | None = None) -> Reached:
        """Solution for a pair of gammas, to a change of ``tol`` deviations an entry.

        Parameters
        ----------
        gammas
            Weights of the sample and of the feature graph.
        tol
            Both the change of an iteration and the gap between the two copies are at most this, as root mean squares.
        max_iter
            Iterations allowed.
        start
            What another pair has reached; None for the first guess.
        """
        begin = self.reached if start is None else start
        Z, Y, U = begin.split, begin.dual, begin.X
        stiffness = gammas[0] * self.samples.values[:, None] + gammas[1] * self.features.values
        kept = (PENALTY / (PENALTY + 2 * stiffness)).astype(Z.dtype)
        size, n_iter, off = Z.size**0.5, 0, float("inf")
        with single_threaded_libraries():
            while n_iter < max_iter and not off < tol:
                U = self._filtered(Z - Y, kept)
                ahead = RELAXED * U + (1 - RELAXED) * Z + Y
                Z_next = self.fit.prox(ahead, 1 / PENALTY)
                Y = ahead - Z_next
                off = max(float(np.linalg.norm(U - Z_next)), float(np.linalg.norm(Z_next - Z))) / size
                Z, n_iter = Z_next, n_iter + 1
        return Reached(U, Z, Y, n_iter)

    def _filtered(self, X: Array, kept: Array) -> Array:
        """X with each product of eigenvectors damped to what is kept of it."""
        P, Q = self.samples.vectors, self.features.vectors
        X = X if P is None else P.T @ X
        X = (X if Q is None else X @ Q) * kept
        X = X if P is None else P @ X
        return X if Q is None else X @ Q.T
