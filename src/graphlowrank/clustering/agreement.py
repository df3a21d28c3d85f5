"""One partition from several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from .._backend import Array

NARROWLY = 1e-6  # of a membership: enough to break a tie


def consensus(memberships: Sequence[Array], first: int = 0) -> Array:
    """Mean membership (n_samples, n_clusters) of several partitions, their clusters numbered like those of ``first``.

    A cluster that would be left without samples keeps its strongest.

    Parameters
    ----------
    memberships
        (n_samples, n_clusters) each, rows that sum to 1.
    first
        Which of them the clusters are matched to, so that as many samples as possible agree.
    """
    reference = memberships[first].argmax(axis=1)
    mean = np.mean([_like(membership, reference) for membership in memberships], axis=0)
    # A cluster that few draws see can be outvoted everywhere: its strongest sample is left to it.
    for lost in np.setdiff1d(reference, mean.argmax(axis=1)):
        sample = int(mean[:, lost].argmax())
        winner = int(mean[sample].argmax())
        mean[sample, [lost, winner]] = mean[sample, [winner, lost]] + [NARROWLY, -NARROWLY]
    return mean


def _like(membership: Array, reference: Array) -> Array:
    """Columns in the order that agrees best with the reference."""
    n_clusters = membership.shape[1]
    every = np.arange(n_clusters)  # a cluster may be empty, but must have its row
    counts = contingency_matrix(np.r_[reference, every], np.r_[membership.argmax(axis=1), every])
    _, columns = linear_sum_assignment(counts, maximize=True)
    return membership[:, columns]
