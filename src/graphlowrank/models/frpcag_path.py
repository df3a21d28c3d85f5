"""FRPCAG on a small block for one pair of gammas after another: ADMM in the eigenvectors of both Laplacians.

FISTA's steps shrink as the gammas grow, so it may not move at all from the solution for other gammas. Here both graph
terms are one division in the eigenvectors, computed once for all gammas; that is cubic in the sides of the block.
"""

from typing import Any

import numpy as np

from .._typing import Array
from ..linalg.products import product
from ..solvers.admm import ADMMState, admm
from .losses import DataFit, make_loss
from .small_solver import CompressedProblem

PENALTY = 2.0  # of the constraint X = copy; one l1 prox step then moves an entry by at most 0.5
N_BLOCKS = 8  # of rows of a product, for as many threads; smaller blocks slow BLAS down


class FRPCAGPath:
    """The compressed problem for any gammas; those of ``problem`` are ignored.

    ``weights`` of the entries in the loss, which broadcast against X, take the place of those of samples and features.
    """

    def __init__(self, problem: CompressedProblem, weights: Any = 1.0) -> None:
        X = problem.X
        start = problem.complete_start().astype(X.dtype, copy=False)
        missing = np.isnan(X)
        weights = (weights * ~missing).astype(X.dtype)
        self.fit = DataFit(make_loss(problem.loss, problem.huber_delta), np.where(missing, start, X), weights)
        self.samples = _eigenpairs(problem.L_samples, X.shape[0], X.dtype)
        self.features = _eigenpairs(problem.L_features, X.shape[1], X.dtype)
        Q = self.features[1]
        self.features_transposed = None if Q is None else np.ascontiguousarray(Q.T)  # as BLAS is fastest
        self.start = ADMMState(start, (start,), (np.zeros_like(start),), PENALTY)

    def solve(
        self, gammas: tuple[float, float], *, tol: float, max_iter: int, start: ADMMState | None = None
    ) -> ADMMState:
        """Solution for the gammas of the sample-graph and the feature-graph term, from that for another pair.

        ``tol`` bounds the root mean square, over the entries, of the change of an iteration and of X minus its copy.
        """
        begin = self.start if start is None else start
        eigenvalues = gammas[0] * self.samples[0][:, None] + gammas[1] * self.features[0]
        response = (PENALTY / (PENALTY + 2 * eigenvalues)).astype(begin.X.dtype)
        return admm(
            lambda V, _: self._filter(V, response),
            [self.fit.prox],
            begin,
            size=begin.X.size**0.5,
            tol=tol,
            max_iter=max_iter,
        )

    def _filter(self, X: Array, response: Array) -> Array:
        """Multiply the coefficients of X in the products of eigenvectors by ``response``; products run in threads."""
        P, Q, Q_transposed = self.samples[1], self.features[1], self.features_transposed
        X = X if P is None else product(P.T, X, n_blocks=N_BLOCKS)
        X = (X if Q is None else product(X, Q, n_blocks=N_BLOCKS)) * response
        X = X if P is None else product(P, X, n_blocks=N_BLOCKS)
        return X if Q_transposed is None else product(X, Q_transposed, n_blocks=N_BLOCKS)


def _eigenpairs(L: Any, n_nodes: int, dtype: Any) -> tuple[Array, Array | None]:
    """Eigenvalues and eigenvectors of a sparse Laplacian; zeros, and None for the identity, without a graph."""
    if L is None:
        return np.zeros(n_nodes, dtype=dtype), None
    values, vectors = np.linalg.eigh(L.toarray().astype(np.float64))
    return np.maximum(values, 0).astype(dtype), vectors.astype(dtype)
