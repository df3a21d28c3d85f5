"""Fast Robust PCA on Graphs, without compression."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from numpy.random import RandomState

from .._progress import Progress
from ..auto.choice import Choice
from ..options import Settings
from ..pipeline import Compressed, reduce, solve
from ..two_graphs import graphs_of
from ._base import LowRankTransformer, check_count


class FastRobustPCAOnGraphs(LowRankTransformer):
    """``min loss(U - X) + gamma_samples tr(U^T L_s U) + gamma_features tr(U L_f U^T)`` (FRPCAG, Shahid et al. 2016).

    Robust low-rank approximation smooth on two graphs, solved on the full matrix. This is the model that
    :class:`CompressivePCA` solves on a small part of the data; use it where the matrix is small or every entry matters.

    Parameters
    ----------
    n_components
        Components for ``transform``; None counts the singular values of at least a tenth of the first.
    gamma_samples, gamma_features
        As in :class:`CompressivePCA`, but "auto" is 0.5 and 0.3 with the combinatorial Laplacian, 1.5 and 0.3 with the
        normalized one: hidden entries choose well only for answers that are cut to a rank.
    loss, huber_delta, n_neighbors, sample_graph, feature_graph, neighbors, robust_graphs, laplacian
        As in :class:`CompressivePCA`.
    tol, max_iter, n_jobs, random_state, verbose
        As in :class:`CompressivePCA`.

    Attributes
    ----------
    low_rank_ : (n_samples, n_features)
        The solution. It is smooth on both graphs and close to low-rank; it is not cut to ``n_components_``.
    components_, singular_values_, n_components_
        Leading right singular vectors and values of ``low_rank_`` around ``offset_``.
    offset_, scale_, n_iter_, converged_, sample_graph_, feature_graph_, stage_seconds_
        What was chosen, done and used.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from graphlowrank import FastRobustPCAOnGraphs
    >>> X = load_digits().data[:200]
    >>> FastRobustPCAOnGraphs().fit(X).low_rank_.shape
    (200, 64)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        gamma_samples: Any = "auto",
        gamma_features: Any = "auto",
        loss: str = "l1",
        huber_delta: float = 1.0,
        n_neighbors: int = 10,
        sample_graph: Any = "knn",
        feature_graph: Any = "knn",
        neighbors: str = "auto",
        robust_graphs: Any = "auto",
        laplacian: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.gamma_samples = gamma_samples
        self.gamma_features = gamma_features
        self.loss = loss
        self.huber_delta = huber_delta
        self.n_neighbors = n_neighbors
        self.sample_graph = sample_graph
        self.feature_graph = feature_graph
        self.neighbors = neighbors
        self.robust_graphs = robust_graphs
        self.laplacian = laplacian
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _settings(self) -> Settings:
        """Nothing is left out: the compressed matrix is the whole one."""
        return replace(super()._settings(), downsampling=(1, 1))

    _takes_gaps = True

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, feature_weight: Any = None, mask: Any = None
    ) -> Self:
        """Approximate ``X`` (n_samples, n_features), NaN where an entry is missing; see :meth:`CompressivePCA.fit`."""
        settings = self._settings()
        X = self._check_training_data(X, settings, mask)
        weights = self._check_weights(settings, X, sample_weight, feature_weight)
        if self.n_components is not None:
            check_count(self.n_components, "n_components", at_most=min(X.shape), what="samples or features")

        def work(rng: RandomState, progress: Progress) -> tuple[Compressed, Choice]:
            kind = settings.laplacian_kind("combinatorial")
            graphs, robust = graphs_of(X, settings, rng, progress)
            problem = reduce(
                X, graphs, settings, laplacian=kind, rank=self.n_components, rng=rng, progress=progress, weights=weights
            )
            gammas = settings.gammas(kind)
            return solve(problem, settings, gammas, progress, short_steps=True), robust

        (small, robust), progress = self._run(settings, work)
        self._store(small.problem, progress, n_iter=small.solution.n_iter, converged=small.solution.converged)
        scale = small.problem.block.X.dtype.type(small.problem.block.scale)
        self._store_low_rank(small.solution.X * scale + small.problem.block.shift, self.n_components)
        self._say(X, [*self._choices(X, settings), robust])
        return self
