"""PCA on a graph of the samples, in two closed forms."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, validate_data

from .._typing import Array, MatrixLike, RandomState
from ..auto import choose_laplacian
from ..decoders.scores import least_squares_scores
from ..graphs import Graph
from ..graphs.laplacian import LaplacianKind
from ..models import Embedding, solve_glpca, solve_mmf
from ..options import check_number
from ..pipeline import build_graph
from ..records import Run
from ._base import DTYPES, ComponentTransformer


class _GraphEmbedding(ComponentTransformer):
    """What both models do around their equation."""

    n_neighbors: int

    def _solve(self, X: Array, graph: Graph | None, k: int) -> Embedding:
        raise NotImplementedError

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _max_components(self, n_samples: int, n_features: int) -> tuple[int, str]:
        return min(n_samples, n_features), "samples or features"

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Embed the samples of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data.
        y : ignored
            For scikit-learn.
        """
        options = self._options()
        self._check_parameters()
        data: Array = self._check_training_data(X, options)
        at_most, what = self._max_components(*data.shape)
        k = self._n_components_or_default(at_most=at_most, what=what)
        self.offset_ = data.mean(axis=0, dtype=np.float64).astype(data.dtype)

        def work(run: Run) -> tuple[Graph | None, Embedding]:
            with run.progress.stage("sample graph"):
                graph = build_graph(data, "sample", self.n_neighbors, run).graph
            with run.progress.stage("embedding"):
                return graph, self._solve(data - self.offset_, graph, k)

        self.sample_graph_, found = self._run(options, work)
        self.embedding_ = found.scores
        self.components_ = found.components
        self.n_components_ = k
        self._summarize(data, [self._rank_choice(k)])
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Scores (n_samples, n_components_) of samples on the components, by least squares; the graph is not used.

        Each sample is fitted on its own, and training samples are treated like new ones; the graph-smoothed scores of
        the training samples are ``embedding_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        """
        check_is_fitted(self)
        samples: Array = validate_data(self, X, dtype=DTYPES, reset=False)
        return least_squares_scores(samples, self.components_, self.offset_)


def _laplacian(X: Array, graph: Graph | None, kind: LaplacianKind = "combinatorial") -> sp.csr_array:
    """Laplacian in the precision of the data; zeros for no graph."""
    L = sp.csr_array((len(X), len(X))) if graph is None else graph.unit_laplacian(kind)
    return L.astype(X.dtype)


@dataclass(eq=False, repr=False)
class GraphLaplacianPCA(_GraphEmbedding):
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
    offset_ : ndarray of shape (n_features,)
        Mean of the data.
    n_components_, sample_graph_, stage_seconds_ : int, Graph or None, dict
        Number of components, graph used, seconds of each stage.

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
    n_neighbors: int = 10
    sample_graph: Graph | MatrixLike | Literal["knn"] | None = "knn"
    neighbors: str = "auto"
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        check_number(self.beta, "beta", at_most=1)

    def _max_components(self, n_samples: int, n_features: int) -> tuple[int, str]:
        return n_samples - 1, "samples, less the constant vector"

    def _solve(self, X: Array, graph: Graph | None, k: int) -> Embedding:
        kind = choose_laplacian(self._options(), "clustering")
        null = None
        if graph is not None and kind == "normalized":
            null = np.sqrt(graph.degrees) / max(np.sqrt(graph.degrees.sum()), np.finfo(np.float64).tiny)
        return solve_glpca(X, _laplacian(X, graph, kind), k, beta=self.beta, null=null)


@dataclass(eq=False, repr=False)
class ManifoldMF(_GraphEmbedding):
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
    offset_ : ndarray of shape (n_features,)
        Mean of the data.
    n_components_, sample_graph_, stage_seconds_ : int, Graph or None, dict
        Number of components, graph used, seconds of each stage.

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
    n_neighbors: int = 10
    sample_graph: Graph | MatrixLike | Literal["knn"] | None = "knn"
    neighbors: str = "auto"
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: int = 0

    def _check_parameters(self) -> None:
        check_number(self.gamma, "gamma")

    def _solve(self, X: Array, graph: Graph | None, k: int) -> Embedding:
        return solve_mmf(X, _laplacian(X, graph), k, gamma=self.gamma)
