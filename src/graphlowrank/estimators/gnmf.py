"""Non-negative matrix factorization with scores that are smooth on a graph of the samples."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted, validate_data

from .._typing import Array, MatrixLike, RandomState
from ..auto import AS_GIVEN, Choice
from ..graphs import Graph
from ..models.gnmf import NonNegativeFactors, nonnegative_scores, solve_gnmf
from ..options import check_choice, check_number
from ..pipeline import build_graph
from ..records import Run
from ._base import DTYPES, ComponentTransformer

SPARSE_GRAPH_DIRECTIONS = 50  # sparse samples are compared in this many leading singular directions


@dataclass(eq=False, repr=False)
class GraphNMF(ComponentTransformer):
    """``min ||X - S C||^2 + gamma tr(S^T L S)`` over S, C >= 0, rows of C of length 1 (GNMF, Cai et al. 2011).

    Non-negative matrix factorization with scores S that are smooth on a graph of the samples: neighbors get similar
    scores, so the scores cluster well. The algorithm finds a local minimum, which depends on the start.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components; None is 10, or the shorter side of the data if that is less.
    gamma : float, default=3.0
        Weight of the graph term; 0 is plain NMF. 3 predicts unseen counts best (one half of digits and of synthetic
        documents from the other); clusters are often clearer at 10 to 100.
    init : {"nndsvda", "random"}, default="nndsvda"
        Starting point: from singular vectors, or random.
    n_neighbors : int, default=10
        Neighbors in a "knn" graph. Sparse samples are compared in their 50 leading singular directions.
    sample_graph : "knn", Graph, matrix or None, default="knn"
        "knn" builds the graph from the data; a Graph or its weight matrix is used as given; None leaves the term out.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        Neighbor search. "approximate" has a recall of about 0.98; "auto" is exact if that takes about a second.
    tol : float, default=1e-4
        Stop when ten iterations lower the objective by less than ``tol`` times the larger of it and ``||X||^2 / 100``.
    max_iter : int, default=500
        Iterations allowed; a ConvergenceWarning is issued if they do not suffice.
    n_jobs : int or None, default=None
        Number of threads; None for every core.
    random_state : int, RandomState or None, default=None
        Seed of the starting point and the approximate search.
    verbose : int, default=0
        1 reports the stages on standard error.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Non-negative, rows of length 1.
    embedding_ : ndarray of shape (n_samples, n_components_)
        Scores of the training samples, smooth on the graph; ``transform`` fits each sample alone.
    objective_ : list of float
        Objective after each iteration; it never increases.
    n_components_, n_iter_, converged_, sample_graph_, stage_seconds_ : int, int, bool, Graph or None, dict
        Number of components, iterations, convergence, graph used, seconds of each stage.
    offset_ : ndarray of shape (n_features,)
        Zeros: the data are not centered.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from graphlowrank import GraphNMF
    >>> X = load_digits().data[:200]
    >>> model = GraphNMF(5).fit(X)
    >>> model.embedding_.shape, model.components_.shape
    ((200, 5), (5, 64))
    """

    n_components: int | None = None
    _: KW_ONLY
    gamma: float = 3.0
    init: str = "nndsvda"
    n_neighbors: int = 10
    sample_graph: Graph | MatrixLike | Literal["knn"] | None = "knn"
    neighbors: str = "auto"
    tol: float = 1e-4
    max_iter: int = 500
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: int = 0

    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Factorize ``X``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data, >= 0.
        y : ignored
            For scikit-learn.
        """
        options = self._options()
        check_number(self.gamma, "gamma")
        check_choice(self.init, "init", ("nndsvda", "random"))
        X = self._check_training_data(X, options, accept_sparse="csr", ensure_non_negative=True)
        k = self._n_components_or_default(at_most=min(X.shape), what="samples or features")

        def work(run: Run) -> tuple[Graph | None, NonNegativeFactors]:
            with run.progress.stage("sample graph"):
                graph = build_graph(_points(X, run), "sample", self.n_neighbors, run).graph
            with run.progress.stage("gnmf") as update:
                found = solve_gnmf(
                    X, graph and graph.unit_laplacian(), k, gamma=self.gamma, init=self.init, tol=self.tol,
                    max_iter=self.max_iter, random_state=run.rng, callback=update,
                )  # fmt: skip
            return graph, found.warn_unless_converged("GraphNMF", "raise max_iter or tol")

        self.sample_graph_, found = self._run(options, work)
        self.components_ = found.components
        self.offset_ = np.zeros(X.shape[1], dtype=X.dtype)
        self.embedding_ = found.scores
        self.n_components_ = k
        self.objective_ = found.objective
        self.n_iter_ = found.n_iter
        self.converged_ = found.converged
        self._summarize(X, [self._rank_choice(k), Choice("gamma", self.gamma, AS_GIVEN)])
        return self

    def transform(self, X: MatrixLike) -> Array:
        """Non-negative scores (n_samples, n_components_) of samples, by least squares; the graph is not used.

        Each sample is fitted on its own, and training samples are treated like new ones; the graph-smoothed scores of
        the training samples are ``embedding_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, >= 0.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, ensure_non_negative=True, reset=False)
        return nonnegative_scores(X, self.components_.astype(X.dtype))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        return tags


def _points(X: Any, run: Run) -> Array:
    """Dense points, one for each sample, between which neighbors are searched."""
    if not sp.issparse(X):
        return X
    if not isinstance(run.options.sample_graph, str):
        return np.empty((X.shape[0], 0), dtype=X.dtype)  # the graph is given: only the number of points matters
    left, values, _ = randomized_svd(X, min(SPARSE_GRAPH_DIRECTIONS, *X.shape), random_state=run.rng)
    return np.ascontiguousarray(left * values)
