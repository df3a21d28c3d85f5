"""Robust PCA, without graphs."""

from __future__ import annotations

from typing import Any, Self

from numpy.random import RandomState

from .._progress import Progress
from ..models import LowRankPlusSparse, solve_rpca
from ._base import LowRankTransformer, check_count, check_number

REMEDY = "raise max_iter or tol"


class RobustPCA(LowRankTransformer):
    """Low-rank plus sparse: ``min ||L||_* + weight ||S||_1`` subject to ``L + S = X`` (RPCA, Candès et al. 2011).

    Parameters
    ----------
    n_components
        Components for ``transform``; None counts the singular values of at least a tenth of the first.
    weight
        Price of an entry of S; None takes ``1 / sqrt(max(n_samples, n_features))``. A larger one puts more of the data
        into the low-rank part.
    tol
        Relative residual of ``L + S = X`` to stop at.
    max_iter
        Iterations allowed.
    n_jobs
        Threads; None for every core.
    verbose
        1 reports the stages on standard error.

    Attributes
    ----------
    low_rank_, sparse_ : (n_samples, n_features)
        The two parts.
    rank_
        Rank of ``low_rank_``.
    components_, singular_values_, n_components_
        Leading right singular vectors and values of ``low_rank_`` around ``offset_``.
    offset_, n_iter_, converged_, stage_seconds_
        Mean of ``low_rank_``, and what was done.

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

    sample_graph: Any = None
    random_state: Any = None
    loss, huber_delta, scale_ = "l1", 1.0, 1.0

    def __init__(
        self,
        n_components: int | None = None,
        *,
        weight: float | None = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.weight = weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, mask: Any = None) -> Self:
        """Split ``X`` (n_samples, n_features); ``y`` is ignored.

        ``mask`` (n_samples, n_features) is True where an entry is observed; the others are filled in, whatever they
        hold.
        """
        settings = self._settings()
        if self.weight is not None:
            check_number(self.weight, "weight")
        X = self._check_training_data(X, settings, ensure_all_finite=mask is None)
        if self.n_components is not None:
            check_count(self.n_components, "n_components", at_most=min(X.shape), what="samples or features")

        def work(rng: RandomState, progress: Progress) -> LowRankPlusSparse:
            with progress.stage("rpca") as update:
                return solve_rpca(
                    X, weight=self.weight, mask=mask, tol=self.tol, max_iter=self.max_iter, callback=update
                ).warn_unless_converged("RobustPCA", REMEDY)

        found, progress = self._run(settings, work)
        self._store_split(found, found.low_rank, found.sparse)
        self.stage_seconds_ = progress.seconds
        return self

    def _store_split(self, found: LowRankPlusSparse, low_rank: Any, sparse: Any) -> None:
        self._store_low_rank(low_rank, self.n_components)
        self.sparse_ = sparse
        self.rank_ = found.rank
        self.n_iter_ = found.n_iter
        self.converged_ = found.converged
