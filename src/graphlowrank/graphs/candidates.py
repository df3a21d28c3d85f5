"""Candidates for neighbours, and the choice of the nearest among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._backend import Array


@dataclass(frozen=True, eq=False)
class Candidates:
    """``indices`` (n, n_candidates) of near points, -1 for none, and an ``order`` in which neighbours are close."""

    indices: Array
    order: Array


def without_selves(candidates: Array) -> Array:
    """Candidates of each point of a set among the set, without the point itself."""
    return np.where(candidates == np.arange(len(candidates))[:, None], -1, candidates)


def nearest_first(squared: Array, candidates: Array, n_neighbors: int) -> tuple[Array, Array]:
    """Keep the nearest of candidates that are sorted by index, ties by index."""
    squared[candidates < 0] = np.inf
    order = np.argsort(squared, axis=1, kind="stable")[:, :n_neighbors]
    return np.take_along_axis(squared, order, axis=1), np.take_along_axis(candidates, order, axis=1)
