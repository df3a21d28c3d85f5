"""Scores of recovered matrices and clusters against the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import check_consistent_length, column_or_1d

from ._backend import Array


def clustering_error(y_true: Any, y_pred: Any) -> float:
    """Share of samples in the wrong cluster under the best matching of clusters to classes.

    Examples
    --------
    >>> clustering_error([0, 0, 1, 1], [1, 1, 0, 1])
    0.25
    """
    y_true, y_pred = column_or_1d(y_true), column_or_1d(y_pred)
    check_consistent_length(y_true, y_pred)
    counts = contingency_matrix(y_true, y_pred)
    matched = counts[linear_sum_assignment(counts, maximize=True)].sum()
    return float(1 - matched / len(y_true))


def recovery_error(X_true: Any, X_recovered: Any) -> float:
    """Relative error ``||X_recovered - X_true||_F / ||X_true||_F``.

    Examples
    --------
    >>> recovery_error([[3.0, 4.0]], [[3.0, 4.5]])
    0.1
    """
    truth: Array = np.asarray(X_true, dtype=np.float64)
    if truth.shape != np.shape(X_recovered):
        raise ValueError(f"shapes differ: {truth.shape} and {np.shape(X_recovered)}.")
    return float(np.linalg.norm(np.asarray(X_recovered) - truth) / np.linalg.norm(truth))


def modularity(weights: Any, labels: Any) -> float:
    """Share of a graph's weight that lies within clusters, less what random edges of the same degrees would put there.

    It needs no truth: it says how well clusters and graph agree, from about 0 (no better than chance) to 1.

    Examples
    --------
    >>> modularity([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], [0, 0, 1, 1])
    0.5
    """
    W = sp.csr_array(weights)
    membership = np.unique(column_or_1d(labels), return_inverse=True)[1].astype(np.int32)
    degrees = np.asarray(W.sum(axis=1, dtype=np.float64)).ravel()
    total = degrees.sum()
    if total == 0:
        return 0.0
    same = np.repeat(membership, np.diff(W.indptr)) == membership[W.indices]
    within = np.sum(W.data, where=same, dtype=np.float64) / total
    shares = np.bincount(membership, weights=degrees) / total
    return float(within - np.sum(shares**2))
