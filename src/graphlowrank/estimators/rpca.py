"""Robust PCA, without graphs."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from .._typing import Array, MatrixLike, RandomState
from ..auto import AS_GIVEN, Choice
from ..models import LowRankPlusSparse, solve_rpca
from ..options import Options, check_count, check_number
from ..preprocessing import observed_mask
from ..records import Run
from ._base import LowRankTransformer

REMEDY = "raise max_iter or tol"


class RobustPCA(LowRankTransformer):
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
        about 0.2 % of its minimum, and matrices that can be recovered exactly are. 1.05 comes closer in about five
        times the iterations.
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
    components_ : ndarray of shape (n_components_, n_features)
        Leading right singular vectors of ``low_rank_`` around ``offset_``.
    singular_values_ : ndarray of shape (n_components_,)
        Their singular values.
    n_components_ : int
        Number of components.
    offset_ : ndarray of shape (n_features,)
        Mean of ``low_rank_``.
    n_iter_, converged_ : int, bool
        Iterations; whether the two parts add up to the data within ``tol``.
    report_ : FitReport
        What was chosen and why, convergence, seconds; prints as a table.
    stage_seconds_ : dict
        Seconds of each stage.

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

    random_state: RandomState = None
    loss, huber_delta, scale_ = "l1", 1.0, 1.0

    def __init__(
        self,
        n_components: int | None = None,
        *,
        weight: float | None = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        growth: float | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.weight = weight
        self.tol = tol
        self.max_iter = max_iter
        self.growth = growth
        self.n_jobs = n_jobs
        self.verbose = verbose

    _accepts_missing = True

    def _options(self) -> Options:
        return Options.of(self.get_params(deep=False) | {"sample_graph": None, "feature_graph": None})

    def fit(self, X: MatrixLike, y: object = None, *, mask: ArrayLike | None = None) -> Self:
        """Decompose ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data. NaN marks a missing value, which is imputed by the low-rank part.
        y : ignored
            For scikit-learn.
        mask : array-like of bool of shape (n_samples, n_features) or None
            True where an entry is observed; the others are treated like NaN.

        Returns
        -------
        RobustPCA
            The fitted estimator.
        """
        options = self._options()
        X, observed = self._check_decomposition(X, mask, options)

        def work(run: Run) -> LowRankPlusSparse:
            with run.progress.stage("rpca") as update:
                return solve_rpca(
                    X, weight=self.weight, mask=observed, tol=self.tol, max_iter=self.max_iter, growth=self.growth,
                    callback=update,
                ).warn_unless_converged("RobustPCA", REMEDY)  # fmt: skip

        self._store_parts(X, self._run(options, work))
        return self

    def _check_decomposition(self, X: MatrixLike, mask: ArrayLike | None, options: Options) -> tuple[Any, Array | None]:
        """Check everything that can be wrong, before work starts."""
        if self.weight is not None:
            check_number(self.weight, "weight")
            if self.weight == 0:
                raise ValueError("weight must be positive: with 0 the sparse part would be free.")
        X = self._check_training_data(X, options, mask)
        if self.n_components is not None:
            check_count(self.n_components, "n_components", at_most=min(X.shape), what="samples or features")
        return X, observed_mask(X)

    def _store_parts(self, X: Array, found: LowRankPlusSparse) -> None:
        self._store_low_rank(found.low_rank, self.n_components)
        self.sparse_ = found.sparse
        self.rank_ = found.rank
        self.n_iter_ = found.n_iter
        self.converged_ = found.converged
        weight = Choice("weight", "1 / sqrt(longer side)", "recovers sparse outliers, by theory")
        if self.weight is not None:
            weight = Choice("weight", self.weight, AS_GIVEN)
        self._summarize(X, [weight, Choice("rank", found.rank, "of the solution")])
