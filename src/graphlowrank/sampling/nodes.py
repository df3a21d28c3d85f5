"""Random draws of nodes, and the record of those that were kept.

Nodes are drawn without replacement, uniformly (M_c and M_r of the paper) or by a distribution.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .._checks import is_count
from .._typing import Array, RandomState
from ..graphs import Graph, GraphLike, as_graph
from ..graphs.locality import inverse_order
from ..graphs.spectrum import smooth_signals
from .coherence import optimal_distribution

# Mixed into optimal draws: costs a tenth more draws and keeps importance weights below 10, so an underestimated
# coherence cannot make one sample outweigh the rest.
UNIFORM_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class SampledNodes:
    """The samples, or the features, that were kept.

    Attributes
    ----------
    graph : Graph or None
        Graph on all n nodes; None if everything was kept or the decoder does without.
    indices : ndarray of int of shape (m,), sorted
    weights : ndarray of shape (m,) or None
        Importance weights of a non-uniform draw; None for ones.
    """

    graph: Graph | None
    indices: Array
    weights: Array | None = None

    @classmethod
    def all_of(cls, n_nodes: int, weights: Array | None = None) -> Self:
        """All nodes, without a graph."""
        return cls(None, np.arange(n_nodes), weights)

    @property
    def complete(self) -> bool:
        """Whether there is nothing to interpolate: no graph, or all nodes kept."""
        return self.graph is None or len(self.indices) == self.graph.n_nodes

    def root_weights(self) -> Array:
        """(m,) square roots of the importance weights."""
        return np.ones(len(self.indices)) if self.weights is None else np.sqrt(self.weights)

    def restored(self, order: Array) -> Self:
        """Kept nodes of a graph, from those of the graph whose node i is node ``order[i]``."""
        kept = order[self.indices]
        by = np.argsort(kept)
        return replace(
            self,
            graph=None if self.graph is None else self.graph.permuted(inverse_order(order)),
            indices=kept[by],
            weights=None if self.weights is None else self.weights[by],
        )

    def loss_weights(self, given: Array | None) -> Array | None:
        """Given loss weights (n,) of the kept nodes, times their importance weights (m,); None for ones."""
        if given is None:
            return self.weights
        kept = given[self.indices]
        if not kept.any():
            raise ValueError(
                "every kept sample, or every kept feature, has weight 0; keep more, or remove them from X."
            )
        return kept if self.weights is None else kept * self.weights


def sample_nodes(
    graph: Graph | None,
    n_nodes: int,
    size: int,
    *,
    given: ArrayLike | None = None,
    optimal_for: int | None = None,
    random_state: RandomState = None,
    name: str = "indices",
) -> SampledNodes:
    """Keep the ``given`` nodes, or draw ``size`` of them.

    Parameters
    ----------
    graph : Graph or None
        Graph on all ``n_nodes`` nodes.
    n_nodes, size : int
        Numbers of nodes, and of nodes to draw.
    given : array-like of int or bool, or None, default=None
        The user's indices or mask, which are checked; ``name`` is their name in error messages.
    optimal_for : int or None, default=None
        Draw by the optimal distribution for so many smooth signals; None draws uniformly.
    random_state : int, RandomState or None, default=None
    name : str, default="indices"
    """
    if given is not None:
        return SampledNodes(graph, check_indices(given, n_nodes, name=name, graph=graph))
    if size == n_nodes:
        return SampledNodes(graph, np.arange(n_nodes))
    if optimal_for is None or graph is None:
        return SampledNodes(graph, draw(graph or n_nodes, size, random_state=random_state))
    k = smooth_signals(graph, optimal_for)
    distribution = optimal_distribution(graph, k, uniform_share=UNIFORM_SHARE, random_state=random_state)
    indices = draw(graph, size, distribution=distribution, random_state=random_state)
    return SampledNodes(graph, indices, importance_weights(indices, distribution, size))


def draw(
    graph: GraphLike | int, size: int, *, distribution: Array | None = None, random_state: RandomState = None
) -> Array:
    """Draw ``size`` nodes without replacement, then one more from each component that the draw missed.

    A connected component without a kept node could not be decoded. Returns sorted indices (n_kept,).

    Parameters
    ----------
    graph : Graph, matrix of edge weights, or int
        Graph; an int stands for that many nodes without a graph.
    size : int
        Number of nodes to draw, between 1 and n_nodes.
    distribution : ndarray of shape (n_nodes,) or None, default=None
        Probabilities with sum 1, see :func:`optimal_distribution`; None for uniform. Each node is kept with its
        probability of :func:`inclusion_probabilities`.
    random_state : int, RandomState or None, default=None

    Examples
    --------
    >>> from graphlowrank.graphs import path_graph
    >>> draw(path_graph(10), 3, random_state=0)
    array([2, 4, 8])
    """
    rng = check_random_state(random_state)
    components = np.zeros(graph, dtype=int) if isinstance(graph, int | np.integer) else as_graph(graph).components
    n_nodes = len(components)
    if not (is_count(size) and size <= n_nodes):
        raise ValueError(f"size must be between 1 and {n_nodes} (the number of nodes), got {size!r}.")
    if distribution is None:
        drawn = rng.choice(n_nodes, size, replace=False)
    else:
        drawn = _systematic(inclusion_probabilities(distribution, size, n_nodes), size, rng)
    missed = np.setdiff1d(components, components[drawn])
    if missed.size:
        # The first node of a component in a random order is a uniform draw from it.
        order = rng.permutation(n_nodes)
        found, first = np.unique(components[order], return_index=True)
        drawn = np.concatenate([drawn, order[first[np.isin(found, missed)]]])
    return np.sort(drawn)


def inclusion_probabilities(distribution: Array, size: int, n_nodes: int | None = None) -> Array:
    """Probability (n_nodes,) of each node to be among ``size`` distinct ones: ``min(1, c distribution)``, sum ``size``.

    Nodes that would be drawn more than once are kept with certainty.

    Parameters
    ----------
    distribution : ndarray of shape (n_nodes,)
        Probabilities of a single draw, >= 0.
    size : int
        Number of nodes to draw, at most the number of nonzero probabilities.
    n_nodes : int or None, default=None
        Length that ``distribution`` must have; None accepts any.

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
    descending = np.sort(distribution)[::-1]
    tails = np.cumsum(descending[::-1])[::-1]  # sum from each rank to the end
    # First rank that is not certain, given that all ranks before it are.
    n_certain = int(np.argmax(descending[:size] * (size - np.arange(size)) <= tails[:size] * (1 + 1e-12)))
    return np.minimum(distribution * ((size - n_certain) / tails[n_certain]), 1.0)


def _systematic(probabilities: Array, size: int, rng: np.random.RandomState) -> Array:
    """Systematic sampling: nodes drawn with exactly these inclusion probabilities, in a random order."""
    certain = np.flatnonzero(probabilities >= 1)
    order = rng.permutation(np.flatnonzero((probabilities > 0) & (probabilities < 1)))
    n_left = size - len(certain)
    if n_left == 0:
        return certain
    running = np.cumsum(probabilities[order])
    points = (rng.random_sample() + np.arange(n_left)) * (running[-1] / n_left)
    return np.concatenate([certain, order[np.searchsorted(running, points, side="right")]])


def importance_weights(indices: Array, distribution: Array, size: int) -> Array:
    """Return the importance weights (m,) of the m nodes of a :func:`draw`, ``(m / n) / inclusion probability``.

    ``(n / m) sum_i w_i x_i^2`` over the kept nodes has expectation ``||x||^2``, up to the nodes that were added for
    their component. A uniform draw has weights 1.

    Parameters
    ----------
    indices : ndarray of int of shape (m,)
        Nodes drawn.
    distribution, size : ndarray of shape (n_nodes,), int
        Arguments of that draw.

    Examples
    --------
    >>> importance_weights(np.array([0, 2]), np.array([0.7, 0.1, 0.1, 0.1]), 2)
    array([0.5, 1.5])
    """
    included = inclusion_probabilities(distribution, size)
    # A node with probability 0 can only have been added for its component.
    weights = np.divide(size / len(included), included, out=np.ones_like(included), where=included > 0)
    return weights[indices] * (len(indices) / size)


def check_indices(indices: ArrayLike, n_nodes: int, *, name: str, graph: Graph | None = None) -> Array:
    """Sort the indices (or boolean mask) of a user: distinct, in range, with a node of every component of ``graph``."""
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
    """Raise ValueError if a component of ``graph`` has no node in ``keep``."""
    missed = np.setdiff1d(graph.components, graph.components[keep])
    if missed.size:
        example = int(np.flatnonzero(graph.components == missed[0])[0])
        raise ValueError(
            f"{name} leaves {missed.size} connected component(s) of the graph without a kept node "
            f"(one holds node {example}); their values could not be decoded."
        )
