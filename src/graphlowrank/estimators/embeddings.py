"""PCA on a graph of the samples, in two closed forms."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
from sklearn.utils.validation import check_is_fitted, validate_data

from .._backend import Array
from .._progress import Progress
from ..graphs import Graph
from ..graphs.laplacian import LaplacianKind
from ..models import Embedding, solve_glpca, solve_mmf
from ..two_graphs import sample_side
from ._base import DTYPES, ComponentTransformer, check_number


class _GraphEmbedding(ComponentTransformer):
    """What both models do around their equation."""

    n_components: int | None

    def _solve(self, X: Array, graph: Graph | None, k: int) -> Embedding:
        raise NotImplementedError

    def _most_components(self, n_samples: int, n_features: int) -> tuple[int, str]:
        return min(n_samples, n_features), "samples or features"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the samples of ``X`` (n_samples, n_features); ``y`` is ignored."""
        settings = self._settings()
        self._check_weight()
        X = self._check_training_data(X, settings)
        most, what = self._most_components(*X.shape)
        k = self._check_n_components(self.n_components, at_most=most, what=what)
        self.offset_ = X.mean(axis=0, dtype=np.float64).astype(X.dtype)

        def work(rng: RandomState, progress: Progress) -> tuple[Graph | None, Embedding]:
            with progress.stage("sample graph"):
                graph = sample_side(X, settings, rng).graph
            with progress.stage("embedding"):
                return graph, self._solve(X - self.offset_, graph, k)

        (self.sample_graph_, found), progress = self._run(settings, work)
        self.embedding_ = found.scores
        self.components_ = found.components
        self.n_components_ = k
        self.stage_seconds_ = progress.seconds
        self._say(X, [self._rank_choice(k)])
        return self

    def _check_weight(self) -> None:
        raise NotImplementedError

    def transform(self, X: Any) -> Array:
        """Scores of samples on the components, by least squares; the graph plays no part.

        Each sample is fitted on its own, and training samples are treated like new ones; the graph-smoothed scores of
        the training samples are ``embedding_``.

        Parameters
        ----------
        X
            (n_samples, n_features).

        Returns
        -------
        scores
            (n_samples, n_components_).
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=DTYPES, reset=False)
        # Directions that the data do not have are rounding: not to be divided by.
        rounding = max(self.components_.shape) * float(np.finfo(self.components_.dtype).eps)
        inverse = np.linalg.pinv(self.components_.astype(np.float64), rcond=rounding).astype(X.dtype)
        return (X - self.offset_.astype(X.dtype)) @ inverse


def _laplacian(X: Array, graph: Graph | None, kind: LaplacianKind = "combinatorial") -> sp.csr_array:
    """Laplacian in the precision of the data; zeros for no graph."""
    L = sp.csr_array((len(X), len(X))) if graph is None else graph.unit_laplacian(kind)
    return L.astype(X.dtype)


class GraphLaplacianPCA(_GraphEmbedding):
    """``min (1 - beta) ||X - Q C||^2 / a + beta tr(Q^T L Q) / b`` s.t. ``Q^T Q = I`` (GLPCA, Jiang et al. 2013).

    a and b are the largest eigenvalues of ``X X^T`` and of the graph Laplacian. The data are centred.

    Parameters
    ----------
    n_components
        Number of components; None takes 10, or as many as there can be.
    beta
        Between 0 (PCA) and 1 (Laplacian eigenmaps).
    laplacian
        "normalized", "combinatorial" as in the paper, or "auto": normalized, with which beta means the same whether or
        not a few nodes of the graph have many neighbours.
    n_neighbors, sample_graph, neighbors, n_jobs, random_state, verbose
        As in :class:`CompressivePCA`.

    Attributes
    ----------
    embedding_ : (n_samples, n_components_)
        Q, orthonormal columns: the samples, smooth on the graph. Cluster these.
    components_ : (n_components_, n_features)
        C = Q^T X.
    offset_, n_components_, sample_graph_, stage_seconds_
        Mean of the data, and what was chosen and used.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from graphlowrank import GraphLaplacianPCA
    >>> GraphLaplacianPCA(5).fit(load_digits().data[:200]).embedding_.shape
    (200, 5)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        beta: float = 0.5,
        laplacian: str = "auto",
        n_neighbors: int = 10,
        sample_graph: Any = "knn",
        neighbors: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.beta = beta
        self.laplacian = laplacian
        self.n_neighbors = n_neighbors
        self.sample_graph = sample_graph
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_weight(self) -> None:
        check_number(self.beta, "beta", at_most=1)

    def _most_components(self, n_samples: int, n_features: int) -> tuple[int, str]:
        return n_samples - 1, "samples, less the constant vector"

    def _solve(self, X: Array, graph: Graph | None, k: int) -> Embedding:
        kind = self._settings().laplacian_kind("normalized")
        null = None
        if graph is not None and kind == "normalized":
            null = np.sqrt(graph.degrees) / max(np.sqrt(graph.degrees.sum()), np.finfo(np.float64).tiny)
        return solve_glpca(X, _laplacian(X, graph, kind), k, beta=self.beta, null=null)


class ManifoldMF(_GraphEmbedding):
    """``min ||X - V C||^2 + gamma tr(V^T L V)`` s.t. ``C C^T = I`` (MMF, Zhang and Zhao 2013).

    The data are centred and the Laplacian is divided by its mean diagonal.

    Parameters
    ----------
    n_components
        Number of components; None takes 10, or as many as there can be.
    gamma
        Weight of the graph; 0 is PCA.
    n_neighbors, sample_graph, neighbors, n_jobs, random_state, verbose
        As in :class:`CompressivePCA`.

    Attributes
    ----------
    embedding_ : (n_samples, n_components_)
        V: the samples, smooth on the graph. Cluster these.
    components_ : (n_components_, n_features)
        C, orthonormal rows.
    offset_, n_components_, sample_graph_, stage_seconds_
        Mean of the data, and what was chosen and used.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from graphlowrank import ManifoldMF
    >>> ManifoldMF(5).fit(load_digits().data[:200]).embedding_.shape
    (200, 5)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        gamma: float = 10.0,
        n_neighbors: int = 10,
        sample_graph: Any = "knn",
        neighbors: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.sample_graph = sample_graph
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_weight(self) -> None:
        check_number(self.gamma, "gamma")

    def _solve(self, X: Array, graph: Graph | None, k: int) -> Embedding:
        return solve_mmf(X, _laplacian(X, graph), k, gamma=self.gamma)
