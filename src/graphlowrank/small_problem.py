"""The optimisation problem on the compressed matrix, by the solver that the settings name."""

from __future__ import annotations

from dataclasses import dataclass

from ._backend import Array
from .decoders import Side
from .graphs import Graph
from .graphs.laplacian import LaplacianKind
from .models import LowRankPlusSparse, solve_frpcag, solve_rpca, solve_rpcag
from .settings import Settings
from .solution import Solution
from .solvers.fista import Callback
from .standardise import Block

PURSUIT_TOL = 1e-2  # of ``tol``: FISTA looks at its change, the pursuits at what is missing of the data


@dataclass(frozen=True, eq=False)
class SmallProblem:
    """The compressed matrix with its graphs.

    Attributes
    ----------
    block
        Sampled entries, in units of their own.
    samples, features
        Graphs of all samples and all features, with the kept ones and their importance weights.
    small_samples, small_features
        Graphs of the kept ones; None where there is none.
    laplacian
        Which Laplacian the model has.
    """

    block: Block
    samples: Side
    features: Side
    small_samples: Graph | None
    small_features: Graph | None
    laplacian: LaplacianKind

    def solve(
        self, settings: Settings, gammas: tuple[float, float], callback: Callback, start: Array | None = None
    ) -> Solution:
        """Low-rank part of the block, in its units.

        Parameters
        ----------
        settings
            What to solve; RPCA looks at no graph, RPCAG at that of the samples, FRPCAG at both.
        gammas
            Weights of the sample and of the feature graph.
        callback
            Called with (iteration, residual).
        start
            First guess for FRPCAG; None for the data.
        """
        gamma_samples, gamma_features = gammas
        L_samples, L_features = (
            graph and graph.unit_laplacian(self.laplacian) for graph in (self.small_samples, self.small_features)
        )
        if settings.solver == "frpcag":
            return solve_frpcag(
                self.block.X,
                L_samples,
                L_features,
                gamma_samples=gamma_samples,
                gamma_features=gamma_features,
                loss=settings.loss,
                huber_delta=settings.huber_delta,
                sample_weights=self.samples.weights,
                feature_weights=self.features.weights,
                X0=self.block.start() if start is None else start,
                tol=settings.tol,
                max_iter=settings.max_iter,
                # Deviations of one unit: the levels of features must not end the iterations.
                size=self.block.X.size**0.5,
                callback=callback,
            ).warn_unless_converged("FRPCAG", "raise max_iter or tol, or lower the gammas")
        X, tol = self.block.X, PURSUIT_TOL * settings.tol
        if settings.solver == "rpca" or L_samples is None:  # one sample has no neighbours
            return _low_rank(solve_rpca(X, tol=tol, max_iter=settings.max_iter, callback=callback), "RPCA")
        found = solve_rpcag(
            X, L_samples, gamma=gamma_samples, tol=settings.tol, max_iter=settings.max_iter, callback=callback
        )
        return _low_rank(found, "RPCAG")


def _low_rank(found: LowRankPlusSparse, name: str) -> Solution:
    found.warn_unless_converged(name, "raise max_iter or tol")
    return Solution(found.low_rank, found.n_iter, converged=found.converged, residual=found.residual)
