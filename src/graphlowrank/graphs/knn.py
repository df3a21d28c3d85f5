"""k-nearest-neighbor graphs with Gaussian edge weights."""

from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state

from .._checks import is_number, without_mask
from .._threads import current_threads, limit_threads, map_ranges
from .._typing import Array, RandomState
from ..preprocessing.imputer import impute
from ..preprocessing.missing import check_observed, has_missing
from ..preprocessing.sparse import Data, as_shifted_sparse, is_sparse
from .graph import Graph
from .locality import RENUMBERED_ABOVE, Renumbered, inverse_order, renumber
from .search import search_neighbors

COMPILED_ABOVE = 50_000  # listed neighbors; below, scipy is done before a compiled kernel is loaded
MIN_WEIGHT = 1e-4  # Gaussian weight at about 3 sigma: a far outlier stays connected, but barely contributes


def knn_graph(
    X: ArrayLike | Data | sp.sparray,
    n_neighbors: int = 10,
    *,
    bandwidth: float | Literal["published"] = 1.0,
    neighbors: str = "auto",
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Graph:
    """k-nearest-neighbor graph with Gaussian edge weights ``exp(-d^2 / sigma^2)``.

    ``sigma`` is ``bandwidth`` times the mean distance over all neighbor pairs. An edge is kept if either end has the
    other among its neighbors. Weights are at least 1e-4, so that a far outlier stays connected.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_points, n_dimensions)
        Points; float32 gives float32 weights. NaN marks missing values of dense data, which are imputed first by a
        low-rank model, see :mod:`graphlowrank.preprocessing.imputer`.
    n_neighbors : int, default=10
        Neighbors of each point, less than n_points.
    bandwidth : float or "published", default=1.0
        Width of the kernel in mean neighbor distances. A narrower one (0.6) relies on the closest neighbors: it gives
        better clusters on MNIST and worse recovery on unevenly sampled curves. "published" is the paper's
        ``sigma^2``, the mean distance itself, so that weights depend on the units of X; without the lower limit.
    neighbors : {"auto", "exact", "approximate"} or registered name, default="auto"
        Search, see :func:`nearest_neighbors` and :func:`register_search`.
    random_state : int, RandomState or None, default=None
        Seed of the approximate search.
    n_jobs : int or None, default=None
        Number of threads; None for all cores.

    Examples
    --------
    >>> knn_graph(np.array([[0.0], [1.0], [10.0], [11.0]]), n_neighbors=1).n_components
    2
    """
    points = _checked_points(X)
    if not is_sparse(points) and has_missing(points):
        check_observed(points)
    if bandwidth != "published" and not (is_number(bandwidth) and bandwidth > 0):
        raise ValueError(f"bandwidth must be positive or 'published', got {bandwidth!r}.")
    with limit_threads(n_jobs):
        points = impute(points, check_random_state(0))
        found = search_neighbors(points, n_neighbors, engine=neighbors, random_state=random_state)
    return graph_of_neighbors(*found, bandwidth)


def _checked_points(X: ArrayLike | Data | sp.sparray) -> Data:
    """Return the points as float32 or float64 data."""
    if is_sparse(X):
        return X
    options = {"dtype": [np.float64, np.float32], "ensure_min_samples": 2, "input_name": "X"}
    if sp.issparse(X):
        return as_shifted_sparse(check_array(X, accept_sparse="csr", **options))
    with np.errstate(over="ignore", invalid="ignore"):  # in the sum by which scikit-learn looks for NaN
        checked: Array = check_array(without_mask(X), ensure_all_finite="allow-nan", **options)
    return checked


def graph_of_neighbors(
    distances: Array, indices: Array, order: Array | None, bandwidth: float | Literal["published"]
) -> Graph:
    """Symmetric graph of neighbor lists (n, k) with Gaussian edge weights."""
    mean = float(distances.mean(dtype=np.float64))
    if bandwidth == "published":
        return Graph(symmetrized(_published_weights(distances, mean), indices), validate=False)
    values = gaussian_weights(distances, float(bandwidth) * mean)
    if order is None or len(indices) <= RENUMBERED_ABOVE:
        return Graph(symmetrized(values, indices), validate=False)
    # Symmetrizing is faster in the cache-friendly numbering, and later steps use the graph in both numberings.
    position = inverse_order(order)
    near_values, near_indices = np.empty_like(values), np.empty(indices.shape, dtype=position.dtype)

    def fill(start: int, stop: int) -> None:
        near_values[start:stop] = values[order[start:stop]]
        near_indices[start:stop] = position[indices[order[start:stop]]]

    map_ranges(fill, len(values))
    near = Renumbered(symmetrized(near_values, near_indices), order)
    graph = Graph(renumber(near.weights, position).weights, order, validate=False)
    graph.__dict__["renumbered"] = near  # fills the cached property
    return graph


def symmetrized(values: Array, indices: Array, *, compiled_above: int = COMPILED_ABOVE) -> sp.csr_array:
    """Symmetric edge weights from neighbor lists (n, k): the larger one where both ends list each other."""
    n, k = indices.shape
    if n * k > compiled_above:
        return _merged(values, indices)
    # Row pointers of 32 bits too: scipy would widen both index arrays to the wider type.
    index = np.int32 if n * k < 2**30 else np.int64
    starts = np.arange(0, n * k + 1, k, dtype=index)
    directed = sp.csr_array((values.ravel(), indices.ravel().astype(index), starts), shape=(n, n))
    return directed.maximum(directed.T.tocsr()).tocsr()


def _merged(values: Array, neighbors: Array) -> sp.csr_array:
    """Do the same in threads."""
    from ..kernels.symmetrize import count_incoming, count_neighbors, list_incoming, merge_neighbors

    n, k = neighbors.shape
    index = np.int32 if n * k < 2**30 else np.int64
    neighbors = neighbors.astype(index, copy=False)
    # Every range of nodes reads all lists: one for each thread. The result does not depend on their number.
    bounds = np.linspace(0, n, current_threads() + 1).astype(np.int64)
    counts, incoming = np.zeros(n, dtype=index), np.empty(n * k, dtype=np.int64)
    map_ranges(count_incoming, len(bounds) - 1, bounds, neighbors, counts)
    starts = _offsets(counts)
    map_ranges(list_incoming, len(bounds) - 1, bounds, neighbors, starts[:-1].copy(), incoming)
    map_ranges(count_neighbors, n, neighbors, starts, incoming, counts)
    indptr = _offsets(counts).astype(index)
    indices, data = np.empty(indptr[-1], dtype=index), np.empty(indptr[-1], dtype=values.dtype)
    map_ranges(merge_neighbors, n, neighbors, values, starts, incoming, indptr, indices, data)
    return sp.csr_array((data, indices, indptr), shape=(n, n))


def _offsets(counts: Array) -> Array:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _published_weights(distances: Array, mean: float) -> Array:
    """``exp(-d^2 / sigma^2)`` with sigma^2 the mean distance, as the paper prints it."""
    values: Array = np.exp(-(distances**2) / (mean or 1.0)).astype(distances.dtype)
    if not values.all():
        raise ValueError(
            f"the paper's edge weights vanish: exp(-d^2 / {mean:.3g}) is 0 for d = {float(distances.max()):.3g}. "
            "They depend on the units of X; divide it by a constant."
        )
    return values


def gaussian_weights(distances: Array, sigma: Array | float) -> Array:
    """``exp(-d^2 / sigma^2)``, at least 1e-4; 1 where sigma is 0 (identical points). ``sigma`` may differ by row."""
    least = np.finfo(distances.dtype).tiny
    with np.errstate(over="ignore"):  # points so far away have the smallest weight; an infinite sigma gives 1
        width = np.where(np.asarray(sigma) > 0, np.maximum(sigma, least), 1).astype(distances.dtype)
        weights: Array = np.maximum(np.exp(-((distances / width) ** 2)), distances.dtype.type(MIN_WEIGHT))
    return weights
