"""Robust PCA, without graphs, and what it shares with robust PCA on a graph."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from numpy.typing import ArrayLike

from .._typing import Array, MatrixLike
from ..auto import AS_GIVEN, Choice
from ..models import LowRankPlusSparse, solve_rpca
from ..options import Options, check_number
from ..preprocessing import observed_mask
from ..records import Run
from ._base import LowRankTransformer


class LowRankPlusSparseTransformer(LowRankTransformer):
    """Decomposes ``X = L + S``; each model defines how."""

    weight: float | None
    tol: float
    max_iter: int
    loss, huber_delta, scale_ = "l1", 1.0, 1.0

    _accepts_missing = True

    def _solve(self, X: Array, settings: dict[str, Any], run: Run) -> LowRankPlusSparse:
        raise NotImplementedError

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
        self._check_n_components(data.shape)
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
            check_number(self.weight, "weight")
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
    rank_ : int
        Rank of ``low_rank_``.
    components_, singular_values_ : ndarray of shape (n_components_, n_features) and (n_components_,)
        Leading right singular vectors of ``low_rank_`` around its mean ``offset_``, and their singular values.
    n_components_, offset_ : int, ndarray of shape (n_features,)
        Number of components, mean of ``low_rank_``.
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
    weight: float | None = None
    tol: float = 1e-6
    max_iter: int = 1000
    growth: float | None = None
    n_jobs: int | None = None
    verbose: int = 0

    random_state = None

    def _options(self) -> Options:
        return Options.of(self.get_params(deep=False) | {"sample_graph": None, "feature_graph": None})

    def _solve(self, X: Array, settings: dict[str, Any], run: Run) -> LowRankPlusSparse:
        with run.progress.stage("rpca") as update:
            return solve_rpca(X, growth=self.growth, callback=update, **settings)
