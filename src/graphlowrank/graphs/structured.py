"""Graphs of regular structure: pixels of an image, samples of a time series."""

import numpy as np
import scipy.sparse as sp

from .._checks import is_count
from .graph import Graph


def grid_graph(shape: tuple[int, int], *, diagonals: bool = False) -> Graph:
    """Grid graph of the pixels of an image, in row-major order, with edge weights 1.

    Parameters
    ----------
    shape : tuple of int
        (height, width) of the image.
    diagonals : bool, default=False
        Connect each pixel to its 8 neighbors instead of 4.

    Examples
    --------
    >>> grid_graph((2, 3)).n_edges
    7
    """
    if len(shape) != 2 or not all(map(is_count, shape)):
        raise ValueError(f"shape must be two positive integers, got {shape}.")
    height, width = shape
    down, right = _path_weights(height), _path_weights(width)
    weights = sp.kron(down, sp.eye_array(width)) + sp.kron(sp.eye_array(height), right)
    if diagonals:
        weights = weights + sp.kron(down, right)
    return Graph(sp.csr_array(weights))


def path_graph(n_nodes: int, *, reach: int = 1) -> Graph:
    """Path graph of the ``n_nodes`` steps of a time series, with edge weights 1 / lag.

    Parameters
    ----------
    n_nodes : int
        Number of time steps.
    reach : int, default=1
        Maximal lag: each node is connected to the next ``reach`` ones.

    Examples
    --------
    >>> path_graph(5, reach=2).n_edges
    7
    """
    if not (is_count(n_nodes) and is_count(reach)):
        raise ValueError(f"n_nodes and reach must be positive integers, got {n_nodes!r} and {reach!r}.")
    return Graph(_path_weights(n_nodes, reach))


def _path_weights(n_nodes: int, reach: int = 1) -> sp.csr_array:
    weights = sp.csr_array((n_nodes, n_nodes))
    for lag in range(1, min(reach, n_nodes - 1) + 1):
        band = sp.diags_array(np.full(n_nodes - lag, 1.0 / lag), offsets=lag, shape=(n_nodes, n_nodes))
        weights = weights + band + band.T
    return sp.csr_array(weights)
