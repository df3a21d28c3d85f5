"""Cluster labels of all samples: from those of the kept samples (Algorithm 3), and for new samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from .._typing import Array, RandomState
from ..decoders.penalty import fit_smooth
from ..graphs.knn import gaussian_weights
from ..graphs.search import nearest_to
from ..linalg.svd import rank_of
from ..preprocessing.sparse import Data
from ..sampling.nodes import SampledNodes
from .kmeans import Scores, cluster_scores, k_means, leading_directions

MEMBERSHIP_TOL = 1e-5
FIT_ON = 20_000  # kept samples that k-means fits its centers on


@dataclass(frozen=True, eq=False)
class Labels:
    """Cluster of each sample.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Cluster labels.
    soft_labels : ndarray of shape (n_samples, n_clusters)
        Membership: rows are non-negative and sum to 1.
    scores : str
        What k-means clustered: "whitened" or "scaled".
    rank : int
        Rank of the compressed matrix: singular values of at least a tenth of the first.
    """

    labels: Array
    soft_labels: Array
    scores: str
    rank: int


def decode_labels(
    X_small: Array,
    samples: SampledNodes,
    n_clusters: int,
    *,
    feature_weights: Array | None = None,
    directions: tuple[Array, Array] | None = None,
    gamma: float = 0.0,
    scores: Scores = "whitened",
    n_init: int = 10,
    random_state: RandomState = None,
) -> Labels:
    """Cluster the compressed samples by k-means and interpolate the labels C over the sample graph (Algorithm 3).

    ``min tr(C^T L C)  s.t.  M C = C_small``, or with gamma > 0 ``min ||M C - C_small||^2 + gamma tr(C^T L C)``, which
    can change a label that all its neighbors contradict.

    Parameters
    ----------
    X_small : ndarray of shape (n_kept_samples, n_kept_features)
        Solution of FRPCAG.
    samples : SampledNodes
        Graph on all samples (None if everything was kept), kept nodes and importance weights.
    n_clusters : int
        Number of clusters.
    feature_weights : ndarray of shape (n_kept_features,) or None
        Importance weights of the kept features; None for ones.
    directions : tuple of ndarray, or None
        :func:`~graphlowrank.clustering.kmeans.leading_directions` of ``X_small``, if they are known.
    gamma : float
        See above. The Laplacian is divided by its mean diagonal.
    scores : {"whitened", "scaled"}
        See :func:`~graphlowrank.clustering.kmeans.cluster_scores`.
    n_init : int
        Restarts of k-means.
    random_state : int, RandomState or None
        Seed of k-means.
    """
    rng = check_random_state(random_state)
    directions = directions or leading_directions(X_small, n_clusters, samples.weights, feature_weights)
    points, used = cluster_scores(*directions, n_clusters, scores)
    small = k_means(points, n_clusters, n_init, rng, samples.weights, fit_on=FIT_ON)
    labels, soft = interpolate_labels(small, samples, n_clusters, X_small.dtype, gamma=gamma)
    return Labels(labels, soft, used, rank_of(directions[1]))


def interpolate_labels(
    small: Array,
    samples: SampledNodes,
    n_clusters: int,
    dtype: Any = np.float64,
    *,
    gamma: float = 0.0,
    tol: float = MEMBERSHIP_TOL,
) -> tuple[Array, Array]:
    """Hard (n,) and soft (n, n_clusters) labels of all samples from the labels of the kept ones."""
    indicators = np.eye(n_clusters, dtype=dtype)[small]
    return pool(fit_smooth(samples, indicators, gamma=gamma, tol=tol).X)


def pool(indicators: Array) -> tuple[Array, Array]:
    """Hard and soft labels from interpolated indicators (Algorithm 3, step 3)."""
    soft = np.clip(indicators, 0, None)
    soft /= np.maximum(soft.sum(axis=1, keepdims=True), np.finfo(soft.dtype).tiny)
    return soft.argmax(axis=1), soft


def labels_of_new(X: Data, training: Data, soft_labels: Array, n_neighbors: int) -> Array:
    """Labels (n,) of new samples from their nearest training samples.

    A new sample gets the mean of its neighbors' soft labels, weighted by the graph's kernel: the value that label
    interpolation gives a node added to the neighbor graph.
    """
    distances, indices = nearest_to(X, training, min(n_neighbors, len(training)))
    # Relative to the nearest one: the common factor cancels in the mean, and far samples do not underflow.
    excess = np.sqrt(distances**2 - distances[:, :1] ** 2)
    weights = gaussian_weights(excess, distances.mean(axis=1, keepdims=True))
    starts = np.arange(0, indices.size + 1, indices.shape[1])
    edges = sp.csr_array((weights.ravel(), indices.ravel(), starts), shape=(len(X), len(training)))
    return np.asarray(edges @ soft_labels).argmax(axis=1)
