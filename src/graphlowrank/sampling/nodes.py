"""The sampled nodes of one axis of the matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Array, RandomState
from ..graphs import Graph
from ..graphs.spectrum import smooth_signals
from .coherence import optimal_distribution
from .draw import check_indices, draw, importance_weights

# Mixed into optimal draws: costs a tenth more draws and keeps importance weights below 10, so an underestimated
# coherence cannot make one sample outweigh the rest.
UNIFORM_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class SampledNodes:
    """The samples, or the features, that were kept.

    Attributes
    ----------
    graph : Graph or None
        Graph on all nodes; None if everything was kept or the decoder does without.
    indices : ndarray of shape (m,)
        Sorted indices of the kept nodes.
    weights : ndarray of shape (m,) or None
        Importance weights of a non-uniform draw; None for ones.
    """

    graph: Graph | None
    indices: Array
    weights: Array | None = None

    @classmethod
    def all_of(cls, n_nodes: int, weights: Array | None = None) -> SampledNodes:
        """All nodes, without a graph."""
        return cls(None, np.arange(n_nodes), weights)

    @property
    def complete(self) -> bool:
        """Whether there is nothing to interpolate: no graph, or all nodes kept."""
        return self.graph is None or len(self.indices) == self.graph.n_nodes

    def root_weights(self) -> Array:
        """(m,) square roots of the importance weights."""
        return np.ones(len(self.indices)) if self.weights is None else np.sqrt(self.weights)

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
        Graph on all nodes.
    n_nodes : int
        Number of nodes.
    size : int
        Nodes to draw.
    given : array-like of int or bool, or None
        The user's indices or mask, which are checked.
    optimal_for : int or None
        Draw by the optimal distribution for so many smooth signals; None draws uniformly.
    random_state : int, RandomState or None
        Seed of the draw.
    name : str
        Name of ``given`` in error messages.
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
