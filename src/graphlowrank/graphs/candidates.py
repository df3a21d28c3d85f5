"""Candidate neighbors: the record that searches share, and single-precision copies of the data to find them with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._backend import Array
from ..preprocessing.sparse import Data, dense_rows, is_sparse

SPARE_CANDIDATES = 4  # candidates beyond n_neighbors: single precision may swap near-ties at the border


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidate neighbors of each query.

    Attributes
    ----------
    indices : ndarray of shape (n_queries, n_candidates)
        Rows of the data; -1 for none.
    order : ndarray of shape (n_queries,)
        Order in which to visit the queries, so that successive ones share candidates in the cache.
    """

    indices: Array
    order: Array


def without_self(candidates: Array) -> Array:
    """Candidates (n, n_candidates) of each point among the same points, with the point itself replaced by -1."""
    return np.where(candidates == np.arange(len(candidates))[:, None], -1, candidates)


def nearest_first(squared: Array, candidates: Array, n_neighbors: int) -> tuple[Array, Array]:
    """Nearest ``n_neighbors`` of candidates that are sorted by index; ties go to the lower index."""
    squared[candidates < 0] = np.inf
    order = np.argsort(squared, axis=1, kind="stable")[:, :n_neighbors]
    return np.take_along_axis(squared, order, axis=1), np.take_along_axis(candidates, order, axis=1)


def center_and_scale(X: Data) -> tuple[Array, float]:
    """Mean row (d,) and largest distance of an entry from it: normalized by both, data of any unit fit float32."""
    if is_sparse(X):
        center = X.mean().astype(X.dtype)
        return center, X.moved(-center).bound() or 1.0
    center = X.mean(axis=0, dtype=np.float64)
    scale = float(max((X.max(axis=0) - center).max(), (center - X.min(axis=0)).max()))
    return center.astype(X.dtype), scale if scale > 0 else 1.0


def to_single(X: Data, center: Array, scale: float) -> Array:
    """Centered, scaled, C-contiguous float32 copy of ``X``."""
    points = dense_rows(X) - center
    points /= points.dtype.type(scale)
    return np.ascontiguousarray(points, dtype=np.float32)
