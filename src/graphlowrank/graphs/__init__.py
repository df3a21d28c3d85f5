"""Graphs between samples and between features.

.. autosummary::
    Graph        frozen record: symmetric sparse weights, Laplacians, components
    knn_graph    nearest neighbours with Gaussian weights
    grid_graph   pixels of an image
    chain_graph  moments of a time series or frames of a video
    as_graph     check what a user gave and wrap it
    lowest_eigenpairs   smoothest signals of a graph, exactly
    estimate_spectrum   number of eigenvalues below any value, at scale
"""

from .graph import Graph, as_graph
from .knn import chain_graph, grid_graph, knn_graph
from .laplacian import laplacian
from .search import nearest_neighbours
from .spectrum import Spectrum, estimate_spectrum, lowest_eigenpairs

__all__ = [
    "Graph",
    "Spectrum",
    "as_graph",
    "chain_graph",
    "estimate_spectrum",
    "grid_graph",
    "knn_graph",
    "laplacian",
    "lowest_eigenpairs",
    "nearest_neighbours",
]
