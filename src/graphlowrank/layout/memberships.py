"""Edge weights that do not depend on the density: the fuzzy neighborhoods of UMAP (McInnes, Healy, Melville 2018)."""

import numpy as np
import scipy.sparse as sp

from .._threads import map_ranges
from .._typing import Array
from ..graphs import Graph

MEAN_DEGREE = 5.0  # of evened weights; those of memberships of 15 neighbors have 6.5


def membership_graph(graph: Graph, n_neighbors: int) -> Graph:
    """Graph of the same edges in their cache-friendly numbering, each with the probability that its ends are neighbors.

    The membership of a neighbor at distance d is ``exp(-(d - d_1) / s)``, where d_1 is the distance of the nearest and
    s makes those of the ``n_neighbors`` nearest sum to ``log2(n_neighbors + 1)``. The weight of an edge is the
    probability that either end counts the other, ``p + q - p q``. Distances come from Gaussian edge weights:
    ``sqrt(-log(weight))`` is the distance in some unit, which cancels. If weights are above 1, all are divided by the
    largest.
    """
    from ..kernels.layout import unite_memberships

    weights = graph.renumbered.weights
    if not weights.has_sorted_indices:
        weights = weights.sorted_indices()
    distances = np.empty_like(weights.data)
    largest, least = weights.data.max(initial=1), np.finfo(weights.dtype).tiny

    def measure(start: int, stop: int) -> None:
        entries = slice(weights.indptr[start], weights.indptr[stop])
        shares = np.clip(weights.data[entries] / largest, least, 1)
        distances[entries] = np.sqrt(-np.log(shares))

    map_ranges(measure, graph.n_nodes)
    memberships = calibrated(weights.indptr, distances, n_neighbors)
    united = distances  # no longer needed
    map_ranges(unite_memberships, graph.n_nodes, weights.indptr, weights.indices, memberships, united)
    found = sp.csr_array((united, weights.indices, weights.indptr), shape=weights.shape)
    if not united.all():
        found = found.copy()  # the indices are those of the given graph
        found.eliminate_zeros()
    # It is in a good order already.
    order = None if graph.renumbered.order is None else np.arange(graph.n_nodes, dtype=np.int32)
    return Graph(found, order, validate=False)


def calibrated(indptr: Array, distances: Array, n_neighbors: int) -> Array:
    """Membership of each entry of CSR rows of distances, see :func:`membership_graph`."""
    from ..kernels.layout import calibrate_memberships

    memberships = np.empty_like(distances)

    def calibrate(start: int, stop: int) -> None:
        calibrate_memberships(start, stop, indptr, distances, np.empty(n_neighbors), memberships)

    map_ranges(calibrate, len(indptr) - 1)
    return memberships


def evened(graph: Graph) -> sp.csr_array:
    """Weights of a reduced graph divided by the roots of the degrees of both ends, so that degrees are about 5."""
    weights = graph.weights
    roots = np.sqrt(np.maximum(graph.degrees, np.finfo(weights.dtype).tiny))
    products = np.repeat(roots, np.diff(weights.indptr)) * roots[weights.indices]
    data = np.minimum(MEAN_DEGREE * weights.data / products, 1).astype(weights.dtype)
    return sp.csr_array((data, weights.indices, weights.indptr), shape=weights.shape)
