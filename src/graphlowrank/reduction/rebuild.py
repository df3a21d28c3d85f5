"""Reduction of a graph by name."""

from __future__ import annotations

from typing import Literal

from sklearn.utils import check_random_state

from .._backend import Array
from .._typing import RandomState
from ..graphs import Graph, knn_graph
from ..preprocessing.sparse import Data
from .kron import chosen_method, kron_reduce
from .sparsify import sparsify

Reduction = Literal["auto", "exact", "random_walk", "rebuild"]

# Errors of clustering (USPS, MNIST) and of recovery (rings, clusters) are the same with 1, 2 and 4 walks per edge.
WALKS_PER_EDGE = 1
# Walks leave 58 edges per node on MNIST, and FRPCAG takes time proportional to it; errors are the same with 12.
EDGES_PER_NODE = 12.0


def reduce_graph(
    graph: Graph | None,
    keep: Array,
    points: Data,
    reduction: Reduction,
    n_neighbors: int,
    random_state: RandomState = None,
) -> Graph | None:
    """Reduced graph on the kept nodes.

    Parameters
    ----------
    graph : Graph or None
        Graph on all nodes; None returns None.
    keep : ndarray of shape (n_kept,)
        Kept nodes; if these are all, ``graph`` is returned.
    points : ndarray or ShiftedSparse of shape (n_nodes, n_dimensions)
        Points that the graph was built on, for "rebuild".
    reduction : {"auto", "exact", "random_walk", "rebuild"}
        Kron reduction by the method of :func:`kron_reduce`, where the result of random walks is sparsified; or
        "rebuild", the k-nearest-neighbor graph of the kept points. The latter ignores the nodes in between and is
        clearly worse (clustering error on USPS 0.25-0.28 instead of 0.21-0.23); it serves as a baseline.
    n_neighbors : int
        Neighbors for "rebuild".
    random_state : int, RandomState or None, default=None
        Random seed.

    Examples
    --------
    >>> import numpy as np
    >>> from graphlowrank.graphs import path_graph
    >>> reduce_graph(path_graph(5), np.array([0, 2, 4]), np.arange(5.0)[:, None], "exact", 1).n_edges
    2
    """
    if graph is None or len(keep) == graph.n_nodes:
        return graph
    if reduction == "rebuild":
        return knn_graph(points[keep], min(n_neighbors, len(keep) - 1), random_state=random_state)
    method, rng = chosen_method(reduction, graph), check_random_state(random_state)
    reduced = kron_reduce(graph, keep, method, n_repeats=WALKS_PER_EDGE, random_state=rng)
    return reduced if method == "exact" else sparsify(reduced, EDGES_PER_NODE, random_state=rng)
