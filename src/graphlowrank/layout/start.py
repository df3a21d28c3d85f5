"""Where a layout starts: smooth eigenvectors of each connected component, and the components side by side."""

import numpy as np
import scipy.sparse as sp

from .._typing import Array
from ..graphs import Graph
from ..graphs.spectrum import lowest_eigenpairs

RADIUS = 10.0  # of the first positions of all nodes; the repulsion spreads ten thousand nodes about so far
GOLDEN_ANGLE = np.pi * (3 - 5**0.5)
ROOM = 2.0  # area of a component's surroundings / area of its disc
NODES_PER_DIMENSION = 5  # components with fewer have no shape worth an eigenproblem


def first_positions(graph: Graph, n_dimensions: int, rng: np.random.RandomState) -> Array:
    """Positions (n_nodes, n_dimensions) from the smoothest eigenvectors of the normalized Laplacian.

    Connected components get discs whose area is their share of the nodes, the largest in the center; small components
    random positions in theirs.
    """
    labels, sizes = graph.components, np.bincount(graph.components)
    radii = RADIUS * np.sqrt(sizes / graph.n_nodes)
    centers = component_centers(radii, n_dimensions)
    positions = rng.uniform(-0.5, 0.5, (graph.n_nodes, n_dimensions))
    members = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
    for nodes in members:
        if len(nodes) > NODES_PER_DIMENSION * n_dimensions:
            whole = len(nodes) == graph.n_nodes
            part = graph if whole else Graph(graph.weights[nodes][:, nodes].tocsr(), validate=False)
            positions[nodes] = smooth_coordinates(part, n_dimensions)
    return (positions * radii[labels, None] + centers[labels]).astype(graph.weights.dtype)


def smooth_coordinates(graph: Graph, n_dimensions: int) -> Array:
    """Smoothest non-constant eigenvectors of the random walk on a connected graph, each from -1 to 1 at most."""
    weights = graph.weights.astype(np.float64)
    _, vectors = lowest_eigenpairs(Graph(sp.csr_array(weights), validate=False), n_dimensions + 1, kind="normalized")
    found = vectors[:, 1:] / np.sqrt(np.asarray(weights.sum(axis=1)).ravel())[:, None]
    return found / np.abs(found).max(axis=0)


def component_centers(radii: Array, n_dimensions: int) -> Array:
    """Centers (n_components, n_dimensions) of discs that do not overlap much: a spiral, or a row in one dimension."""
    centers = np.zeros((len(radii), n_dimensions))
    if len(radii) == 1:
        return centers
    order = np.argsort(-radii, kind="stable")
    sorted_radii = radii[order]
    if n_dimensions == 1:
        centers[order, 0] = np.cumsum(2 * sorted_radii) - sorted_radii
        return centers
    area = np.cumsum(sorted_radii**2) - sorted_radii[0] ** 2  # of the discs around the first, over pi
    away = np.where(np.arange(len(radii)) > 0, sorted_radii[0] + sorted_radii, 0)
    distance = np.maximum(np.sqrt(ROOM * area), away)
    angle = GOLDEN_ANGLE * np.arange(len(radii))
    centers[order, 0], centers[order, 1] = distance * np.cos(angle), distance * np.sin(angle)
    return centers
