"""Metrics of clusters: against classes, or against a graph."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import column_or_1d

from .._typing import Array
from ..graphs import GraphLike
from .recovery import same_shape

COMPILED_ABOVE = 20_000  # edges; below, numpy finishes before a compiled kernel is loaded


def clustering_error(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of misclassified samples under the best one-to-one matching of clusters to classes.

    Samples of clusters without a class are misclassified.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Classes and clusters.

    Examples
    --------
    >>> clustering_error([0, 0, 1, 1], [1, 1, 0, 1])
    0.25
    """
    counts = contingency_matrix(*_labels(y_true, y_pred))
    matched = counts[linear_sum_assignment(counts, maximize=True)].sum()
    return float(1 - matched / counts.sum())


def normalized_mutual_information(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Mutual information of clusters and classes over their mean entropy: 1 if they are identical, 0 if independent.

    Same as :func:`sklearn.metrics.normalized_mutual_info_score`.
    """
    return float(normalized_mutual_info_score(*_labels(y_true, y_pred)))


def adjusted_rand_index(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Rand index adjusted for chance: agreement of clusters and classes on pairs of samples.

    Same as :func:`sklearn.metrics.adjusted_rand_score`: 1 for identical, about 0 for random clusters.
    """
    return float(adjusted_rand_score(*_labels(y_true, y_pred)))


def modularity(weights: GraphLike, labels: ArrayLike) -> float:
    """Modularity: share of the edge weights within clusters, minus its expectation for random edges of equal degrees.

    It needs no true labels. About 0 is no better than chance; the maximum is 1.

    Parameters
    ----------
    weights : Graph or matrix of edge weights of shape (n_nodes, n_nodes)
    labels : array-like of shape (n_nodes,)
        Clusters.

    Examples
    --------
    >>> modularity([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], [0, 0, 1, 1])
    0.5
    """
    return _modularity(*_cluster_sums(weights, labels))


def conductance(
    weights: GraphLike, labels: ArrayLike, n_clusters: int | None = None, *, min_share: float = 0.0
) -> float:
    """Mean conductance of the clusters: the share of their edge weights that leaves them (normalized cut / K).

    It needs no true labels. 0 if no edge connects two clusters, 1 if no edge lies within one. Unlike in modularity,
    small clusters count as much as large ones.

    Parameters
    ----------
    weights : Graph or matrix of edge weights of shape (n_nodes, n_nodes)
    labels : array-like of shape (n_nodes,)
        Clusters.
    n_clusters : int or None, default=None
        Expected number of clusters; each that is missing, or has no edge, counts as 1. None for those in ``labels``.
    min_share : float, default=0.0
        Least share of the mean volume (sum of degrees) of a cluster. What a smaller cluster lacks counts as edge weight
        that leaves it, so that a few nodes with hardly any outside edge are not a good cluster.

    Examples
    --------
    >>> round(conductance([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]], [0, 0, 1, 1]), 3)
    0.333
    """
    return _conductance(*_cluster_sums(weights, labels), n_clusters, min_share)


def conductance_and_modularity(
    weights: GraphLike, labels: ArrayLike, n_clusters: int, *, min_share: float = 0.0
) -> tuple[float, float]:
    """Both, from one pass over the edges."""
    sums = _cluster_sums(weights, labels)
    return _conductance(*sums, n_clusters, min_share), _modularity(*sums)


def _modularity(inside: Array, volume: Array) -> float:
    total = volume.sum()
    return float(inside.sum() / total - np.sum((volume / total) ** 2)) if total > 0 else 0.0


def _conductance(inside: Array, volume: Array, n_clusters: int | None, min_share: float) -> float:
    n_clusters = n_clusters or len(volume)
    least = np.maximum(volume, min_share * volume.sum() / n_clusters)
    share = np.divide(inside, least, out=np.zeros_like(volume), where=volume > 0)
    return float(1 - share.sum() / n_clusters)


def _cluster_sums(weights: GraphLike, labels: ArrayLike) -> tuple[Array, Array]:
    """Edge weights inside each cluster of ``labels`` (both ends count), and the degrees of its nodes."""
    W = sp.csr_array(getattr(weights, "weights", weights))
    membership = _numbered(column_or_1d(labels))
    if W.shape != (len(membership), len(membership)):
        raise ValueError(f"{len(membership)} labels do not fit edge weights of shape {W.shape}.")
    n_found = int(membership.max(initial=-1)) + 1
    if W.nnz > COMPILED_ABOVE:
        from ..kernels.moves import cluster_sums

        inside, volume = cluster_sums(W.indptr, W.indices, W.data, membership, n_found)
        return inside, volume
    rows = np.repeat(membership, np.diff(W.indptr))
    within = W.data * (rows == membership[W.indices])
    # Without any edge bincount returns integers.
    inside, volume = (
        np.bincount(rows, weights=data, minlength=n_found).astype(np.float64) for data in (within, W.data)
    )
    return inside, volume


def _numbered(labels: Array) -> Array:
    """Replace labels by their ranks, from 0."""
    if labels.dtype.kind in "iu" and labels.size and labels.min() >= 0 and labels.max() < labels.size:
        return (np.cumsum(np.bincount(labels) > 0) - 1)[labels]  # without sorting
    return np.unique(labels, return_inverse=True)[1]


def _labels(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[Array, Array]:
    return same_shape(column_or_1d(y_true), column_or_1d(y_pred))
