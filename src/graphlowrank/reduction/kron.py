"""Reduced graphs on the kept nodes: Kron reduction, whose Laplacian is a Schur complement, and reduction by name."""

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.linalg import splu
from sklearn.utils import check_random_state

from .._threads import limit_threads
from .._typing import Array, RandomState
from ..graphs import Graph, GraphLike, LaplacianKind, as_graph, knn_graph
from ..graphs.locality import inverse_order, renumber
from ..linalg.blocks import row_blocks
from ..preprocessing.sparse import Data
from ..sampling import check_indices
from .sparsify import sparsify

Method = Literal["auto", "exact", "random_walk"]
Reduction = Literal["auto", "exact", "random_walk", "rebuild"]

EXACT_UP_TO = 500  # nodes: above, the dense result slows down every later product
DENSE_LIMIT = 20_000  # kept nodes: the exact result would take over 3 GB
ROUNDING_RTOL = 1e-14  # relative to the degrees at both ends; smaller weights are rounding errors
# Errors of clustering (USPS, MNIST) and of recovery (rings, clusters) are the same with 1, 2 and 4 walks per edge.
WALKS_PER_EDGE = 1
# Walks leave 58 edges per node on MNIST, and FRPCAG takes time proportional to it; errors are the same with 12.
EDGES_PER_NODE = 12.0


def kron_reduce(
    graph: GraphLike,
    keep: ArrayLike,
    method: Method = "auto",
    *,
    n_repeats: int = 2,
    max_steps: int = 100_000,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Graph:
    """Kron reduction: graph on the kept nodes with the Laplacian ``L_kk - L_kd L_dd^-1 L_dk``, a Schur complement.

    It preserves effective resistances between kept nodes, and the energy of harmonic extensions. If all nodes are kept,
    the graph itself is returned.

    Parameters
    ----------
    graph : Graph or matrix of edge weights of shape (n_nodes, n_nodes)
    keep : array-like of shape (n_kept,) or bool mask of shape (n_nodes,)
        Nodes to keep; each connected component needs one.
    method : {"auto", "exact", "random_walk"}, default="auto"
        "exact" eliminates the other nodes by sparse factorization; the result is nearly dense. "random_walk" is an
        unbiased sparse estimate, with memory proportional to the edges and time to the edges times the length of a
        walk. "auto" is exact up to 500 nodes.
    n_repeats : int, default=2
        Walks per edge; the error falls like 1 / sqrt(n_repeats) and the number of edges of the result grows with it.
    max_steps : int, default=100000
        Steps after which a walk is truncated, and its conductance lost. That happens in groups of nodes connected to
        kept ones by vanishing weights, or where kept nodes are far apart (long paths; use "exact" there). A
        RuntimeWarning is issued if more than 1 % of the walks are truncated.
    random_state : int, RandomState or None, default=None
        Seed of the walks.
    n_jobs : int or None, default=None
        Number of threads; None for all cores. The result does not depend on it.

    Examples
    --------
    >>> from graphlowrank.graphs import path_graph
    >>> kron_reduce(path_graph(3), [0, 2], "exact").weights.toarray()
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    graph = as_graph(graph)
    kept = check_indices(keep, graph.n_nodes, name="keep", graph=graph)
    if len(kept) == graph.n_nodes:
        return graph
    method = _chosen_method(method, graph)
    if method == "exact":
        return Graph(_schur_weights(graph.weights, kept))
    if method != "random_walk":
        raise ValueError(f"method must be 'auto', 'exact' or 'random_walk', got {method!r}.")
    if n_repeats < 1 or max_steps < 1:
        raise ValueError(f"n_repeats and max_steps must be positive, got {n_repeats} and {max_steps}.")
    from .random_walk import random_walk_weights

    seed = int(check_random_state(random_state).randint(2**31 - 1))
    with limit_threads(n_jobs):
        near = graph.renumbered
        nodes = near.nodes(kept)
        order = np.argsort(nodes, kind="stable").astype(np.int32)  # walks end near their start: the cache likes it
        weights = random_walk_weights(near.weights, nodes[order], n_repeats=n_repeats, max_steps=max_steps, seed=seed)
        if near.order is None:
            return Graph(weights, validate=False)
        return Graph(renumber(weights, inverse_order(order)).weights, order, validate=False)


def _chosen_method(method: Method, graph: Graph) -> Method:
    """Return the method, with "auto" resolved for this graph."""
    auto: Method = "exact" if graph.n_nodes <= EXACT_UP_TO else "random_walk"
    return auto if method == "auto" else method


def reduce_graph(
    graph: Graph | None,
    keep: Array,
    points: Data,
    reduction: Reduction,
    n_neighbors: int,
    random_state: RandomState = None,
) -> Graph | None:
    """Reduced graph on the kept nodes; None without a graph.

    Parameters
    ----------
    graph : Graph or None
        Graph on all nodes, which is returned if all are kept.
    keep : ndarray of int of shape (n_kept,)
    points : ndarray or ShiftedSparse of shape (n_nodes, n_dimensions)
        Points that the graph was built on, for "rebuild".
    reduction : {"auto", "exact", "random_walk", "rebuild"}
        Kron reduction by the method of :func:`kron_reduce`, where the result of random walks is sparsified; or
        "rebuild", the k-nearest-neighbor graph of the kept points. The latter ignores the nodes in between and is
        clearly worse (clustering error on USPS 0.25-0.28 instead of 0.21-0.23); it serves as a baseline.
    n_neighbors : int
        Neighbors for "rebuild".
    random_state : int, RandomState or None, default=None

    Examples
    --------
    >>> from graphlowrank.graphs import path_graph
    >>> reduce_graph(path_graph(5), np.array([0, 2, 4]), np.arange(5.0)[:, None], "exact", 1).n_edges
    2
    """
    if graph is None or len(keep) == graph.n_nodes:
        return graph
    if len(keep) == 1:
        return Graph(sp.csr_array((1, 1), dtype=graph.weights.dtype))
    if reduction == "rebuild":
        return knn_graph(points[keep], min(n_neighbors, len(keep) - 1), random_state=random_state)
    method, rng = _chosen_method(reduction, graph), check_random_state(random_state)
    reduced = kron_reduce(graph, keep, method, n_repeats=WALKS_PER_EDGE, random_state=rng)
    return reduced if method == "exact" else sparsify(reduced, EDGES_PER_NODE, random_state=rng)


def reduced_laplacian(graph: Graph | None, reduced: Graph | None, keep: Array, kind: LaplacianKind) -> Any:
    """Schur complement of the Laplacian of a graph, as the paper has it; None without a graph.

    That of the normalized Laplacian is the Schur complement of ``D - W``, which the exactly ``reduced`` graph has,
    divided by the roots of the degrees in the full graph, and not the normalized Laplacian of the reduced graph.

    Examples
    --------
    >>> from graphlowrank.graphs import path_graph
    >>> keep = np.array([0, 2])
    >>> reduced_laplacian(path_graph(4), kron_reduce(path_graph(4), keep), keep, "normalized").toarray().round(4)
    array([[ 0.5   , -0.3536],
           [-0.3536,  0.25  ]])
    """
    if graph is None or reduced is None:
        return None
    L = reduced.laplacian()
    if kind == "combinatorial":
        return L
    degrees = graph.degrees[keep]
    root = sp.diags_array(np.divide(1, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0))
    return (root @ L @ root).astype(L.dtype).tocsr()


def _schur_weights(weights: sp.csr_array, keep: Array) -> sp.csr_array:
    """Edge weights of the exact Kron reduction, ``-offdiag(L_kk - L_kd L_dd^-1 L_dk)``."""
    if len(keep) > DENSE_LIMIT:
        raise ValueError(
            f"exact Kron reduction to {len(keep)} nodes needs a dense matrix of {len(keep) ** 2 * 8 / 1e9:.0f} GB; "
            "use method='random_walk'."
        )
    dropped = np.setdiff1d(np.arange(weights.shape[0]), keep)
    W = weights.astype(np.float64)
    degrees = np.asarray(W.sum(axis=1)).ravel()
    W_dk = W[dropped][:, keep].tocsc()
    L_dd = sp.diags_array(degrees[dropped]) - W[dropped][:, dropped]
    factor = splu(L_dd.tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    reduced = W[keep][:, keep].toarray()
    for block in row_blocks(len(keep), len(dropped), entries=50_000_000):
        reduced[:, block] += W_dk.T @ factor.solve(W_dk[:, block].toarray())
    np.fill_diagonal(reduced, 0)
    reduced = (reduced + reduced.T) / 2
    size = np.sqrt(degrees[keep])
    reduced[reduced < ROUNDING_RTOL * np.outer(size, size)] = 0
    return sp.csr_array(reduced.astype(weights.dtype))
