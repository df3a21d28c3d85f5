"""Exact nearest-neighbor search: all pairs are compared, in blocks."""

from __future__ import annotations

import numpy as np

from .._backend import Array
from .._threads import map_ranges, single_threaded_libraries
from .._typing import RandomState
from ..preprocessing.sparse import Data, is_sparse
from .candidates import SPARE_CANDIDATES, Candidates, center_and_scale, to_single
from .rerank import nearest_of
from .search_sparse import all_sparse_pairs

MIN_BLOCK_ROWS, MAX_BLOCK_ROWS = 1024, 4096  # queries compared with all points at a time


def search(X: Data, n_neighbors: int, *, random_state: RandomState = None) -> tuple[Array, Array]:
    """Exact search, see :class:`graphlowrank.graphs.NeighborSearch`; nothing in it is random."""
    return search_queries(X, X, n_neighbors)


def search_queries(queries: Data, X: Data, n_neighbors: int) -> tuple[Array, Array]:
    """Nearest rows of ``X`` to each row of ``queries``, and their distances; if they are the same, without itself."""
    same = queries is X
    proposed = _all_pairs(queries, X, n_neighbors + same + SPARE_CANDIDATES)
    candidates = Candidates(proposed, np.arange(len(queries)))
    return nearest_of(X, candidates, n_neighbors, None if same else queries)


def _all_pairs(queries: Data, X: Data, n_candidates: int) -> Array:
    """Rows of ``X`` nearest to each query in single precision."""
    if is_sparse(X):
        assert is_sparse(queries), "sparse points need sparse queries"
        return all_sparse_pairs(queries, X, n_candidates)
    center, scale = center_and_scale(X)
    points = to_single(X, center, scale)
    return exact_candidates(points if queries is X else to_single(queries, center, scale), points, n_candidates)


def exact_candidates(queries: Array, points: Array, n_candidates: int) -> Array:
    """Return indices (n_queries, n_candidates) of the nearest float32 points, by matrix products in blocks.

    faiss runs single-threaded on blocks of queries, and the blocks run on our threads: among equal points its choice
    depends on rounding, which depends on its number of threads.
    """
    import faiss

    found = np.empty((len(queries), min(n_candidates, len(points))), dtype=np.int64)
    size = min(max(len(queries) // 8, MIN_BLOCK_ROWS), MAX_BLOCK_ROWS)

    def search_blocks(first: int, last: int) -> None:
        faiss.omp_set_num_threads(1)  # a setting of each thread
        for block in range(first, last):
            rows = slice(block * size, (block + 1) * size)
            found[rows] = faiss.knn(queries[rows], points, found.shape[1])[1]

    with single_threaded_libraries():
        map_ranges(search_blocks, -(-len(queries) // size))
    return found
