"""Consensus of several partitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from .._typing import Array

TIE_BREAK = 1e-6  # of a membership


def consensus(memberships: Sequence[Array], first: int = 0) -> Array:
    """Mean membership (n_samples, n_clusters) of several partitions, with clusters matched to those of ``first``.

    Parameters
    ----------
    memberships : sequence of ndarray of shape (n_samples, n_clusters)
        Rows sum to 1.
    first : int
        Partition that the others are matched to, so that as many samples as possible agree.
    """
    reference = memberships[first].argmax(axis=1)
    mean = np.mean([_match(membership, reference) for membership in memberships], axis=0)
    # A cluster that few partitions have can lose every sample: it keeps its strongest one.
    for empty in np.setdiff1d(reference, mean.argmax(axis=1)):
        sample = int(mean[:, empty].argmax())
        winner = int(mean[sample].argmax())
        mean[sample, [empty, winner]] = mean[sample, [winner, empty]] + [TIE_BREAK, -TIE_BREAK]
    return mean


def _match(membership: Array, reference: Array) -> Array:
    """Columns in the order of best agreement with the reference."""
    n_clusters = membership.shape[1]
    every = np.arange(n_clusters)  # so that an empty cluster has its row
    counts = contingency_matrix(np.r_[reference, every], np.r_[membership.argmax(axis=1), every])
    _, columns = linear_sum_assignment(counts, maximize=True)
    return membership[:, columns]
