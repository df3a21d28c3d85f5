"""One partition from several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from .._backend import Array


def consensus(memberships: Sequence[Array], first: int = 0) -> Array:
    """Mean membership (n_samples, n_clusters) of several partitions, their clusters numbered like those of ``first``.

    If that left a cluster without samples, ``first`` is returned.

    Parameters
    ----------
    memberships
        (n_samples, n_clusters) each, rows that sum to 1.
    first
        Which of them the clusters are matched to, so that as many samples as possible agree.
    """
    reference = memberships[first].argmax(axis=1)
    mean = np.mean([_like(membership, reference) for membership in memberships], axis=0)
    # A cluster that only one draw sees can be outvoted everywhere; none is to be left without a sample.
    outvoted = len(np.unique(mean.argmax(axis=1))) < len(np.unique(reference))
    return memberships[first] if outvoted else mean


def _like(membership: Array, reference: Array) -> Array:
    """Columns in the order that agrees best with the reference."""
    n_clusters = membership.shape[1]
    every = np.arange(n_clusters)  # a cluster may be empty, but must have its row
    counts = contingency_matrix(np.r_[reference, every], np.r_[membership.argmax(axis=1), every])
    _, columns = linear_sum_assignment(counts, maximize=True)
    return membership[:, columns]
