"""Fewer edges for a graph that a reduction has made dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from ..graphs import Graph, as_graph


def sparsify(graph: Graph | Any, edges_per_node: float = 20.0, *, random_state: Any = None) -> Graph:
    """Graph with at most ``edges_per_node`` edges per node on average, and the same Laplacian in expectation.

    An edge of weight w between nodes of degree d_i and d_j stays with probability
    ``min(1, edges_per_node w (1 / d_i + 1 / d_j))`` and is made heavier by its inverse. The bracket stands for the
    effective resistance of the edge (Spielman and Srivastava, 2011), which it is close to where a graph has no
    bottleneck. Where it has one, a draw may cut the only edges across; then the graph is returned as it was.

    Parameters
    ----------
    graph
        A ``Graph`` or symmetric weight matrix.
    edges_per_node
        The shares ``w (1 / d_i + 1 / d_j)`` add up to the number of nodes, so this bounds the expected number kept.
    random_state
        Seed of the draw.

    Examples
    --------
    >>> import numpy as np
    >>> sparsify(np.ones((100, 100)) - np.eye(100), edges_per_node=10, random_state=0).n_edges < 1200
    True
    """
    graph = as_graph(graph)
    if not edges_per_node > 0:
        raise ValueError(f"edges_per_node must be positive, got {edges_per_node}.")
    if graph.n_edges <= edges_per_node * graph.n_nodes:
        return graph
    edges = sp.triu(graph.weights, 1).tocoo()
    degrees = graph.degrees
    stays = edges_per_node * edges.data * (1 / degrees[edges.row] + 1 / degrees[edges.col])
    drawn = check_random_state(random_state).random_sample(len(stays)) < stays
    weights = (edges.data[drawn] / np.minimum(stays[drawn], 1)).astype(edges.data.dtype)
    half = sp.coo_array((weights, (edges.row[drawn], edges.col[drawn])), shape=graph.weights.shape)
    sparse = Graph(sp.csr_array(half + half.T))
    return sparse if sparse.n_components == graph.n_components else graph
