"""What a decoder knows of one side of the matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._backend import Array
from ..graphs import Graph
from ..solvers.solution import Solution


@dataclass(frozen=True, eq=False)
class Side:
    """The samples, or the features, and which of them were kept.

    Attributes
    ----------
    graph
        Graph on all nodes; None where everything was kept or the decoder does without.
    indices
        (m,) sorted numbers of the kept nodes.
    weights
        (m,) importance weights of a draw that was not uniform; None for ones.
    """

    graph: Graph | None
    indices: Array
    weights: Array | None = None

    @property
    def complete(self) -> bool:
        """Whether there is nothing to decode: no graph, or all nodes kept."""
        return self.graph is None or len(self.indices) == self.graph.n_nodes

    def root_weights(self) -> Array:
        """(m,) square roots of the importance weights."""
        return np.ones(len(self.indices)) if self.weights is None else np.sqrt(self.weights)

    def unchanged(self, values: Array) -> Solution:
        """Return the values themselves: the answer where nothing is to be decoded."""
        return Solution(values, 0, converged=True, residual=0.0)
