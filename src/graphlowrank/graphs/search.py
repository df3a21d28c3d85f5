"""Nearest-neighbor search: the registry of searches, and the functions that call them.

A search is one function (:class:`NeighborSearch`) in one file, plus one line in ``SEARCHES``; from outside the package,
one call of :func:`register_search`. Its name is then a value of every ``neighbors=`` option.
"""

from pkgutil import resolve_name
from typing import Any, Protocol

import numpy as np

from .._checks import is_count, without_mask
from .._typing import Array, RandomState
from ..linalg.blocks import map_row_blocks
from ..preprocessing.sparse import Data, is_sparse
from .search_exact import all_pairs_cost, search_queries

EXACT_PRODUCTS = 1e11  # multiplications n^2 (d + 50) up to which "auto" is exact: about a second on two cores


class NeighborSearch(Protocol):
    """Find the nearest other rows of each row of ``X``, in Euclidean distance.

    Parameters
    ----------
    X : ndarray of shape (n, d), or ShiftedSparse
        float32 or float64, finite; sparse only if registered with ``accepts_sparse=True``.
    n_neighbors : int
        Between 1 and n - 1.
    random_state : int, RandomState or None
        Seed of a search that is random.

    Returns
    -------
    distances, indices : ndarrays of shape (n, n_neighbors)
        Nearest first, different ones, without the row itself.
    order : ndarray of shape (n,), optional
        Permutation of the rows that puts neighbors close together; speeds up loops over the graph.
    """

    def __call__(
        self, X: Any, n_neighbors: int, *, random_state: RandomState
    ) -> tuple[Array, Array] | tuple[Array, Array, Array]:
        """Search; see the class."""


SEARCHES: dict[str, NeighborSearch | str] = {  # a string is "module:function", imported on first use
    "exact": "graphlowrank.graphs.search_exact:search",
    "approximate": "graphlowrank.graphs.search_cells:search",
}
ACCEPTS_SPARSE = {"exact", "approximate"}


def register_search(name: str, search: NeighborSearch | str, *, accepts_sparse: bool = False) -> None:
    """Register a nearest-neighbor search under a name; an earlier search of that name is replaced.

    Parameters
    ----------
    name : str
        Value of ``neighbors=`` that selects it.
    search : callable or str
        A :class:`NeighborSearch`, or "module:function" to import on first use.
    accepts_sparse : bool, default=False
        Whether ``X`` may be a :class:`~graphlowrank.preprocessing.sparse.ShiftedSparse`.

    Examples
    --------
    >>> from sklearn.neighbors import KDTree
    >>> def kdtree(X, n_neighbors, *, random_state=None):
    ...     distances, indices = KDTree(X).query(X, n_neighbors + 1)
    ...     return distances[:, 1:], indices[:, 1:]
    >>> register_search("kdtree", kdtree)
    >>> nearest_neighbors(np.array([[0.0], [1.0], [3.0]]), 1, engine="kdtree")[1].ravel()
    array([1, 0, 1])
    >>> del SEARCHES["kdtree"]
    """
    if name == "auto":
        raise ValueError("'auto' chooses among searches and cannot be the name of one.")
    SEARCHES[name] = search
    (ACCEPTS_SPARSE.add if accepts_sparse else ACCEPTS_SPARSE.discard)(name)


def search_names() -> tuple[str, ...]:
    """Values that ``neighbors=`` can take: "auto" and every registered search.

    Examples
    --------
    >>> search_names()
    ('auto', 'exact', 'approximate')
    """
    return "auto", *SEARCHES


def nearest_neighbors(
    X: Data, n_neighbors: int, *, engine: str = "auto", random_state: RandomState = None
) -> tuple[Array, Array]:
    """Nearest other rows of each row, in Euclidean distance.

    Parameters
    ----------
    X : ndarray of shape (n, d), or ShiftedSparse
        float32 or float64, finite.
    n_neighbors : int
        Neighbors per row, at most n - 1; a row is never its own neighbor.
    engine : {"auto", "exact", "approximate"} or registered name, default="auto"
        "exact" compares all pairs in blocks. "approximate" projects on the leading principal directions, searches the
        nearest of about 2 sqrt(n) Voronoi cells, and measures the candidates in full; the number of cells and
        candidates is tuned on 128 rows for a recall of about 0.98. "auto" is exact where that takes about a second: up
        to 31000 rows of 50 numbers, 10900 of 784, 2700 of 13000.
    random_state : int, RandomState or None, default=None
        Seed of the approximate search.

    Returns
    -------
    distances, indices : ndarrays of shape (n, n_neighbors)
        Nearest first. Every index is valid and every distance finite.

    Examples
    --------
    >>> nearest_neighbors(np.array([[0.0], [1.0], [3.0]]), 1)[1].ravel()
    array([1, 0, 1])
    """
    distances, indices, _ = search_neighbors(without_mask(X), n_neighbors, engine=engine, random_state=random_state)
    return distances, indices.astype(np.int64, copy=False)


def search_neighbors(
    X: Data, n_neighbors: int, *, engine: str, random_state: RandomState
) -> tuple[Array, Array, Array | None]:
    """Do what :func:`nearest_neighbors` does, and return the order of the rows where the search has one."""
    n = X.shape[0]
    if not is_count(n_neighbors):
        raise ValueError(f"n_neighbors={n_neighbors!r} must be a positive integer.")
    if n_neighbors >= n:
        raise ValueError(
            f"n_neighbors={n_neighbors} needs at least {n_neighbors + 1} points, got {n}; lower n_neighbors."
        )
    name = resolve_search(X, engine)
    registered = SEARCHES[name]
    search = resolve_name(registered) if isinstance(registered, str) else registered
    divisor = safe_divisor(X)
    distances, indices, *order = search(X / divisor if divisor != 1 else X, n_neighbors, random_state=random_state)
    _check_neighbors(distances, indices, (n, n_neighbors), name)
    if order and not np.array_equal(np.sort(order[0]), np.arange(n)):
        raise ValueError(f"search {name!r} must return every row once in its order.")
    return (distances * divisor).astype(X.dtype, copy=False), indices, order[0] if order else None


def nearest_to(queries: Data, X: Data, n_neighbors: int) -> tuple[Array, Array]:
    """Nearest rows of ``X`` to each row of ``queries``, both dense or both sparse; returns (distances, indices)."""
    divisor = safe_divisor(X)
    if divisor != 1:
        queries, X = queries / divisor, X / divisor
    distances, indices = search_queries(queries, X, n_neighbors)
    return distances * divisor, indices


def resolve_search(X: Data, engine: str, *, max_products: float = EXACT_PRODUCTS) -> str:
    """Return the name of the search that ``engine`` stands for on ``X``."""
    if not isinstance(engine, str) or engine not in search_names():
        raise ValueError(f"neighbors must be one of {', '.join(map(repr, search_names()))}; got {engine!r}.")
    if engine == "auto":
        return "exact" if all_pairs_cost(X) <= max_products else "approximate"
    if is_sparse(X) and engine not in ACCEPTS_SPARSE:
        raise TypeError(f"neighbors={engine!r} takes dense data only; use one of {sorted(ACCEPTS_SPARSE)}.")
    return engine


def compares_all_pairs(X: Data, n: int) -> bool:
    """Whether "auto" is exact for ``n`` rows like those of ``X``."""
    return all_pairs_cost(X) * (n / len(X)) ** 2 <= EXACT_PRODUCTS


def safe_divisor(X: Data) -> Any:
    """1, or the size of X where the squares of its entries would overflow or vanish."""
    size = X.bound() if is_sparse(X) else np.max(map_row_blocks(lambda part: max(part.max(), -part.min()), X))
    if not np.isfinite(size):
        raise ValueError("X must not have NaN or infinite entries; knn_graph imputes missing ones.")
    limit = np.sqrt(np.finfo(X.dtype).max) / 1e6
    return X.dtype.type(1) if size == 0 or 1 / limit < size < limit else size


def _check_neighbors(distances: Array, indices: Array, shape: tuple[int, int], name: str) -> None:
    """Raise ValueError unless a search returned what :class:`NeighborSearch` asks for."""
    if not distances.shape == indices.shape == shape:
        raise ValueError(f"search {name!r} must return distances and indices of shape {shape}.")
    other = indices.dtype.kind in "ui" and indices.min() >= 0 and indices.max() < shape[0]
    if not other or np.any(indices == np.arange(shape[0])[:, None]):
        raise ValueError(f"search {name!r} must return indices from 0 to {shape[0] - 1} of other rows.")
    if any(map_row_blocks(_repeats, indices)):  # compiled loops count on it
        raise ValueError(f"search {name!r} must return different rows as the neighbors of a row.")
    if not np.all(np.isfinite(distances)):
        raise ValueError(f"search {name!r} must return finite distances.")


def _repeats(indices: Array) -> bool:
    """Whether a row has the same index twice."""
    return bool(np.any(np.diff(np.sort(indices, axis=1), axis=1) == 0))
