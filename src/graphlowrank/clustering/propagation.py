"""Labels by majority among neighbors: a rough interpolation, for labels that are refined afterwards."""

import numpy as np
import scipy.sparse as sp

from .._threads import map_ranges
from .._typing import Array

N_SWEEPS = 2  # after every node has a label


def propagate_labels(small: Array, kept: Array, weights: sp.csr_array) -> Array:
    """Labels (n,) of all nodes of a graph from those of the kept ones, at the cost of a few passes over the edges.

    Parameters
    ----------
    small, kept
        (m,) labels from 0 on, and the (m,) nodes that keep them.
    weights
        (n, n) symmetric edge weights.

    Returns
    -------
    ndarray
        -1 for nodes in components without a kept node.
    """
    n, n_labels = weights.shape[0], int(small.max(initial=0)) + 1
    labels, fixed = np.full(n, -1, dtype=np.int32), np.zeros(n, dtype=bool)
    labels[kept], fixed[kept] = small, True
    if len(kept) == n:
        return labels.astype(np.int64)
    from ..kernels.moves import majority_labels

    edges = weights.indptr, weights.indices, weights.data

    def sweep(start: int, stop: int, labels: Array, found: Array) -> None:
        majority_labels(start, stop, *edges, fixed, labels, np.zeros(n_labels), found)

    sweeps_left, n_reached = N_SWEEPS, len(kept)
    while sweeps_left:
        found = np.empty_like(labels)
        map_ranges(sweep, n, labels, found)
        before, n_reached, labels = n_reached, int((found >= 0).sum()), found
        sweeps_left -= n_reached == before  # the first sweeps only reach more nodes
    return labels.astype(np.int64)
