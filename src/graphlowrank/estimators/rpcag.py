"""Robust PCA on a graph of the samples."""

from __future__ import annotations

from typing import Any, Literal, Self

from numpy.typing import ArrayLike

from .._typing import MatrixLike, RandomState
from ..auto import choose_laplacian, fixed_gammas
from ..graphs import Graph
from ..models import LowRankPlusSparse, solve_rpca, solve_rpcag
from ..options import Options, check_number, is_auto
from ..pipeline import build_graph
from ..preprocessing.robust_statistics import mean_absolute_deviation
from ..records import Run
from .rpca import REMEDY, RobustPCA


class RobustPCAOnGraphs(RobustPCA):
    """``min ||L||_* + weight (||S||_1 + gamma tr(L^T L_s L))`` subject to ``L + S = X`` (RPCAG, Shahid et al. 2015).

    Parameters
    ----------
    n_components : int or None, default=None
        Components for ``transform``; None counts the singular values of at least a tenth of the first.
    weight : float or None, default=None
        Weight of ``||S||_1``; None is ``1 / sqrt(observed max(n_samples, n_features))``, where ``observed`` is the
        share of observed entries.
    gamma : float or "auto", default="auto"
        Weight of the sample graph relative to the sparse part, in the units of ``gamma_samples`` of
        :class:`FastRobustPCAOnGraphs`: data are divided by their mean absolute deviation, the Laplacian by its mean
        diagonal. The paper's is ``weight * gamma``. "auto" is 0.5 with the combinatorial Laplacian, 1.5 with the
        normalized one.
    n_neighbors : int, default=10
        Neighbors in a "knn" graph.
    sample_graph : "knn", Graph, matrix or None, default="knn"
        "knn" builds the graph from the data; a :class:`~graphlowrank.graphs.Graph` or a symmetric non-negative weight
        matrix is used as given; None is robust PCA.
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
    components_ : ndarray of shape (n_components_, n_features)
        Leading right singular vectors of ``low_rank_`` around ``offset_``.
    singular_values_ : ndarray of shape (n_components_,)
        Their singular values.
    n_components_ : int
        Number of components.
    offset_ : ndarray of shape (n_features,)
        Mean of ``low_rank_``.
    scale_ : float
        Unit of the data: mean absolute deviation.
    n_iter_, converged_ : int, bool
        Iterations; whether the residuals are below ``tol``.
    sample_graph_ : Graph or None
        Graph used.
    report_ : FitReport
        What was chosen and why, graph, convergence, seconds; prints as a table.
    stage_seconds_ : dict
        Seconds of each stage.

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
        gamma: float | Literal["auto"] = "auto",
        n_neighbors: int = 10,
        sample_graph: Graph | MatrixLike | Literal["knn"] | None = "knn",
        neighbors: str = "auto",
        laplacian: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: RandomState = None,
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

    def _options(self) -> Options:
        return Options.of(self.get_params(deep=False))

    def fit(self, X: MatrixLike, y: object = None, *, mask: ArrayLike | None = None) -> Self:
        """Decompose ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data. NaN marks a missing value, which is imputed by the low-rank part; for the graph it is imputed before.
        y : ignored
            For scikit-learn.
        mask : array-like of bool of shape (n_samples, n_features) or None
            True where an entry is observed; the others are treated like NaN.

        Returns
        -------
        RobustPCAOnGraphs
            The fitted estimator.
        """
        options = self._options()
        kind = choose_laplacian(options, "recovery")
        gamma: float = fixed_gammas(options, kind)[0] if is_auto(self.gamma) else self.gamma
        check_number(gamma, "gamma")
        X, observed = self._check_decomposition(X, mask, options)
        # The graph term grows with the square of the data, the others with the data: gamma needs a unit.
        self.scale_ = mean_absolute_deviation(X) or 1.0

        def work(run: Run) -> tuple[Graph | None, LowRankPlusSparse]:
            with run.progress.stage("sample graph"):
                graph = build_graph(X, "sample", self.n_neighbors, run).graph
            with run.progress.stage("rpcag") as update:
                settings: dict[str, Any] = {"weight": self.weight, "mask": observed, "tol": self.tol}
                settings |= {"max_iter": self.max_iter, "callback": update}
                if graph is None:
                    found = solve_rpca(X, **settings)
                else:
                    found = solve_rpcag(X, graph.unit_laplacian(kind), gamma=gamma / self.scale_, **settings)
            return graph, found.warn_unless_converged("RobustPCAOnGraphs", REMEDY)

        self.sample_graph_, found = self._run(options, work)
        self._store_parts(X, found)
        return self
