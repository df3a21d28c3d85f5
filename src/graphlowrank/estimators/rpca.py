"""Robust PCA, without a graph and on a graph of the samples."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

from numpy.typing import ArrayLike

from .._typing import Array, MatrixLike, RandomState
from ..auto import AS_GIVEN, Choice, choose_laplacian, fixed_gammas
from ..graphs import Graph
from ..models import LowRankPlusSparse, solve_rpca, solve_rpcag
from ..options import MAX_GAMMA, Options, check_number, is_auto
from ..pipeline import build_graph
from ..preprocessing import observed_mask
from ..preprocessing.robust_statistics import robust_mean_absolute_deviation
from ..records import Run
from ._base import LowRankTransformer
from ._large import fits_large


@dataclass(eq=False, repr=False, kw_only=True)
class LowRankPlusSparseTransformer(LowRankTransformer):
    """Decomposes ``X = L + S``; each model defines how."""

    weight: float | None = None
    tol: float = 1e-6
    max_iter: int = 1000
    n_jobs: int | None = None
    verbose: int = 0

    loss, huber_delta, scale_ = "l1", 1.0, 1.0

    _accepts_missing = True

    def _solve(self, X: Array, settings: dict[str, Any], run: Run) -> LowRankPlusSparse:
        raise NotImplementedError

    @fits_large
    def fit(self, X: MatrixLike, y: object = None, *, mask: ArrayLike | None = None) -> Self:
        """Decompose ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data. NaN marks a missing value, which is imputed by the low-rank part; for a graph it is imputed before.
        y : ignored
            For scikit-learn.
        mask : array-like of bool of shape (n_samples, n_features) or None
            True where an entry is observed; the others are treated like NaN.
        """
        options = self._options()
        self._check_parameters()
        data: Array = self._check_training_data(X, options, mask)
        self._check_n_components(min(data.shape))
        settings = {"weight": self.weight, "mask": observed_mask(data), "tol": self.tol, "max_iter": self.max_iter}
        found = self._run(options, lambda run: self._solve(data, settings, run))
        found.warn_unless_converged(type(self).__name__, "raise max_iter or tol")
        self._store_low_rank(found.low_rank)
        self.sparse_ = found.sparse
        self.rank_ = found.rank
        self.n_iter_ = found.n_iter
        self.converged_ = found.converged
        weight = Choice("weight", "1 / sqrt(longer side)", "recovers sparse outliers, by theory")
        if self.weight is not None:
            weight = Choice("weight", self.weight, AS_GIVEN)
        self._summarize(data, [weight, Choice("rank", found.rank, "of the solution")])
        return self

    def _check_parameters(self) -> None:
        if self.weight is not None:
            check_number(self.weight, "weight", at_most=MAX_GAMMA)
            if self.weight == 0:
                raise ValueError("weight must be positive: with 0 the sparse part would be free.")


@dataclass(eq=False, repr=False)
class RobustPCA(LowRankPlusSparseTransformer):
    """Low-rank plus sparse: ``min ||L||_* + weight ||S||_1`` subject to ``L + S = X`` (RPCA, Candès et al. 2011).

    Parameters
    ----------
    n_components : int or None, default=None
        Components for ``transform``; None counts the singular values of at least a tenth of the first.
    weight : float or None, default=None
        Weight of ``||S||_1``; None is ``1 / sqrt(observed max(n_samples, n_features))``, where ``observed`` is the
        share of observed entries. A larger weight puts more of the data into the low-rank part.
    tol : float, default=1e-6
        Relative residual of ``L + S = X`` to stop at. It does not bound the error of the objective, see ``growth``.
    max_iter : int, default=1000
        Iterations allowed; a ConvergenceWarning is issued if they do not suffice.
    growth : float or None, default=None
        Growth factor of the penalty in an iteration. None is 1.5, less with missing values: the objective ends within
        about 0.2 % of its minimum. 1.05 comes closer in about five times the iterations.
    n_jobs : int or None, default=None
        Number of threads; None for every core.
    verbose : int, default=0
        1 reports the stages on standard error.

    Attributes
    ----------
    low_rank_, sparse_ : ndarray of shape (n_samples, n_features)
        The two parts.
    rank_, n_components_ : int
        Rank of ``low_rank_``, number of components.
    components_, singular_values_, offset_ : arrays (n_components_, n_features), (n_components_,), (n_features,)
        Leading right singular vectors of ``low_rank_`` around its mean, their singular values, and that mean.
    n_iter_, converged_ : int, bool
        Iterations; whether the two parts add up to the data within ``tol``.
    report_, stage_seconds_ : FitReport, dict
        What was chosen and why, convergence; seconds of each stage.

    Examples
    --------
    >>> import numpy as np
    >>> from graphlowrank import RobustPCA
    >>> X = np.outer(np.arange(20.0), np.arange(1.0, 11.0))
    >>> X[3, 4] = 1000
    >>> model = RobustPCA().fit(X)
    >>> model.rank_, round(float(model.low_rank_[3, 4]))
    (1, 15)
    """

    n_components: int | None = None
    _: KW_ONLY
    growth: float | None = None

    random_state = None

    def _options(self) -> Options:
        return Options.of(self.get_params(deep=False) | {"sample_graph": None, "feature_graph": None})

    def _solve(self, X: Array, settings: dict[str, Any], run: Run) -> LowRankPlusSparse:
        with run.progress.stage("rpca") as update:
            return solve_rpca(X, growth=self.growth, callback=update, **settings)


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
    rank_, n_components_ : int
        Rank of ``low_rank_``, number of components.
    components_, singular_values_, offset_ : arrays (n_components_, n_features), (n_components_,), (n_features,)
        Leading right singular vectors of ``low_rank_`` around its mean, their singular values, and that mean.
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
    gamma: float | Literal["auto"] = "auto"
    n_neighbors: int = 10
    sample_graph: Graph | MatrixLike | Literal["knn"] | None = "knn"
    neighbors: str = "auto"
    laplacian: str = "auto"
    tol: float = 1e-4
    random_state: RandomState = None

    def _check_parameters(self) -> None:
        if not is_auto(self.gamma):
            check_number(self.gamma, "gamma")
        super()._check_parameters()

    def _solve(self, X: Array, settings: dict[str, Any], run: Run) -> LowRankPlusSparse:
        kind = choose_laplacian(run.options, "recovery")
        gamma = fixed_gammas(run.options, kind)[0] if is_auto(self.gamma) else self.gamma
        # The graph term grows with the square of the data, the others with the data: gamma needs a unit.
        self.scale_ = robust_mean_absolute_deviation(X) or 1.0
        with run.progress.stage("sample graph"):
            self.sample_graph_ = build_graph(X, "sample", self.n_neighbors, run).graph
        with run.progress.stage("rpcag") as update:
            if self.sample_graph_ is None:
                return solve_rpca(X, callback=update, **settings)
            laplacian = self.sample_graph_.unit_laplacian(kind)
            return solve_rpcag(X, laplacian, gamma=gamma / self.scale_, callback=update, **settings)
