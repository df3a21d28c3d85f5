"""The optimisation problem on the compressed matrix, by the solver that the settings name."""

from __future__ import annotations

from .decoders import Side
from .graphs import Graph
from .graphs.laplacian import LaplacianKind
from .models import LowRankPlusSparse, solve_frpcag, solve_rpca, solve_rpcag
from .settings import Settings
from .solution import Solution
from .solvers.fista import Callback
from .standardise import Block

PURSUIT_TOL = 1e-2  # of ``tol``: FISTA looks at its change, the pursuits at what is missing of the data


def solve_small(
    block: Block,
    graphs: tuple[Graph | None, Graph | None],
    sides: tuple[Side, Side],
    settings: Settings,
    laplacian: LaplacianKind,
    callback: Callback,
) -> Solution:
    """Low-rank part of the block, in its units.

    Parameters
    ----------
    block
        The compressed matrix.
    graphs
        Reduced graphs of the samples and of the features; None where there is none.
    sides
        Samples and features, with their importance weights.
    settings, laplacian
        What to solve; RPCA looks at no graph, RPCAG at that of the samples, FRPCAG at both.
    callback
        Called with (iteration, residual).
    """
    gamma_samples, gamma_features = settings.gammas(laplacian)
    L_samples, L_features = (graph and graph.unit_laplacian(laplacian) for graph in graphs)
    if settings.solver == "frpcag":
        return solve_frpcag(
            block.X,
            L_samples,
            L_features,
            gamma_samples=gamma_samples,
            gamma_features=gamma_features,
            loss=settings.loss,
            huber_delta=settings.huber_delta,
            sample_weights=sides[0].weights,
            feature_weights=sides[1].weights,
            X0=block.start(),
            tol=settings.tol,
            max_iter=settings.max_iter,
            size=block.X.size**0.5,  # deviations of one unit: the levels of features must not end the iterations
            callback=callback,
        ).warn_unless_converged("FRPCAG", "raise max_iter or tol, or lower the gammas")
    tol = PURSUIT_TOL * settings.tol
    if settings.solver == "rpca" or L_samples is None:  # one sample has no neighbours
        return _low_rank(solve_rpca(block.X, tol=tol, max_iter=settings.max_iter, callback=callback), "RPCA")
    found = solve_rpcag(
        block.X, L_samples, gamma=gamma_samples, tol=settings.tol, max_iter=settings.max_iter, callback=callback
    )
    return _low_rank(found, "RPCAG")


def _low_rank(found: LowRankPlusSparse, name: str) -> Solution:
    found.warn_unless_converged(name, "raise max_iter or tol")
    return Solution(found.low_rank, found.n_iter, converged=found.converged, residual=found.residual)
