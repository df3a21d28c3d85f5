"""Kron reduction: the graph that the kept nodes see when the others are eliminated."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu
from sklearn.utils import check_random_state

from .._backend import Array
from .._threads import limit_threads
from ..graphs import Graph, as_graph
from ..graphs.locality import inverse_order, renumber
from ..sampling import check_indices

Method = Literal["auto", "exact", "random_walk"]

EXACT_UP_TO = 500  # nodes: above, a dense answer makes every later product slow, and walks stay sparse
DENSE_LIMIT = 20_000  # kept nodes: the exact answer would take over 3 GB
NEGLIGIBLE = 1e-14  # relative to the degrees at both ends: rounding, not structure


def kron_reduce(
    graph: Graph | Any,
    keep: Array,
    method: Method = "auto",
    *,
    n_repeats: int = 2,
    max_steps: int = 100_000,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Graph:
    """Graph on the ``keep`` nodes whose Laplacian is the Schur complement ``L_kk - L_kd L_dd^-1 L_dk``.

    Effective resistances between kept nodes, and the value of smooth signals, are those of the full graph.

    Parameters
    ----------
    graph
        A ``Graph`` or symmetric weight matrix.
    keep
        Indices of the nodes to keep; each connected component needs one.
    method
        "exact" eliminates the others by sparse factorisation; the answer is close to dense. "random_walk" estimates
        it without bias: sparse, with memory in proportion to the edges and time to the edges times the length of a
        walk. "auto" is exact up to 500 nodes.
    n_repeats
        Walks from each edge; the error falls like 1 / sqrt(n_repeats) and the edges of the answer grow with it.
    max_steps
        A walk this long is given up, and its conductance lost: it is caught in a group tied to kept nodes by vanishing
        weights, or kept nodes are very far apart (long chains; use "exact" there). A warning is issued if more than
        1 % of the walks are.
    random_state
        Seed of the walks. The answer does not depend on the number of threads.
    n_jobs
        Threads; None for every core.

    Examples
    --------
    >>> from graphlowrank.graphs import path_graph
    >>> kron_reduce(path_graph(3), [0, 2], "exact").weights.toarray()
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    graph = as_graph(graph)
    keep = check_indices(keep, graph.n_nodes, name="keep", graph=graph)
    if len(keep) == graph.n_nodes:
        return graph
    method = chosen_method(method, graph)
    if method == "exact":
        return Graph(_schur_weights(graph.weights, keep))
    if method != "random_walk":
        raise ValueError(f"method must be 'auto', 'exact' or 'random_walk', got {method!r}.")
    if n_repeats < 1 or max_steps < 1:
        raise ValueError(f"n_repeats and max_steps must be positive, got {n_repeats} and {max_steps}.")
    from .random_walk import random_walk_weights

    seed = int(check_random_state(random_state).randint(2**31 - 1))
    with limit_threads(n_jobs):
        near = graph.renumbered
        nodes = near.nodes(keep)
        order = np.argsort(nodes, kind="stable").astype(np.int32)  # walks end near where they begin: so in memory
        weights = random_walk_weights(
            near.weights, nodes[order], n_repeats=n_repeats, max_steps=max_steps, seed=seed
        )  # fmt: skip
        if near.order is None:
            return Graph(weights)
        return Graph(renumber(weights, inverse_order(order)).weights, order)


def chosen_method(method: Method, graph: Graph) -> Method:
    """Return the method, with what stands for "auto" on this graph."""
    if method != "auto":
        return method
    return "exact" if graph.n_nodes <= EXACT_UP_TO else "random_walk"


def _schur_weights(weights: sp.csr_array, keep: Array) -> sp.csr_array:
    """Weights of the exact Kron reduction, ``-offdiag(L_kk - L_kd L_dd^-1 L_dk)``."""
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
    columns = max(1, 50_000_000 // max(len(dropped), 1))
    for start in range(0, len(keep), columns):
        block = slice(start, start + columns)
        reduced[:, block] += W_dk.T @ factor.solve(W_dk[:, block].toarray())
    np.fill_diagonal(reduced, 0)
    reduced = (reduced + reduced.T) / 2
    size = np.sqrt(degrees[keep])
    reduced[reduced < NEGLIGIBLE * size[:, None] * size] = 0
    return sp.csr_array(reduced.astype(weights.dtype))
