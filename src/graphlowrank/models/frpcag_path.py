"""FRPCAG on a small block for one pair of gammas after another: ADMM in the eigenvectors of both Laplacians.

FISTA's steps shrink as the gammas grow, so it may not move at all from the solution for other gammas. Here both graph
terms are one division in the eigenvectors, computed once for all gammas; that is cubic in the sides of the block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._backend import Array
from .._threads import single_threaded_libraries
from ..preprocessing.missing import column_median
from ..solvers.admm import ADMMState, admm
from .losses import DataFit, make_loss

PENALTY = 2.0  # of the constraint X = copy; one l1 prox step then moves an entry by at most 0.5


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues and eigenvectors of a Laplacian; None for the identity, where there is no graph."""

    values: Array
    vectors: Array | None


def spectrum_of(L: Any, n_nodes: int, dtype: Any) -> Spectrum:
    """All eigenpairs of a sparse Laplacian; None for no graph."""
    if L is None:
        return Spectrum(np.zeros(n_nodes, dtype=dtype), None)
    with single_threaded_libraries():  # the same rounding for any number of threads
        values, vectors = np.linalg.eigh(L.toarray().astype(np.float64))
    return Spectrum(np.maximum(values, 0).astype(dtype), vectors.astype(dtype))


class FRPCAGPath:
    """The problem of :func:`~graphlowrank.models.solve_frpcag` on one block X, NaN where missing, for any gammas.

    NaN of the initial guess ``start`` is replaced by the data, or by the feature median if the data are missing too.
    ``weights`` of the entries in the loss broadcast against X.
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
        imputed = np.where(missing, column_median(X), X)
        self.fit = DataFit(make_loss(loss, huber_delta), imputed, (weights * ~missing).astype(X.dtype))
        start = np.where(np.isnan(start), imputed, start).astype(X.dtype)
        self.start = ADMMState(start, (start,), (np.zeros_like(start),), PENALTY)

    def solve(
        self, gammas: tuple[float, float], *, tol: float, max_iter: int, start: ADMMState | None = None
    ) -> ADMMState:
        """Solution for the gammas of the sample-graph and the feature-graph term, from that for another pair.

        ``tol`` bounds the root mean square, over the entries, of the change of an iteration and of X minus its copy.
        """
        begin = self.start if start is None else start
        eigenvalues = gammas[0] * self.samples.values[:, None] + gammas[1] * self.features.values
        response = (PENALTY / (PENALTY + 2 * eigenvalues)).astype(begin.X.dtype)
        with single_threaded_libraries():
            return admm(
                lambda V, _: self._filter(V, response),
                [self.fit.prox],
                begin,
                size=begin.X.size**0.5,
                tol=tol,
                max_iter=max_iter,
            )

    def _filter(self, X: Array, response: Array) -> Array:
        """Multiply the coefficients of X in the products of eigenvectors by ``response``."""
        P, Q = self.samples.vectors, self.features.vectors
        X = X if P is None else P.T @ X
        X = (X if Q is None else X @ Q) * response
        X = X if P is None else P @ X
        return X if Q is None else X @ Q.T
