"""Spectral sparsification: fewer edges, the same Laplacian in expectation."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from .._checks import is_number
from .._typing import RandomState
from ..graphs import Graph, GraphLike, as_graph


def sparsify(graph: GraphLike, edges_per_node: float = 20.0, *, random_state: RandomState = None) -> Graph:
    """Sparsify a graph at random, to at most ``edges_per_node`` edges per node on average.

    An edge of weight w between nodes of degree d_i and d_j is kept with probability
    ``min(1, edges_per_node w (1 / d_i + 1 / d_j))`` and its weight is divided by that. The bracket approximates the
    effective resistance of the edge (Spielman and Srivastava, 2011) where the graph has no bottleneck. If the draw
    disconnects a component, the graph is returned unchanged.

    Parameters
    ----------
    graph : Graph or matrix of edge weights
    edges_per_node : float, default=20.0
        The terms ``w (1 / d_i + 1 / d_j)`` sum to the number of nodes, so this bounds the expected number of edges.
    random_state : int, RandomState or None, default=None

    Examples
    --------
    >>> sparsify(np.ones((100, 100)) - np.eye(100), edges_per_node=10, random_state=0).n_edges < 1200
    True
    """
    graph = as_graph(graph)
    if not (is_number(edges_per_node) and edges_per_node > 0):
        raise ValueError(f"edges_per_node must be positive, got {edges_per_node!r}.")
    if graph.n_edges <= edges_per_node * graph.n_nodes:
        return graph
    edges = sp.triu(graph.weights, 1).tocoo()
    degrees = graph.degrees
    probability = edges_per_node * edges.data * (1 / degrees[edges.row] + 1 / degrees[edges.col])
    drawn = check_random_state(random_state).random_sample(len(probability)) < probability
    weights = (edges.data[drawn] / np.minimum(probability[drawn], 1)).astype(edges.data.dtype)
    half = sp.coo_array((weights, (edges.row[drawn], edges.col[drawn])), shape=graph.weights.shape)
    sparse = Graph(sp.csr_array(half + half.T), validate=False)
    return sparse if sparse.n_components == graph.n_components else graph
