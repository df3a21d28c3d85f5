"""Robust PCA, without graphs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.random import RandomState

from .._backend import Array
from .._progress import Progress
from ..auto.choice import Choice
from ..models import LowRankPlusSparse, solve_rpca
from ..options import Settings
from ..preprocessing.missing import has_gaps
from ._base import LowRankTransformer, check_count, check_number

REMEDY = "raise max_iter or tol"


class RobustPCA(LowRankTransformer):
    """Low-rank plus sparse: ``min ||L||_* + weight ||S||_1`` subject to ``L + S = X`` (RPCA, Candès et al. 2011).

    Parameters
    ----------
    n_components
        Components for ``transform``; None counts the singular values of at least a tenth of the first.
    weight
        Price of an entry of S; None takes ``1 / sqrt(observed max(n_samples, n_features))``, where ``observed`` is the
        share of entries that are, 1 without a mask. A larger one puts more of the data into the low-rank part.
    tol
        Relative residual of ``L + S = X`` to stop at. It does not speak of the objective, see ``growth``.
    max_iter
        Iterations allowed.
    growth
        Factor by which the penalty grows in an iteration. None takes 1.5, less with a mask: the objective ends within
        about 0.2 % of its minimum, and matrices that can be recovered exactly are. 1.05 comes closer, in about five
        times the iterations.
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
        Mean of ``low_rank_``, and what was done; ``converged_`` says that the two parts add up to the data.

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

    _takes_gaps = True

    def fit(self, X: Any, y: Any = None, *, mask: Any = None) -> Self:
        """Split ``X`` (n_samples, n_features); ``y`` is ignored.

        Entries that are NaN, or where ``mask`` (n_samples, n_features) is not True, are missing; they are filled in.
        """
        settings = self._settings()
        X, mask = self._check_split(X, mask, settings)

        def work(rng: RandomState, progress: Progress) -> LowRankPlusSparse:
            with progress.stage("rpca") as update:
                return solve_rpca(
                    X, weight=self.weight, mask=mask, tol=self.tol, max_iter=self.max_iter, growth=self.growth,
                    callback=update,
                ).warn_unless_converged("RobustPCA", REMEDY)  # fmt: skip

        found, progress = self._run(settings, work)
        self._store_split(X, found, progress)
        return self

    def _check_split(self, X: Any, mask: Any, settings: Settings) -> tuple[Array, Array | None]:
        """Everything that can be wrong, before work starts."""
        if self.weight is not None:
            check_number(self.weight, "weight")
            if self.weight == 0:
                raise ValueError("weight must be more than 0: errors would cost nothing.")
        X = self._check_training_data(X, settings, mask)
        if self.n_components is not None:
            check_count(self.n_components, "n_components", at_most=min(X.shape), what="samples or features")
        return X, ~np.isnan(X) if has_gaps(X) else None

    def _store_split(self, X: Array, found: LowRankPlusSparse, progress: Progress) -> None:
        self._store_low_rank(found.low_rank, self.n_components)
        self.sparse_ = found.sparse
        self.rank_ = found.rank
        self.n_iter_ = found.n_iter
        self.converged_ = found.converged
        self.stage_seconds_ = progress.seconds
        usual = Choice("weight", "1 / sqrt(longer side)", "with it, theory says, sparse errors are found")
        asked = usual if self.weight is None else Choice("weight", self.weight, "as asked")
        self._say(X, [asked, Choice("rank", found.rank, "of the solution")])
