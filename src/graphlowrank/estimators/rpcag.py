"""Robust PCA on a graph of the samples."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from .._typing import Array, MatrixLike, RandomState
from ..auto import choose_laplacian, fixed_gammas
from ..graphs import Graph
from ..models import LowRankPlusSparse, solve_rpca, solve_rpcag
from ..options import check_number, is_auto
from ..pipeline import build_graph
from ..preprocessing.robust_statistics import mean_absolute_deviation
from ..records import Run
from .rpca import LowRankPlusSparseTransformer


@dataclass(eq=False, repr=False)
class RobustPCAOnGraphs(LowRankPlusSparseTransformer):
    """``min ||L||_* + weight (||S||_1 + gamma tr(L^T L_s L))`` subject to ``L + S = X`` (RPCAG, Shahid et al. 2015).

    Parameters
    ----------
    n_components : int or None, default=None
        Components for ``transform``; None counts the singular values of at least a tenth of the first.
    weight : float or None, default=None
        Weight of ``||S||_1``; None is ``1 / sqrt(observed max(n_samples, n_features))``, where ``observed`` is the
        share of observed entries.
    gamma : float or "auto", default="auto"
        Weight of the sample graph relative to the sparse part, for data divided by their mean absolute deviation and a
        Laplacian divided by its mean diagonal; the paper's is ``weight * gamma``. "auto" is 0.5 with the combinatorial
        Laplacian, 1.5 with the normalized one.
    n_neighbors : int, default=10
        Neighbors in a "knn" graph.
    sample_graph : "knn", Graph, matrix or None, default="knn"
        "knn" builds the graph from the data; a Graph or its weight matrix is used as given; None is robust PCA.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        Neighbor search. "approximate" has a recall of about 0.98; "auto" is exact if that takes about a second.
    laplacian : {"auto", "combinatorial", "normalized"}, default="auto"
        Laplacian of the model. "auto" is combinatorial.
    tol : float, default=1e-4
        Relative residuals to stop at, of the constraints and of optimality.
    max_iter : int, default=1000
        Iterations allowed; a ConvergenceWarning is issued if they do not suffice.
    n_jobs : int or None, default=None
        Number of threads; None for every core.
    random_state : int, RandomState or None, default=None
        Seed of the approximate search.
    verbose : int, default=0
        1 reports the stages on standard error.

    Attributes
    ----------
    low_rank_, sparse_ : ndarray of shape (n_samples, n_features)
        The two parts.
    rank_ : int
        Rank of ``low_rank_``.
    components_, singular_values_ : ndarray of shape (n_components_, n_features) and (n_components_,)
        Leading right singular vectors of ``low_rank_`` around its mean ``offset_``, and their singular values.
    n_components_, offset_ : int, ndarray of shape (n_features,)
        Number of components, mean of ``low_rank_``.
    scale_ : float
        Unit of the data: mean absolute deviation.
    n_iter_, converged_ : int, bool
        Iterations; whether the residuals are below ``tol``.
    sample_graph_ : Graph or None
        Graph used.
    report_, stage_seconds_ : FitReport, dict
        What was chosen and why, graph, convergence; seconds of each stage.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from graphlowrank import RobustPCAOnGraphs
    >>> RobustPCAOnGraphs().fit(load_digits().data[:200]).low_rank_.shape
    (200, 64)
    """

    n_components: int | None = None
    _: KW_ONLY
    weight: float | None = None
    gamma: float | Literal["auto"] = "auto"
    n_neighbors: int = 10
    sample_graph: Graph | MatrixLike | Literal["knn"] | None = "knn"
    neighbors: str = "auto"
    laplacian: str = "auto"
    tol: float = 1e-4
    max_iter: int = 1000
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        if not is_auto(self.gamma):
            check_number(self.gamma, "gamma")
        super()._check_parameters()

    def _solve(self, X: Array, settings: dict[str, Any], run: Run) -> LowRankPlusSparse:
        kind = choose_laplacian(run.options, "recovery")
        gamma = fixed_gammas(run.options, kind)[0] if is_auto(self.gamma) else self.gamma
        # The graph term grows with the square of the data, the others with the data: gamma needs a unit.
        self.scale_ = mean_absolute_deviation(X) or 1.0
        with run.progress.stage("sample graph"):
            self.sample_graph_ = build_graph(X, "sample", self.n_neighbors, run).graph
        with run.progress.stage("rpcag") as update:
            if self.sample_graph_ is None:
                return solve_rpca(X, callback=update, **settings)
            laplacian = self.sample_graph_.unit_laplacian(kind)
            return solve_rpcag(X, laplacian, gamma=gamma / self.scale_, callback=update, **settings)
