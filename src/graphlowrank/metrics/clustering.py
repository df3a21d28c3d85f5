"""Scores of clusters: against classes, or against a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import column_or_1d

from .._backend import Array
from ._shapes import same_shape


def clustering_error(y_true: Any, y_pred: Any) -> float:
    """Share of samples in the wrong cluster under the best matching of clusters to classes.

    Each cluster is matched to one class at most; the samples of clusters left over are wrong.

    Examples
    --------
    >>> clustering_error([0, 0, 1, 1], [1, 1, 0, 1])
    0.25
    """
    y_true, y_pred = _labels(y_true, y_pred)
    counts = contingency_matrix(y_true, y_pred)
    matched = counts[linear_sum_assignment(counts, maximize=True)].sum()
    return float(1 - matched / len(y_true))


def normalized_mutual_information(y_true: Any, y_pred: Any) -> float:
    """Information that clusters and classes share, over the mean of theirs: 1 if they are the same, 0 if independent.

    scikit-learn's, with the arithmetic mean.

    Examples
    --------
    >>> normalized_mutual_information([0, 0, 1, 1], ["b", "b", "a", "a"])
    1.0
    """
    return float(normalized_mutual_info_score(*_labels(y_true, y_pred)))


def adjusted_rand_index(y_true: Any, y_pred: Any) -> float:
    """Pairs of samples kept together or apart alike, less those of chance: 1 if all are, about 0 for random clusters.

    scikit-learn's; negative where clusters are worse than chance.

    Examples
    --------
    >>> adjusted_rand_index([0, 0, 1, 1], [0, 1, 0, 1])
    -0.5
    """
    return float(adjusted_rand_score(*_labels(y_true, y_pred)))


def modularity(weights: Any, labels: Any) -> float:
    """Share of a graph's weight that lies within clusters, less what random edges of the same degrees would put there.

    It needs no truth: it says how well clusters and graph agree, from about 0 (no better than chance) to 1.

    Examples
    --------
    >>> modularity([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], [0, 0, 1, 1])
    0.5
    """
    W = sp.csr_array(getattr(weights, "weights", weights))
    membership = np.unique(column_or_1d(labels), return_inverse=True)[1].astype(np.int32)
    degrees = np.asarray(W.sum(axis=1, dtype=np.float64)).ravel()
    total = degrees.sum()
    if total == 0:
        return 0.0
    same = np.repeat(membership, np.diff(W.indptr)) == membership[W.indices]
    within = np.sum(W.data, where=same, dtype=np.float64) / total
    shares = np.bincount(membership, weights=degrees) / total
    return float(within - np.sum(shares**2))


def conductance(weights: Any, labels: Any, n_clusters: int | None = None) -> float:
    """Mean over clusters of the share of their edges' weight that leads out of them: the normalised cut, over K.

    It needs no truth: 0 if no edge joins two clusters, 1 if none lies within one. Unlike the modularity it gives small
    clusters the same say as large ones.

    Parameters
    ----------
    weights
        Graph or symmetric matrix of weights.
    labels
        (n_nodes,) clusters.
    n_clusters
        Clusters that there should be; each that is missing, or has no edge, counts as 1. None for those that there are.

    Examples
    --------
    >>> round(conductance([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]], [0, 0, 1, 1]), 3)
    0.333
    """
    W = sp.csr_array(getattr(weights, "weights", weights))
    names, membership = np.unique(column_or_1d(labels), return_inverse=True)
    membership = membership.astype(np.int32)
    rows = np.repeat(membership, np.diff(W.indptr))
    # Without any edge bincount forgets that weights are no whole numbers.
    volume = np.bincount(rows, weights=W.data, minlength=len(names)).astype(np.float64)
    inside = np.bincount(rows, weights=W.data * (rows == membership[W.indices]), minlength=len(names))
    held = np.divide(inside, volume, out=np.zeros_like(volume), where=volume > 0)
    return float(1 - held.sum() / (n_clusters or len(names)))


def _labels(y_true: Any, y_pred: Any) -> tuple[Array, Array]:
    return same_shape(column_or_1d(y_true), column_or_1d(y_pred))
