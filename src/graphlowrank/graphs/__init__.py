"""Graphs between samples and between features.

.. autosummary::
    Graph        frozen record: symmetric sparse weights, Laplacians, components
    knn_graph    nearest neighbours with Gaussian weights
    grid_graph   pixels of an image
    chain_graph  moments of a time series or frames of a video
    as_graph     check what a user gave and wrap it
"""

from .build import chain_graph, grid_graph, knn_graph
from .graph import Graph, as_graph
from .laplacian import laplacian
from .neighbours import nearest_neighbours

__all__ = ["Graph", "as_graph", "chain_graph", "grid_graph", "knn_graph", "laplacian", "nearest_neighbours"]
