"""Which samples and features are kept.

The nodes are drawn uniformly without replacement (the paper's eq. for M_c and M_r). A connected component without a
kept node could not be decoded, so each one is guaranteed a node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ._backend import Array
from .graphs import Graph, as_graph


def draw(graph: Graph | Any, size: int, *, random_state: Any = None) -> Array:
    """Draw ``size`` nodes uniformly without replacement, then one more from each component left out.

    Parameters
    ----------
    graph
        A ``Graph`` or weight matrix; an int stands for that many nodes without a graph.
    size
        Nodes to draw, between 1 and all of them.
    random_state
        Seed.

    Returns
    -------
    indices
        Sorted node numbers: ``size`` of them plus one per component the draw had missed.

    Examples
    --------
    >>> from graphlowrank.graphs import chain_graph
    >>> draw(chain_graph(10), 3, random_state=0)
    array([2, 4, 8])
    """
    rng = check_random_state(random_state)
    components = np.zeros(graph, dtype=int) if isinstance(graph, int) else as_graph(graph).components
    n_nodes = len(components)
    if not 1 <= size <= n_nodes:
        raise ValueError(f"size must be between 1 and {n_nodes} (the number of nodes), got {size}.")
    drawn = rng.choice(n_nodes, size, replace=False)
    missed = np.setdiff1d(components, components[drawn])
    if missed.size:
        # A random order makes the first node of each component a uniform draw from it.
        order = rng.permutation(n_nodes)
        found, first = np.unique(components[order], return_index=True)
        drawn = np.concatenate([drawn, order[first[np.isin(found, missed)]]])
    return np.sort(drawn)


def choose(given: Any, size: int, graph: Graph | int, *, random_state: Any = None, name: str = "indices") -> Array:
    """Sorted nodes to keep: the user's ``given`` indices, checked, or a draw of ``size`` nodes.

    ``graph`` may be a number of nodes where there is no graph.
    """
    n_nodes = graph if isinstance(graph, int) else graph.n_nodes
    if given is not None:
        return check_indices(given, n_nodes, name=name, graph=None if isinstance(graph, int) else graph)
    return np.arange(n_nodes) if size == n_nodes else draw(graph, size, random_state=random_state)


def check_indices(indices: Any, n_nodes: int, *, name: str, graph: Graph | None = None) -> Array:
    """Return the user's ``indices`` sorted, or say what is wrong with them.

    They must be distinct whole numbers in range, and reach every component of ``graph``.
    """
    kept = np.asarray(indices)
    if kept.dtype == bool:
        if kept.shape != (n_nodes,):
            raise ValueError(f"{name} given as a mask must have length {n_nodes}, got shape {kept.shape}.")
        kept = np.flatnonzero(kept)
    if kept.ndim != 1 or kept.size == 0 or not np.issubdtype(kept.dtype, np.integer):
        raise ValueError(f"{name} must be a non-empty 1-D array of whole numbers, got {indices!r}.")
    if kept.min() < 0 or kept.max() >= n_nodes:
        raise ValueError(f"{name} must lie between 0 and {n_nodes - 1}, got {kept.min()} to {kept.max()}.")
    kept = np.sort(kept)
    if np.any(kept[1:] == kept[:-1]):
        raise ValueError(f"{name} holds a number twice.")
    if graph is not None:
        check_reach(graph, kept, name=name)
    return kept


def check_reach(graph: Graph, keep: Array, *, name: str = "keep") -> None:
    """Raise if a component of ``graph`` has no node in ``keep``."""
    missed = np.setdiff1d(graph.components, graph.components[keep])
    if missed.size:
        example = int(np.flatnonzero(graph.components == missed[0])[0])
        raise ValueError(
            f"{name} leaves {missed.size} connected component(s) of the graph without a kept node "
            f"(one holds node {example}); their values could not be decoded."
        )
