"""Robust PCA, with or without a graph of the samples, as its estimators run it, given up after a while."""

from __future__ import annotations

import time
from typing import Any

from .._backend import Array
from ..estimators import RobustPCA, RobustPCAOnGraphs
from ..graphs import Graph
from ..models import LowRankPlusSparse, solve_rpca, solve_rpcag
from ..options import AUTO_GAMMAS, Settings
from ..preprocessing.standardize import deviation_unit


class OutOfTimeError(Exception):
    """A solver was given up."""

    def __init__(self, n_iter: int, limit: float) -> None:
        super().__init__(f"did not finish in {limit:g} s ({n_iter} iterations)")


def solve_robust(
    X: Array, graph: Graph | None, limit: float, *, gamma: float | None = None, **options: Any
) -> LowRankPlusSparse:
    """Split ``X`` into low-rank and sparse parts with the defaults of the estimators.

    Parameters
    ----------
    X
        (n_samples, n_features).
    graph
        Of the samples; None for robust PCA without one.
    limit
        Seconds, after which the next iteration raises OutOfTimeError.
    gamma
        Weight of the graph in the units of ``RobustPCAOnGraphs``; None for its default.
    **options
        Of the solver, such as ``max_iter``.
    """
    begin = time.perf_counter()

    def check(n_iter: int, residual: float) -> None:
        if time.perf_counter() - begin > limit:
            raise OutOfTimeError(n_iter, limit)

    model = RobustPCA() if graph is None else RobustPCAOnGraphs()
    options = {"tol": model.tol, "max_iter": model.max_iter, "callback": check, **options}
    if graph is None:
        return solve_rpca(X, **options)
    kind = Settings(laplacian=model.laplacian).laplacian_kind("combinatorial")
    weight = AUTO_GAMMAS[kind][0] if gamma is None else gamma
    unit = deviation_unit(X) or 1.0
    return solve_rpcag(X, graph.unit_laplacian(kind), gamma=weight / unit, **options)


def iterations(n_iter: int, *, converged: bool) -> dict[str, Any]:
    """Say how many were made, with a note where they were not enough."""
    note = {} if converged else {"note": f"not converged after {n_iter} iterations"}
    return {"iterations": int(n_iter), "converged": bool(converged), **note}
