"""Graphs of samples and of features.

.. autosummary::
    Graph               symmetric sparse edge weights, Laplacians, connected components
    as_graph            check a matrix of edge weights and wrap it
    knn_graph           k-nearest-neighbor graph with Gaussian edge weights
    grid_graph          pixels of an image
    path_graph          samples of a time series or frames of a video
    laplacian           combinatorial or normalized Laplacian
    lowest_eigenpairs   smallest eigenvalues and their eigenvectors, exact
    estimate_spectrum   number of eigenvalues below any value, estimated at scale
    nearest_neighbors   exact or approximate nearest-neighbor search
    register_search     add a nearest-neighbor search
    search_names        values that ``neighbors=`` can take
"""

import warnings

from .graph import Graph, GraphLike, LaplacianKind, as_graph, laplacian
from .knn import knn_graph
from .search import NeighborSearch, nearest_neighbors, register_search, search_names
from .spectrum import Spectrum, estimate_spectrum, lowest_eigenpairs
from .structured import grid_graph, path_graph

__all__ = [
    "Graph", "GraphLike", "LaplacianKind", "NeighborSearch", "Spectrum", "as_graph", "estimate_spectrum", "grid_graph",
    "knn_graph", "laplacian", "lowest_eigenpairs", "nearest_neighbors", "path_graph", "register_search", "search_names",
]  # fmt: skip

_RENAMED = {"chain_graph": path_graph, "nearest_neighbours": nearest_neighbors}


def __getattr__(name: str) -> object:
    """Old names, for one release."""
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    new = _RENAMED[name]
    warnings.warn(f"graphs.{name} is deprecated; use graphs.{new.__name__}.", DeprecationWarning, stacklevel=2)
    return new
