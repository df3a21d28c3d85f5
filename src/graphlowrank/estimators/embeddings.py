"""Factorizations of the data with scores that are smooth on a graph of the samples."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, MatrixLike, RandomState
from ..auto import AS_GIVEN, DEFAULT_RANK, Choice, choose_laplacian
from ..decoders.scores import least_squares_scores
from ..graphs import Graph, LaplacianKind
from ..models import Embedding, NonNegativeFactors, solve_glpca, solve_gnmf, solve_mmf
from ..models.gnmf import nonnegative_scores
from ..options import MAX_GAMMA, check_choice, check_number
from ..outofcore.extension import chunked
from ..outofcore.sources import Source
from ..pipeline import build_graph
from ..records import Run
from ._base import ComponentTransformer
from ._large import fits_large, row_wise

SPARSE_GRAPH_DIRECTIONS = 50  # sparse samples are compared in this many leading singular directions


@dataclass(eq=False, repr=False, kw_only=True)
class GraphEmbedding(ComponentTransformer):
    """``X - offset_`` is close to ``embedding_ components_``; each model defines how these are found."""

    n_neighbors: int = 10
    sample_graph: Graph | MatrixLike | Literal["knn"] | None = "knn"
    neighbors: str = "auto"
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: int = 0

    _checks: ClassVar[Mapping[str, Any]] = {}  # of the data, by scikit-learn

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _solve(self, X: Any, graph: Graph | None, k: int, run: Run) -> Embedding | NonNegativeFactors:
        """Return the factors; store the offset and whatever else the model has."""
        raise NotImplementedError

    def _max_components(self, n_samples: int, n_features: int) -> tuple[int, str]:
        return min(n_samples, n_features), "samples or features"

    def _choices(self) -> list[Choice]:
        reason = "default" if self.n_components is None else AS_GIVEN
        return [Choice("n_components", self.n_components_, reason)]

    @fits_large
    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Factorize ``X``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data; GraphNMF takes those >= 0, dense or sparse, the other models dense ones.
        y : ignored
            For scikit-learn.
        """
        options = self._options()
        self._check_parameters()
        data: Any = self._check_training_data(X, options, **self._checks)
        at_most, what = self._max_components(*data.shape)
        self._check_n_components(at_most, what)
        k = min(DEFAULT_RANK, at_most) if self.n_components is None else int(self.n_components)

        def work(run: Run) -> Embedding | NonNegativeFactors:
            with run.progress.stage("sample graph"):
                self.sample_graph_ = build_graph(_points(data, run), "sample", self.n_neighbors, run).graph
            return self._solve(data, self.sample_graph_, k, run)

        found = self._run(options, work)
        self.embedding_ = found.scores
        self.components_ = found.components
        self.n_components_ = k
        self._summarize(data, self._choices())
        return self

    @row_wise
    def transform(self, X: MatrixLike) -> Array:
        """Scores (n_samples, n_components_) of samples on the components, by least squares; the graph is not used.

        Each sample is fitted on its own, and training samples are treated like new ones; the graph-smoothed scores of
        the training samples are ``embedding_``. Those of GraphNMF are >= 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, like those of ``fit``.
        """
        check_is_fitted(self)
        return self._scores(self._validated(X, reset=False, **self._checks))

    def _extend_attributes(self, source: Source) -> None:
        self.embedding_ = self.extend("transform", source)

    def _chunk_attributes(self, source: Source) -> None:
        self.embedding_ = chunked(self.embedding_, source)

    def _scores(self, X: Array) -> Array:
        return least_squares_scores(X, self.components_, self.offset_)

    def _center(self, X: Array) -> Array:
        self.offset_ = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        return X - self.offset_


def _points(X: Any, run: Run) -> Any:
    """Points, one for each sample, dense if neighbors are searched between them."""
    if not sp.issparse(X) or not isinstance(run.options.sample_graph, str):
        return X
    left, values, _ = randomized_svd(X, min(SPARSE_GRAPH_DIRECTIONS, *X.shape), random_state=run.rng)
    return np.ascontiguousarray(left * values)


def _laplacian(X: Array, graph: Graph | None, dtype: DTypeLike, kind: LaplacianKind = "combinatorial") -> sp.csr_array:
    """Laplacian of the samples in this precision; zeros for no graph."""
    L = sp.csr_array((len(X), len(X))) if graph is None else graph.promoted(dtype).unit_laplacian(kind)
    return L.astype(dtype)


@dataclass(eq=False, repr=False)
class GraphLaplacianPCA(GraphEmbedding):
    """``min (1 - beta) ||X - Q C||^2 / a + beta tr(Q^T L Q) / b`` s.t. ``Q^T Q = I`` (GLPCA, Jiang et al. 2013).

    a and b are the largest eigenvalues of ``X X^T`` and of the graph Laplacian. The data are centered.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components; None is 10, or as many as possible.
    beta : float, default=0.5
        Between 0 (PCA) and 1 (Laplacian eigenmaps).
    laplacian : {"auto", "combinatorial", "normalized"}, default="auto"
        The paper's is combinatorial. "auto" is normalized: hubs of the graph do not change the meaning of beta.
    n_neighbors : int, default=10
        Neighbors in a "knn" graph.
    sample_graph : "knn", Graph, matrix or None, default="knn"
        "knn" builds the graph from the data; a Graph or its weight matrix is used as given; None leaves the term out.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        Neighbor search. "approximate" has a recall of about 0.98; "auto" is exact if that takes about a second.
    n_jobs : int or None, default=None
        Number of threads; None for every core.
    random_state : int, RandomState or None, default=None
        Seed of the approximate search.
    verbose : int, default=0
        1 reports the stages on standard error.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components_)
        Q, orthonormal columns: the samples, smooth on the graph. Cluster these.
    components_ : ndarray of shape (n_components_, n_features)
        C = Q^T X.
    n_components_, offset_, sample_graph_, stage_seconds_ : int, ndarray of shape (n_features,), Graph or None, dict
        Number of components, mean of the data, graph used, seconds of each stage.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from graphlowrank import GraphLaplacianPCA
    >>> GraphLaplacianPCA(5).fit(load_digits().data[:200]).embedding_.shape
    (200, 5)
    """

    n_components: int | None = None
    _: KW_ONLY
    beta: float = 0.5
    laplacian: str = "auto"

    def _check_parameters(self) -> None:
        check_number(self.beta, "beta", at_most=1)

    def _max_components(self, n_samples: int, n_features: int) -> tuple[int, str]:
        return n_samples - 1, "samples, less the constant vector"

    def _solve(self, X: Array, graph: Graph | None, k: int, run: Run) -> Embedding:
        kind = choose_laplacian(run.options, "clustering")
        null = None
        if graph is not None and kind == "normalized":
            null = np.sqrt(graph.degrees) / max(np.sqrt(graph.degrees.sum()), np.finfo(np.float64).tiny)
        with run.progress.stage("embedding"):
            return solve_glpca(self._center(X), _laplacian(X, graph, X.dtype, kind), k, beta=self.beta, null=null)


@dataclass(eq=False, repr=False)
class ManifoldMF(GraphEmbedding):
    """``min ||X - V C||^2 + gamma tr(V^T L V)`` s.t. ``C C^T = I`` (MMF, Zhang and Zhao 2013).

    The data are centered and the Laplacian is divided by its mean diagonal.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components; None is 10, or as many as possible.
    gamma : float, default=10.0
        Weight of the graph term; 0 is PCA.
    n_neighbors : int, default=10
        Neighbors in a "knn" graph.
    sample_graph : "knn", Graph, matrix or None, default="knn"
        "knn" builds the graph from the data; a Graph or its weight matrix is used as given; None leaves the term out.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        Neighbor search. "approximate" has a recall of about 0.98; "auto" is exact if that takes about a second.
    n_jobs : int or None, default=None
        Number of threads; None for every core.
    random_state : int, RandomState or None, default=None
        Seed of the approximate search.
    verbose : int, default=0
        1 reports the stages on standard error.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components_)
        V: the samples, smooth on the graph. Cluster these.
    components_ : ndarray of shape (n_components_, n_features)
        C, orthonormal rows.
    n_components_, offset_, sample_graph_, stage_seconds_ : int, ndarray of shape (n_features,), Graph or None, dict
        Number of components, mean of the data, graph used, seconds of each stage.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from graphlowrank import ManifoldMF
    >>> ManifoldMF(5).fit(load_digits().data[:200]).embedding_.shape
    (200, 5)
    """

    n_components: int | None = None
    _: KW_ONLY
    gamma: float = 10.0

    def _check_parameters(self) -> None:
        check_number(self.gamma, "gamma", at_most=MAX_GAMMA)

    def _solve(self, X: Array, graph: Graph | None, k: int, run: Run) -> Embedding:
        with run.progress.stage("embedding"):
            return solve_mmf(self._center(X), _laplacian(X, graph, np.float64), k, gamma=self.gamma)


@dataclass(eq=False, repr=False)
class GraphNMF(GraphEmbedding):
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
    tol: float = 1e-4
    max_iter: int = 500

    _checks: ClassVar[Mapping[str, Any]] = {"accept_sparse": "csr", "ensure_non_negative": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        return tags

    def _check_parameters(self) -> None:
        check_number(self.gamma, "gamma", at_most=MAX_GAMMA)
        check_choice(self.init, "init", ("nndsvda", "random"))

    def _choices(self) -> list[Choice]:
        return [*super()._choices(), Choice("gamma", self.gamma, AS_GIVEN)]

    def _solve(self, X: Any, graph: Graph | None, k: int, run: Run) -> NonNegativeFactors:
        with run.progress.stage("gnmf") as update:
            found = solve_gnmf(
                X, graph and graph.unit_laplacian(), k, gamma=self.gamma, init=self.init, tol=self.tol,
                max_iter=self.max_iter, random_state=run.rng, callback=update,
            )  # fmt: skip
        self.offset_ = np.zeros(X.shape[1], dtype=X.dtype)
        self.objective_, self.n_iter_, self.converged_ = found.objective, found.n_iter, found.converged
        return found.warn_unless_converged("GraphNMF", "raise max_iter or tol")

    def _scores(self, X: Any) -> Array:
        return nonnegative_scores(X, self.components_.astype(X.dtype))
