"""Numbering of the nodes that puts neighbours close together in memory.

Products and walks on a graph that is larger than the cache wait for memory at every edge, unless the neighbours of a
node lie near each other. On a million nodes this halves the time of upsampling. The order of a breadth-first search
serves as well as that of reverse Cuthill-McKee, and comes with the connected components. Where the neighbours were
searched in cells, going from cell to cell is better still: walks take three quarters of the time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._backend import Array
from .._threads import map_ranges, single_threaded_libraries

FEW = 8  # points whose order does not matter
RENUMBERED_ABOVE = 100_000  # nodes; smaller graphs fit the third-level cache, and renumbering costs more than it saves


@dataclass(frozen=True, eq=False)
class Renumbered:
    """Weights of a graph whose node i is node ``order[i]`` of the original; None for the original numbering."""

    weights: sp.csr_array
    order: Array | None

    def nodes(self, indices: Array) -> Array:
        """Return the new numbers of the nodes ``indices``."""
        if self.order is None:
            return indices
        return inverse_order(self.order)[indices]

    def restore(self, signals: Array) -> Array:
        """Put rows in the new numbering back in the original one."""
        if self.order is None:
            return signals
        restored = np.empty_like(signals)
        restored[self.order] = signals
        return restored


def near_each_other(points: Array) -> Array:
    """Order in which near points come near each other: halves along the widest direction, again and again."""
    order = np.arange(len(points))
    parts = [slice(0, len(points))]
    with single_threaded_libraries():
        while parts:
            part = parts.pop()
            size = part.stop - part.start
            if size <= FEW:
                continue
            centred = points[order[part]] - points[order[part]].mean(axis=0)
            along = centred @ np.linalg.eigh(centred.T @ centred)[1][:, -1]
            order[part] = order[part][np.argsort(along, kind="stable")]
            middle = part.start + size // 2
            parts += [slice(part.start, middle), slice(middle, part.stop)]
    return order


def breadth_first_order(weights: sp.csr_array) -> tuple[Array, Array]:
    """Component of each node, and the nodes in the order of a breadth-first search."""
    from ..kernels.components import breadth_first

    labels, order = (np.empty(weights.shape[0], dtype=np.int32) for _ in range(2))
    breadth_first(weights.indptr, weights.indices, labels, order)
    return labels, order


def inverse_order(order: Array) -> Array:
    """Place of each node in an order."""
    position = np.empty_like(order)
    position[order] = np.arange(len(order), dtype=order.dtype)
    return position


def renumber(weights: sp.csr_array, order: Array) -> Renumbered:
    """Renumber the nodes of a graph: its node ``order[i]`` becomes node i."""
    from ..kernels.components import permute_rows

    n_nodes, position = weights.shape[0], inverse_order(order)
    indptr = np.concatenate([[0], np.cumsum(np.diff(weights.indptr)[order])]).astype(weights.indptr.dtype)
    indices, data = np.empty_like(weights.indices), np.empty_like(weights.data)
    map_ranges(
        permute_rows, n_nodes, order, position, weights.indptr, weights.indices, weights.data, indptr, indices, data
    )
    return Renumbered(sp.csr_array((data, indices, indptr), shape=weights.shape), order)
