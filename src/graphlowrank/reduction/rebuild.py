"""The reduction a setting names, for either side of the data."""

from __future__ import annotations

from typing import Any, Literal

from sklearn.utils import check_random_state

from .._backend import Array
from ..graphs import Graph, knn_graph
from ..preprocessing.sparse import Data
from .kron import chosen_method, kron_reduce
from .sparsify import sparsify

Reduction = Literal["auto", "exact", "random_walk", "rebuild"]

# More only cost: the errors of clustering (USPS, MNIST) and of recovery (rings, clusters) are the same with 1, 2 and 4.
WALKS_PER_EDGE = 1
# Walks leave 58 edges per node on MNIST, and FRPCAG takes time in proportion; errors are the same with 12, 20 and all.
EDGES_PER_NODE = 12.0


def reduce_graph(
    graph: Graph | None, keep: Array, points: Data, reduction: Reduction, n_neighbors: int, random_state: Any = None
) -> Graph | None:
    """Graph on the kept nodes: Kron-reduced, or with "rebuild" the neighbour graph of the kept ``points`` themselves.

    What random walks leave is sparsified. Rebuilding forgets the nodes in between and was measured clearly worse
    (clustering error on USPS 0.25-0.28 against 0.21-0.23); it is here to compare with.
    """
    if graph is None or len(keep) == graph.n_nodes:
        return graph
    if reduction == "rebuild":
        return knn_graph(points[keep], min(n_neighbors, len(keep) - 1), random_state=random_state)
    method, rng = chosen_method(reduction, graph), check_random_state(random_state)
    reduced = kron_reduce(graph, keep, method, n_repeats=WALKS_PER_EDGE, random_state=rng)
    return reduced if method == "exact" else sparsify(reduced, EDGES_PER_NODE, random_state=rng)
