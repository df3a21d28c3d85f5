"""Graph constructors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_random_state

from .._backend import Array
from .._threads import limit_threads
from ..preprocessing.imputer import impute
from ..preprocessing.sparse import Data, ShiftedSparse, as_shifted_sparse
from .graph import Graph
from .locality import RENUMBERED_ABOVE, Renumbered, inverse_order, renumber
from .search import Engine, search_neighbours

WEIGHT_FLOOR = 1e-4  # the Gaussian of about 3 sigma: an outlier stays attached, yet barely pulls


def knn_graph(
    X: Any,
    n_neighbors: int = 10,
    *,
    bandwidth: float = 1.0,
    neighbors: Engine = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Graph:
    """Graph of nearest neighbours with Gaussian weights ``exp(-d^2 / sigma^2)``.

    ``sigma`` is ``bandwidth`` times the mean distance of all neighbour pairs. An edge is kept if either end
    counts the other among its neighbours. Weights below 1e-4 are raised to it: a far outlier would otherwise underflow
    to weight 0 and fall off the graph in silence.

    Parameters
    ----------
    X
        (n_points, n_dimensions), dense or sparse. NaN is a missing entry, of dense data: distances are then taken after
        it has been imputed by a low-rank model, see :mod:`graphlowrank.preprocessing.imputer`. float32 gives float32
        weights.
    n_neighbors
        Neighbours of each point, less than n_points.
    bandwidth
        Width of the kernel in mean neighbour distances. A narrower one (0.6) trusts only the closest neighbours: better
        clusters on MNIST, worse recovery on unevenly sampled curves.
    neighbors
        "exact", "approximate" (recall about 0.98) or "auto": exact where that takes about a second, see
        :func:`nearest_neighbours`.
    random_state
        Seed of the approximate search.
    n_jobs
        Threads; None for every core.

    Examples
    --------
    >>> import numpy as np
    >>> knn_graph(np.array([[0.0], [1.0], [10.0], [11.0]]), n_neighbors=1).n_components
    2
    """
    points = _checked_points(X)
    if not bandwidth > 0:
        raise ValueError(f"bandwidth must be positive, got {bandwidth}.")
    with limit_threads(n_jobs):
        points = impute(points, check_random_state(0))
        found = search_neighbours(points, n_neighbors, engine=neighbors, random_state=random_state)
    return graph_of_neighbours(found.distances, found.indices, bandwidth, order=found.order)


def _checked_points(X: Any) -> Data:
    """Points to compare, or a clear error."""
    if isinstance(X, ShiftedSparse):
        return X
    sparse = sp.issparse(X)
    X = check_array(
        X, dtype=[np.float64, np.float32], accept_sparse="csr", ensure_min_samples=2, input_name="X",
        ensure_all_finite=True if sparse else "allow-nan",
    )  # fmt: skip
    return as_shifted_sparse(X) if sparse else X


def graph_of_neighbours(
    distances: Array, indices: Array, bandwidth: float = 1.0, *, order: Array | None = None
) -> Graph:
    """Weigh neighbour lists (n, k) by the Gaussian kernel and symmetrise them; ``order`` as in :class:`Graph`."""
    values = gaussian_weights(distances, bandwidth * float(distances.mean(dtype=np.float64)))
    if order is None or len(indices) <= RENUMBERED_ABOVE:
        return Graph(_symmetric(values, indices))
    # Neighbours close in memory make this faster, too, and the graph is wanted in both numberings.
    position = inverse_order(order)
    near = Renumbered(_symmetric(values[order], position[indices[order]]), order)
    graph = Graph(renumber(near.weights, position).weights, order)
    graph.__dict__["renumbered"] = near  # where the cached property keeps it
    return graph


def _symmetric(values: Array, indices: Array) -> sp.csr_array:
    """Weights of neighbour lists (n, k), the larger where both ends count each other."""
    n, k = indices.shape
    # 32 bits also for the row starts: scipy would make both kinds of index 64 bits wide for one that is.
    index = np.int32 if n * k < 2**30 else np.int64
    starts = np.arange(0, n * k + 1, k, dtype=index)
    directed = sp.csr_array((values.ravel(), indices.ravel().astype(index), starts), shape=(n, n))
    return directed.maximum(directed.T.tocsr()).tocsr()


def gaussian_weights(distances: Array, sigma: Array | float) -> Array:
    """``exp(-d^2 / sigma^2)``, floored; 1 where sigma is 0 (identical points). ``sigma`` may differ by row."""
    width = np.asarray(sigma, dtype=distances.dtype)
    scaled = distances / np.where(width > 0, width, 1)
    return np.maximum(np.exp(-(scaled**2)), distances.dtype.type(WEIGHT_FLOOR))


def grid_graph(shape: tuple[int, int], *, diagonals: bool = False) -> Graph:
    """Pixels of an image of ``shape`` (height, width), row by row, joined to their 4 (or 8) neighbours with weight 1.

    Examples
    --------
    >>> grid_graph((2, 3)).n_edges
    7
    """
    height, width = (int(side) for side in shape)
    if height < 1 or width < 1:
        raise ValueError(f"shape must be two positive numbers, got {shape}.")
    down, right = _path(height), _path(width)
    weights = sp.kron(down, sp.eye_array(width)) + sp.kron(sp.eye_array(height), right)
    if diagonals:
        weights = weights + sp.kron(down, right)
    return Graph(sp.csr_array(weights))


def chain_graph(n_nodes: int, *, reach: int = 1) -> Graph:
    """Moments in time, each joined to the next ``reach`` ones with weight 1 / lag.

    Examples
    --------
    >>> chain_graph(5, reach=2).n_edges
    7
    """
    if n_nodes < 1 or reach < 1:
        raise ValueError(f"n_nodes and reach must be positive, got {n_nodes} and {reach}.")
    return Graph(_path(n_nodes, reach))


def _path(n_nodes: int, reach: int = 1) -> sp.csr_array:
    lags = range(1, min(reach, n_nodes - 1) + 1)
    weights = sp.csr_array((n_nodes, n_nodes))
    for lag in lags:
        band = sp.diags_array(np.full(n_nodes - lag, 1.0 / lag), offsets=lag, shape=(n_nodes, n_nodes))
        weights = weights + band + band.T
    return sp.csr_array(weights)
