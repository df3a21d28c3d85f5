"""The problem on the compressed matrix, and what makes a model a solver of it.

Such a model defines ``SOLVER = SmallSolver(...)`` and is listed in ``SOLVERS`` of :mod:`graphlowrank.models`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._backend import namespace
from .._typing import Array
from ..preprocessing.missing import column_median
from ..solvers.fista import Callback
from ..solvers.solution import Solution


@dataclass(frozen=True, eq=False)
class CompressedProblem:
    """Data, Laplacians and options of a recovery problem on the compressed matrix.

    Attributes
    ----------
    X
        (m_samples, m_features) sampled entries, standardized; NaN where missing.
    L_samples, L_features, gammas
        Laplacians of the reduced graphs, None for no graph, and the weights of their two terms.
    loss, huber_delta, sample_weights, feature_weights, X0, tol, max_iter, size, tighten_tol
        As for :func:`~graphlowrank.models.solve_frpcag`.
    plain
        Whether FISTA runs as the paper prints it: no restarts, and steps from the spectral norms themselves.
    """

    X: Array
    L_samples: sp.csr_array | None = None
    L_features: sp.csr_array | None = None
    gammas: tuple[float, float] = (0.0, 0.0)
    loss: str = "l1"
    huber_delta: float = 1.0
    sample_weights: Array | None = None
    feature_weights: Array | None = None
    X0: Array | None = None
    tol: float = 1e-3
    max_iter: int = 1000
    size: float | None = None
    tighten_tol: bool = False
    plain: bool = False

    def observed(self) -> Array | None:
        """Mask (m_samples, m_features) of the observed entries; None if none is missing."""
        xp = namespace(self.X)
        missing = xp.isnan(self.X)
        return ~missing if xp.any(missing) else None

    def complete_start(self) -> Array:
        """Return the initial guess without NaN: X0, or X, or the median of the feature where neither has a value."""
        X, X0 = self.X, self.X if self.X0 is None else self.X0
        observed = self.observed()
        if observed is None:
            return X0
        if not observed.any():
            raise ValueError("every entry of X is missing.")
        if not np.isnan(X0).any():
            return X0
        return np.where(np.isnan(X0), np.where(observed, X, column_median(X)), X0)


@dataclass(frozen=True)
class SmallSolver:
    """A solver of the compressed problem.

    Attributes
    ----------
    name
        Value of the option ``solver``.
    minimize
        Function of a :class:`CompressedProblem` and a callback, called with (iteration, relative change or residual).
    title, remedy
        Name of the model, and what to do if it does not converge, in messages.
    uses_sample_graph, uses_feature_graph, takes_weights, takes_loss
        Whether the model has a term for the graph, sample and feature weights in its loss, and the loss of the options.
    """

    name: str
    minimize: Callable[[CompressedProblem, Callback | None], Solution]
    title: str
    uses_sample_graph: bool = False
    uses_feature_graph: bool = False
    takes_weights: bool = False
    takes_loss: bool = False
    remedy: str = "raise max_iter or tol"

    def solve(self, problem: CompressedProblem, callback: Callback | None = None) -> Solution:
        """Low-rank part of ``problem.X``; a ConvergenceWarning if the iterations run out."""
        return self.minimize(problem, callback).warn_unless_converged(self.title, self.remedy)
