"""Compressive clustering."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._backend import Array
from .._progress import Progress
from .._threads import limit_threads
from ..decoders import Labels
from ..graphs.build import gaussian_weights
from ..graphs.neighbours import nearest_to
from ..pipeline import Compressed, cluster, compress
from ._base import DTYPES, GraphEstimator, check_count


class CompressiveClustering(ClusterMixin, GraphEstimator):
    """Clusters of large noisy data: k-means on a small robust low-rank matrix, labels spread over the sample graph.

    Parameters
    ----------
    n_clusters
        Number of clusters.
    scores
        What k-means sees of the compressed low-rank matrix: "whitened", its first 1.5 n_clusters directions with equal
        weight and every sample at unit length, so that strong factors (light on faces) and faint samples do not
        decide; "scaled", its principal scores, which is k-means on the matrix itself as in the paper; "auto" takes
        the whitened ones unless the sample graph speaks clearly for the others (modularity higher by 0.05).
    gamma_labels
        0 keeps the labels of the kept samples as k-means gave them (Algorithm 3); more lets their neighbours overrule
        them.
    laplacian
        "combinatorial", "normalized", or "auto": normalized, which gives dense and sparse regions equal say.
    downsampling, gamma_samples, gamma_features, loss, huber_delta, n_neighbors, sample_graph, feature_graph, neighbors
        As in :class:`CompressivePCA`.
    sampling, reduction, tol, max_iter, n_jobs, random_state, verbose
        As in :class:`CompressivePCA`.

    Attributes
    ----------
    labels_ : (n_samples,)
        Cluster of each training sample.
    soft_labels_ : (n_samples, n_clusters)
        Membership; rows sum to 1.
    scores_
        Scores that were used, "whitened" or "scaled".
    rank_
        Rank of the compressed low-rank matrix: singular values of at least 0.1 of the first.
    n_iter_, converged_, sample_indices_, feature_indices_, sample_weights_, feature_weights_
        What was done and kept; weights are None for a uniform draw.
    sample_graph_, feature_graph_, scale_, stage_seconds_
        What was chosen, done and used.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from graphlowrank import CompressiveClustering
    >>> X = load_digits().data
    >>> CompressiveClustering(10, random_state=0).fit_predict(X).shape
    (1797,)
    """

    labels_: Array
    soft_labels_: Array
    rank_: int
    _fit_X: Array  # noqa: N815

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        downsampling: Any = "auto",
        gamma_samples: Any = "auto",
        gamma_features: Any = "auto",
        loss: str = "l1",
        huber_delta: float = 1.0,
        scores: Any = "auto",
        gamma_labels: float = 0.0,
        n_neighbors: int = 10,
        sample_graph: Any = "knn",
        feature_graph: Any = "knn",
        neighbors: str = "auto",
        laplacian: str = "auto",
        sampling: Any = "uniform",
        reduction: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.downsampling = downsampling
        self.gamma_samples = gamma_samples
        self.gamma_features = gamma_features
        self.loss = loss
        self.huber_delta = huber_delta
        self.scores = scores
        self.gamma_labels = gamma_labels
        self.n_neighbors = n_neighbors
        self.sample_graph = sample_graph
        self.feature_graph = feature_graph
        self.neighbors = neighbors
        self.laplacian = laplacian
        self.sampling = sampling
        self.reduction = reduction
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples of ``X`` (n_samples, n_features); ``y`` is ignored."""
        settings = self._settings()
        if self.scores not in ("auto", "whitened", "scaled"):
            raise ValueError(f"scores must be 'auto', 'whitened' or 'scaled'; got {self.scores!r}.")
        if not (isinstance(self.gamma_labels, Real) and 0 <= self.gamma_labels < np.inf):
            raise ValueError(f"gamma_labels must be a number >= 0; got {self.gamma_labels!r}.")
        X = self._check_training_data(X, settings)
        check_count(self.n_clusters, "n_clusters", at_most=len(X), what="samples")
        kept = settings.kept(*X.shape)[0]
        check_count(self.n_clusters, "n_clusters", at_most=kept, what="kept samples (see downsampling)")
        settings.check_decodable(*X.shape, features=False)

        def work(rng: RandomState, progress: Progress) -> tuple[Compressed, Labels]:
            kind = settings.laplacian_kind("normalized")
            small = compress(X, settings, laplacian=kind, rank=self.n_clusters, rng=rng, progress=progress)
            return small, cluster(
                small, self.n_clusters, progress=progress, scores=self.scores, gamma=self.gamma_labels, random_state=rng
            )

        (small, found), progress = self._run(settings, work)
        self._store(small, progress)
        self.labels_ = found.labels
        self.soft_labels_ = found.soft_labels
        self.scores_ = found.scores
        self.rank_ = found.rank
        self._fit_X = X
        return self

    def predict(self, X: Any) -> Array:
        """Cluster of new samples, from their nearest training samples in feature space.

        A new sample takes the mean of its neighbours' soft labels, weighted by the graph's kernel around it: the value
        that label decoding would give a node added to a neighbour graph.

        Parameters
        ----------
        X
            (n_samples, n_features).

        Returns
        -------
        labels
            (n_samples,).
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=DTYPES, reset=False)
        with limit_threads(self.n_jobs):
            distances, indices = nearest_to(X, self._fit_X, min(self.n_neighbors, len(self._fit_X)))
        # Relative to the nearest one: the common factor cancels in the mean, and far samples do not underflow.
        excess = np.sqrt(distances**2 - distances[:, :1] ** 2)
        weights = gaussian_weights(excess, distances.mean(axis=1, keepdims=True))
        return np.einsum("ij,ijk->ik", weights, self.soft_labels_[indices]).argmax(axis=1)
