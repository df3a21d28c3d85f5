"""Cluster labels: of all samples from the kept ones (Algorithm 3), consensus of several draws, and of new samples."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import check_random_state

from .._threads import map_ranges
from .._typing import Array, RandomState
from ..decoders.penalty import fit_smooth
from ..graphs import LaplacianKind
from ..graphs.knn import gaussian_weights
from ..linalg.svd import rank_of
from ..preprocessing.missing import has_missing
from ..preprocessing.sparse import Data, is_sparse
from ..sampling.nodes import SampledNodes
from .kmeans import Scores, cluster_scores, k_means, leading_directions

MEMBERSHIP_TOL = 1e-5
MAX_DOUBLINGS = 10  # of the weight of the best draw in a consensus
MAX_SUMS, SUM_ENTRIES = 16, 2_000_000  # partial sums of rows, and what they may hold in all
FIT_ON = 20_000  # kept samples that k-means fits its centers on


@dataclass(frozen=True, eq=False)
class Labels:
    """Cluster of each sample."""

    labels: Array  # (n_samples,)
    soft_labels: Array  # (n_samples, n_clusters) membership: rows are non-negative and sum to 1
    scores: str  # what k-means clustered: "whitened" or "scaled"
    rank: int  # of the compressed matrix: singular values of at least a tenth of the first


def decode_labels(
    X_small: Array,
    samples: SampledNodes,
    n_clusters: int,
    *,
    feature_weights: Array | None = None,
    directions: tuple[Array, Array] | None = None,
    gamma: float = 0.0,
    scores: Scores = "whitened",
    laplacian: LaplacianKind = "combinatorial",
    tol: float = MEMBERSHIP_TOL,
    n_init: int = 10,
    random_state: RandomState = None,
) -> Labels:
    """Cluster the compressed samples by k-means and interpolate the labels C over the sample graph (Algorithm 3).

    ``min tr(C^T L C)  s.t.  M C = C_small``, or with gamma > 0 ``min ||M C - C_small||^2 + gamma tr(C^T L C)``, which
    can change a label that all its neighbors contradict.

    Parameters
    ----------
    X_small
        (n_kept_samples, n_kept_features) solution of FRPCAG.
    samples
        Graph on all samples (None if everything was kept), kept nodes and importance weights.
    feature_weights
        (n_kept_features,) importance weights of the kept features; None for ones.
    directions
        :func:`~graphlowrank.clustering.kmeans.leading_directions` of ``X_small``, if they are known.
    gamma
        See above. The Laplacian is divided by its mean diagonal.
    scores
        See :func:`~graphlowrank.clustering.kmeans.cluster_scores`; "matrix" is ``X_small`` itself.
    laplacian, tol
        Of the interpolation, see :func:`~graphlowrank.decoders.fit_smooth`.
    n_clusters, n_init, random_state
        Number of clusters, and restarts and seed of k-means.
    """
    rng = check_random_state(random_state)
    directions = directions or leading_directions(X_small, n_clusters, samples.weights, feature_weights)
    if scores == "matrix":
        points, used = X_small, "matrix"
    else:
        points, used = cluster_scores(*directions, n_clusters, scores)
    fit_on = None if scores == "matrix" else FIT_ON
    small, _ = k_means(points, n_clusters, n_init, rng, samples.weights, fit_on=fit_on)
    labels, soft = interpolate_labels(
        small, samples, n_clusters, X_small.dtype, gamma=gamma, tol=tol, laplacian=laplacian
    )
    return Labels(labels, soft, used, rank_of(directions[1]))


def interpolate_labels(
    small: Array,
    samples: SampledNodes,
    n_clusters: int,
    dtype: Any,
    *,
    gamma: float,
    tol: float = MEMBERSHIP_TOL,
    laplacian: LaplacianKind = "combinatorial",
) -> tuple[Array, Array]:
    """Hard (n,) and soft (n, n_clusters) labels of all samples from the labels of the kept ones."""
    indicators = np.eye(n_clusters, dtype=dtype)[small]
    found = fit_smooth(samples, indicators, gamma=gamma, tol=tol, laplacian=laplacian)
    soft = np.clip(found.X, 0, None)  # the largest of a row is its label
    soft /= np.maximum(soft.sum(axis=1, keepdims=True), np.finfo(soft.dtype).tiny)
    return soft.argmax(axis=1), soft


def consensus(memberships: Sequence[Array], first: int = 0) -> Array:
    """Mean of several memberships (n_samples, n_clusters), whose rows sum to 1.

    Clusters are matched to those of ``memberships[first]``, so that as many samples as possible agree. A cluster that
    few partitions have can lose most of its samples in the mean: then ``memberships[first]`` counts twice as much, and
    so on, until every cluster has at least half of the samples it has there.
    """
    own = memberships[first]
    if len(memberships) == 1:
        return own
    n_clusters, reference = own.shape[1], own.argmax(axis=1)
    others = np.sum([_match(one, reference) for at, one in enumerate(memberships) if at != first], axis=0)
    sizes = np.bincount(reference, minlength=n_clusters)
    for doubling in range(MAX_DOUBLINGS):
        mean = (2**doubling * own + others) / (2**doubling + len(memberships) - 1)
        if (2 * np.bincount(mean.argmax(axis=1), minlength=n_clusters) >= sizes).all():
            return mean
    return own


def _match(membership: Array, reference: Array) -> Array:
    """Columns in the order of best agreement with the reference."""
    every = np.arange(membership.shape[1])  # so that an empty cluster has its row
    counts = contingency_matrix(np.r_[reference, every], np.r_[membership.argmax(axis=1), every])
    _, columns = linear_sum_assignment(counts, maximize=True)
    return membership[:, columns]


def cluster_means(X: Data, labels: Array, n_clusters: int) -> Array:
    """Mean (n_clusters, n_features) of the observed entries of each cluster; where there are none, that of all samples.

    In double precision; one cluster at a time if values are missing.
    """
    if not is_sparse(X) and not has_missing(X):
        return _complete_means(X, labels, n_clusters)
    everything = _observed_mean(X)
    means = np.tile(everything, (n_clusters, 1))
    for number in np.unique(labels):
        mean = _observed_mean(X[labels == number])
        means[number] = np.where(np.isnan(mean), everything, mean)
    return means


def block_means(blocks: Iterable[tuple[Array, Array]], n_clusters: int) -> Array:
    """Return the same for blocks of rows (m, p) and their labels (m,)."""
    sums = counts = np.zeros((n_clusters, 1))
    for X, labels in blocks:
        observed = ~np.isnan(X)
        members = sp.csr_array((np.ones(len(X)), (labels, np.arange(len(X)))), shape=(n_clusters, len(X)))
        sums = sums + members @ np.where(observed, X, 0.0).astype(np.float64)
        counts = counts + members @ observed.astype(np.float64)
    everything = sums.sum(axis=0) / np.maximum(counts.sum(axis=0), 1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), everything)


def _complete_means(X: Array, labels: Array, n_clusters: int) -> Array:
    from ..kernels.moves import add_rows

    n_sums = min(max(SUM_ENTRIES // (n_clusters * X.shape[1]), 1), MAX_SUMS)
    sums = np.zeros((n_sums, n_clusters, X.shape[1]))
    map_ranges(add_rows, n_sums, np.ascontiguousarray(X), labels, sums)
    total, counts = sums.sum(axis=0), np.bincount(labels, minlength=n_clusters)[:, None]
    return np.where(counts > 0, total / np.maximum(counts, 1), total.sum(axis=0) / max(len(X), 1))


def _observed_mean(X: Data) -> Array:
    """Mean (p,) of the observed entries of each feature, NaN if there are none."""
    if is_sparse(X):
        return X.mean()
    if not has_missing(X):
        return X.mean(axis=0, dtype=np.float64)
    count = (~np.isnan(X)).sum(axis=0)
    return np.divide(np.nansum(X, axis=0, dtype=np.float64), count, out=np.full(X.shape[1], np.nan), where=count > 0)


def memberships_of_new(distances: Array, indices: Array, soft_labels: Array) -> Array:
    """Soft labels (n, n_clusters) of new samples from their nearest training samples (n, k), nearest first.

    A new sample gets the mean of its neighbors' soft labels, weighted by the graph's kernel: the value that label
    interpolation gives a node added to the neighbor graph.
    """
    # Per sample in a power of two, which changes no bit: squares must not overflow.
    distances = np.ldexp(distances, -np.frexp(distances.max(axis=1, keepdims=True))[1])
    # Relative to the nearest one: the common factor cancels in the mean, and far samples do not underflow.
    excess = np.sqrt(distances**2 - distances[:, :1] ** 2)
    weights = gaussian_weights(excess, distances.mean(axis=1, keepdims=True))
    starts = np.arange(0, indices.size + 1, indices.shape[1])
    edges = sp.csr_array((weights.ravel(), indices.ravel(), starts), shape=(len(indices), len(soft_labels)))
    shares = np.asarray(edges @ soft_labels)
    return shares / shares.sum(axis=1, keepdims=True)
