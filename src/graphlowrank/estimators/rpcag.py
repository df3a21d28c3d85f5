"""Robust PCA on a graph of the samples."""

from __future__ import annotations

from typing import Any, Self

from numpy.random import RandomState

from .._progress import Progress
from ..graphs import Graph
from ..models import LowRankPlusSparse, solve_rpca, solve_rpcag
from ..options import AUTO_GAMMAS
from ..preprocessing.standardize import deviation_unit
from ..two_graphs import sample_side
from ._base import check_number
from .rpca import REMEDY, RobustPCA


class RobustPCAOnGraphs(RobustPCA):
    """``min ||L||_* + weight (||S||_1 + gamma tr(L^T L_s L))`` subject to ``L + S = X`` (RPCAG, Shahid et al. 2015).

    Parameters
    ----------
    n_components, weight
        As in :class:`RobustPCA`.
    gamma
        Weight of the sample graph beside the errors, in the units of ``gamma_samples`` of
        :class:`FastRobustPCAOnGraphs`: data are divided by their deviation, the Laplacian by its mean diagonal. The
        paper's is ``weight * gamma``.
    n_neighbors, sample_graph, neighbors, laplacian
        As in :class:`CompressivePCA`.
    tol
        Relative residuals to stop at, of the constraints and of optimality.
    max_iter, n_jobs, random_state, verbose
        As in :class:`CompressivePCA`.

    Attributes
    ----------
    low_rank_, sparse_, rank_, components_, singular_values_, n_components_, offset_
        As in :class:`RobustPCA`.
    scale_, n_iter_, converged_, sample_graph_, stage_seconds_
        What was chosen, done and used.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from graphlowrank import RobustPCAOnGraphs
    >>> RobustPCAOnGraphs().fit(load_digits().data[:200]).low_rank_.shape
    (200, 64)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        weight: float | None = None,
        gamma: Any = "auto",
        n_neighbors: int = 10,
        sample_graph: Any = "knn",
        neighbors: str = "auto",
        laplacian: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.weight = weight
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.sample_graph = sample_graph
        self.neighbors = neighbors
        self.laplacian = laplacian
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, mask: Any = None) -> Self:
        """Split ``X`` (n_samples, n_features); ``y`` is ignored.

        Entries that are NaN, or where ``mask`` (n_samples, n_features) is not True, are missing; they are filled in,
        and neighbours are told with guesses in their place.
        """
        settings = self._settings()
        kind = settings.laplacian_kind("combinatorial")
        gamma = AUTO_GAMMAS[kind][0] if isinstance(self.gamma, str) and self.gamma == "auto" else self.gamma
        check_number(gamma, "gamma")
        X, mask = self._check_split(X, mask, settings)
        # The graph term grows with the square of the data, the others with the data: gamma needs a unit.
        self.scale_ = deviation_unit(X) or 1.0

        def work(rng: RandomState, progress: Progress) -> tuple[Graph | None, LowRankPlusSparse]:
            with progress.stage("sample graph"):
                graph = sample_side(X, settings, rng).graph
            with progress.stage("rpcag") as update:
                options: dict[str, Any] = {"weight": self.weight, "mask": mask, "tol": self.tol}
                options |= {"max_iter": self.max_iter, "callback": update}
                found = (
                    solve_rpca(X, **options)
                    if graph is None
                    else solve_rpcag(X, graph.unit_laplacian(kind), gamma=gamma / self.scale_, **options)
                )
            return graph, found.warn_unless_converged("RobustPCAOnGraphs", REMEDY)

        (self.sample_graph_, found), progress = self._run(settings, work)
        self._store_split(X, found, progress)
        return self
