"""Epochs of a layout: every node is attracted by its neighbors, and repelled by random nodes.

The forces are those of UMAP with the kernel ``1 / (1 + d^2)`` of LargeVis (Tang, Liu, Zhang, Mei 2016):

    attraction  4 w / (1 + d^2) (other - own),    repulsion  2 r w / ((0.001 + d^2) (1 + d^2)) (own - other).

Each epoch reads the positions after the last one and writes new ones, so nodes are moved in any number of threads with
the same result. A node moves along its edges one after another, with all of their weight; SGD would draw edges.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._threads import map_ranges
from .._typing import Array

# r above. UMAP's 5 negative samples for each edge are 5; more repulsion preserves more neighbors, as in t-SNE, but does
# not bring together what the start has apart.
REPULSION = 80.0


def lay_out(
    weights: Any,
    start: Array,
    *,
    n_epochs: int,
    step: float = 1.0,
    repulsion: float = REPULSION,
    n_negative: int = 2,
    seed: int = 0,
    callback: Callable[[int, float], None] | None = None,
) -> Array:
    """Positions (n, d) after epochs of forces with steps that fall linearly from ``step`` to 0.

    Parameters
    ----------
    weights
        (n, n) csr_array of edge weights between 0 and 1.
    start
        (n, d) first positions.
    n_epochs, step, repulsion
        Number of epochs; first step; weight of the repulsion.
    n_negative
        Random nodes for each edge, which share the weight of the repulsion: more are slower and less noisy.
    seed
        Of the random nodes.
    callback
        Called with the number and the step of each epoch.
    """
    from ..kernels.layout import move_points

    edges = weights.indptr, weights.indices, weights.data
    keys = np.arange(len(start), dtype=np.int64)
    old, new = start.copy(), np.empty_like(start)
    for epoch in range(n_epochs):
        now = step * (1 - epoch / n_epochs)
        map_ranges(move_points, len(start), *edges, keys, old, old, seed, epoch, now, repulsion, n_negative, new)
        old, new = new, old
        if callback is not None:
            callback(epoch + 1, now)
    return old


def oriented(positions: Array) -> Array:
    """Center positions, and turn them so that they extend most along the first axis."""
    centered = positions - positions.mean(axis=0, dtype=np.float64)
    _, axes = np.linalg.eigh(centered.T @ centered)
    axes = axes[:, ::-1] * np.where(axes[:, ::-1].sum(axis=0) < 0, -1, 1)
    return np.ascontiguousarray(centered @ axes, dtype=positions.dtype)
