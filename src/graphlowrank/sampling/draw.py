"""Which samples and features are kept.

The nodes are drawn without replacement, uniformly (the paper's eq. for M_c and M_r) or by a distribution. A connected
component without a kept node could not be decoded, so each one is guaranteed a node.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._backend import Array
from ..graphs import Graph, as_graph


def draw(graph: Graph | Any, size: int, *, distribution: Array | None = None, random_state: Any = None) -> Array:
    """Draw ``size`` nodes without replacement, then one more from each component left out.

    Parameters
    ----------
    graph
        A ``Graph`` or weight matrix; an int stands for that many nodes without a graph.
    size
        Nodes to draw, between 1 and all of them.
    distribution
        (n_nodes,) probabilities that sum to 1, see :func:`optimal_distribution`; None is uniform. A node is kept with
        the chance given by :func:`inclusion_probabilities`.
    random_state
        Seed.

    Returns
    -------
    indices
        Sorted node numbers: ``size`` of them plus one per component the draw had missed.

    Examples
    --------
    >>> from graphlowrank.graphs import path_graph
    >>> draw(path_graph(10), 3, random_state=0)
    array([2, 4, 8])
    """
    rng = check_random_state(random_state)
    components = np.zeros(graph, dtype=int) if isinstance(graph, Integral) else as_graph(graph).components
    n_nodes = len(components)
    if not 1 <= size <= n_nodes:
        raise ValueError(f"size must be between 1 and {n_nodes} (the number of nodes), got {size}.")
    if distribution is None:
        drawn = rng.choice(n_nodes, size, replace=False)
    else:
        drawn = _systematic(inclusion_probabilities(distribution, size, n_nodes), size, rng)
    missed = np.setdiff1d(components, components[drawn])
    if missed.size:
        # A random order makes the first node of each component a uniform draw from it.
        order = rng.permutation(n_nodes)
        found, first = np.unique(components[order], return_index=True)
        drawn = np.concatenate([drawn, order[first[np.isin(found, missed)]]])
    return np.sort(drawn)


def inclusion_probabilities(distribution: Array, size: int, n_nodes: int | None = None) -> Array:
    """Chance (n_nodes,) of each node to be among ``size`` distinct ones: ``min(1, c distribution)``, summing to size.

    Nodes so likely that they would be drawn more than once are kept for certain.

    Examples
    --------
    >>> inclusion_probabilities(np.array([0.7, 0.1, 0.1, 0.1]), 2).round(3)
    array([1.   , 0.333, 0.333, 0.333])
    """
    distribution = np.asarray(distribution, dtype=np.float64)
    n_nodes = n_nodes or len(distribution)
    if distribution.shape != (n_nodes,) or not np.all(np.isfinite(distribution)) or distribution.min() < 0:
        raise ValueError(f"distribution must hold {n_nodes} finite numbers >= 0.")
    possible = int(np.count_nonzero(distribution))
    if possible < size:
        raise ValueError(f"distribution lets only {possible} nodes be drawn, fewer than size={size}.")
    falling = np.sort(distribution)[::-1]
    tails = np.cumsum(falling[::-1])[::-1]  # sum from each rank on
    certain = np.arange(size)
    # The first rank that is not certain any more once those above it are.
    n_certain = int(np.argmax(falling[:size] * (size - certain) <= tails[:size] * (1 + 1e-12)))
    scale = (size - n_certain) / tails[n_certain]
    return np.minimum(distribution * scale, 1.0)


def _systematic(chances: Array, size: int, rng: np.random.RandomState) -> Array:
    """Nodes drawn with exactly these ``chances``: equally spaced points on their running sum, in a random order."""
    certain = np.flatnonzero(chances >= 1)
    order = rng.permutation(np.flatnonzero((chances > 0) & (chances < 1)))
    n_left = size - len(certain)
    if n_left == 0:
        return certain
    running = np.cumsum(chances[order])
    points = (rng.random_sample() + np.arange(n_left)) * (running[-1] / n_left)
    return np.concatenate([certain, order[np.searchsorted(running, points, side="right")]])


def importance_weights(indices: Array, distribution: Array, size: int) -> Array:
    """Weight ``(m / n) / chance of being kept`` of each of the m nodes of a draw: makes its sums fair to all nodes.

    ``(n / m) sum_i w_i x_i^2`` over the kept nodes has ``||x||^2`` as its expectation, but for what nodes that were
    added for their component's sake bring on top. A uniform draw of ``size`` nodes has weights 1.
    """
    chances = inclusion_probabilities(distribution, size)
    # A node with chance 0 can only have been added for its component's sake.
    fair = np.divide(size / len(chances), chances, out=np.ones_like(chances), where=chances > 0)
    return fair[indices] * (len(indices) / size)


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
