"""The kept nodes of one side of the matrix, by the user's wish."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from .._backend import Array
from ..graphs.spectrum import smooth_signals
from .coherence import optimal_distribution
from .draw import check_indices, draw, importance_weights

# Of optimal draws: a tenth of uniform chances costs a tenth more draws and keeps importance weights below 10, so that
# an underestimated coherence cannot make one sample outweigh the rest.
UNIFORM_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Kept:
    """The nodes kept of one side.

    Attributes
    ----------
    indices
        Sorted node numbers.
    weights
        Importance weights, see :func:`importance_weights`; None where all are 1.
    """

    indices: Array
    weights: Array | None = None


def choose(
    given: Any,
    size: int,
    graph: Any,
    *,
    optimal_for: int | None = None,
    random_state: Any = None,
    name: str = "indices",
) -> Kept:
    """Nodes to keep: the user's ``given`` indices, checked, or a draw of ``size`` nodes.

    The draw is uniform, or by the optimal distribution for ``optimal_for`` smooth signals. ``graph`` is a Graph, or a
    number of nodes where there is none.
    """
    known = None if isinstance(graph, Integral) else graph
    n_nodes = int(graph) if known is None else known.n_nodes
    if given is not None:
        return Kept(check_indices(given, n_nodes, name=name, graph=known))
    if size == n_nodes:
        return Kept(np.arange(n_nodes))
    if optimal_for is None or known is None:
        return Kept(draw(graph, size, random_state=random_state))
    k = smooth_signals(known, optimal_for)
    distribution = optimal_distribution(known, k, uniform_share=UNIFORM_SHARE, random_state=random_state)
    indices = draw(known, size, distribution=distribution, random_state=random_state)
    return Kept(indices, importance_weights(indices, distribution, size))
