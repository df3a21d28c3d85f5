"""Non-negative matrix factorisation with scores that are smooth on a graph of the samples."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted, validate_data

from .._backend import Array
from .._progress import Progress
from ..auto.choice import Choice
from ..graphs import Graph
from ..models.gnmf import NonNegativeFactors, nonnegative_scores, solve_gnmf
from ..options import Settings
from ..two_graphs import sample_side
from ._base import DTYPES, ComponentTransformer, check_number

SPARSE_GRAPH_DIRECTIONS = 50  # sparse samples are compared in this many leading singular directions


class GraphNMF(ComponentTransformer):
    """``min ||X - S C||^2 + gamma tr(S^T L S)`` over S, C >= 0, rows of C of length 1 (GNMF, Cai et al. 2011).

    Non-negative matrix factorisation with scores S that are smooth on a graph of the samples: neighbours get similar
    scores, which makes the scores good to cluster. A local minimum is found; the start decides which.

    Parameters
    ----------
    n_components
        Number of components; None takes 10, or the shorter side of the data if that is less.
    gamma
        Weight of the graph term. 0 is plain NMF. The default predicts unseen counts best: of digits and of two sets of
        synthetic documents, halved at random, one half was fitted and the other predicted. Clusters are often clearer
        at 10 to 100.
    init
        "nndsvda" (from singular vectors) or "random".
    n_neighbors, sample_graph, neighbors
        As in :class:`CompressivePCA`. Sparse samples are compared in their 50 leading singular directions.
    tol, max_iter
        Stop when ten iterations lower the objective by less than ``tol`` of its value, or of ``||X||^2 / 100`` if that
        is more; and the iterations allowed.
    n_jobs, random_state, verbose
        As in :class:`CompressivePCA`.

    Attributes
    ----------
    components_ : (n_components_, n_features)
        Non-negative, rows of length 1.
    embedding_ : (n_samples, n_components_)
        Scores of the training samples, smooth on the graph. ``transform`` does not return these, since it looks at each
        sample alone.
    objective_ : list of float
        Objective after each iteration; it never rises.
    n_components_, n_iter_, converged_, sample_graph_, stage_seconds_
        What was chosen, done and used.
    offset_ : (n_features,)
        Zeros: the data are not centred.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from graphlowrank import GraphNMF
    >>> X = load_digits().data[:200]
    >>> model = GraphNMF(5).fit(X)
    >>> model.embedding_.shape, model.components_.shape
    ((200, 5), (5, 64))
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        gamma: float = 3.0,
        init: str = "nndsvda",
        n_neighbors: int = 10,
        sample_graph: Any = "knn",
        neighbors: str = "auto",
        tol: float = 1e-4,
        max_iter: int = 500,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.init = init
        self.n_neighbors = n_neighbors
        self.sample_graph = sample_graph
        self.neighbors = neighbors
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Factorise ``X`` (n_samples, n_features), dense or sparse, >= 0; ``y`` is ignored."""
        settings = self._settings()
        check_number(self.gamma, "gamma")
        if not isinstance(self.init, str) or self.init not in ("nndsvda", "random"):
            raise ValueError(f"init must be 'nndsvda' or 'random'; got {self.init!r}.")
        X = self._check_training_data(X, settings, accept_sparse="csr", ensure_non_negative=True)
        k = self._check_n_components(self.n_components, at_most=min(X.shape), what="samples or features")

        def work(rng: RandomState, progress: Progress) -> tuple[Graph | None, NonNegativeFactors]:
            with progress.stage("sample graph"):
                graph = sample_side(_points(X, settings, rng), settings, rng).graph
            with progress.stage("gnmf") as update:
                found = solve_gnmf(
                    X, graph and graph.unit_laplacian(), k, gamma=self.gamma, init=self.init, tol=self.tol,
                    max_iter=self.max_iter, random_state=rng, callback=update,
                )  # fmt: skip
            return graph, found.warn_unless_converged("GraphNMF", "raise max_iter or tol")

        (self.sample_graph_, found), progress = self._run(settings, work)
        self.components_ = found.components
        self.offset_ = np.zeros(X.shape[1], dtype=X.dtype)
        self.embedding_ = found.scores
        self.n_components_ = k
        self.objective_ = found.objective
        self.n_iter_ = found.n_iter
        self.converged_ = found.converged
        self.stage_seconds_ = progress.seconds
        self._say(X, [self._rank_choice(k), Choice("gamma", self.gamma, "as asked")])
        return self

    def transform(self, X: Any) -> Array:
        """Non-negative scores of samples on the components, by least squares; the graph plays no part.

        Each sample is fitted on its own, and training samples are treated like new ones; the graph-smoothed scores of
        the training samples are ``embedding_``.

        Parameters
        ----------
        X
            (n_samples, n_features), >= 0, dense or sparse.

        Returns
        -------
        scores
            (n_samples, n_components_).
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, ensure_non_negative=True, reset=False)
        return nonnegative_scores(X, self.components_.astype(X.dtype))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        return tags


def _points(X: Any, settings: Settings, rng: RandomState) -> Array:
    """Dense points, one for each sample, between which neighbours are looked for."""
    if not sp.issparse(X):
        return X
    if not isinstance(settings.sample_graph, str):
        return np.empty((X.shape[0], 0), dtype=X.dtype)  # the graph is given, so only the number of points counts
    left, values, _ = randomized_svd(X, min(SPARSE_GRAPH_DIRECTIONS, *X.shape), random_state=rng)
    return np.ascontiguousarray(left * values)
