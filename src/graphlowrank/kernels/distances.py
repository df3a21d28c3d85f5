"""Distances between rows and their candidate neighbours."""

from __future__ import annotations

import numpy as np

from .._backend import Array
from .compiling import compiled


@compiled(fastmath=True)
def squared_distances(start: int, stop: int, queries: Array, X: Array, candidates: Array, out: Array) -> None:
    """``out[i, j] = ||queries[i] - X[candidates[i, j]]||^2`` for start <= i < stop; inf for a negative candidate."""
    for i in range(start, stop):
        row = queries[i]
        for j in range(candidates.shape[1]):
            if candidates[i, j] < 0:
                out[i, j] = np.float32(1e38) * np.float32(1e38)  # inf; fastmath forbids the literal
                continue
            other = X[candidates[i, j]]
            total = out[i, j] * 0
            for feature in range(row.shape[0]):
                difference = row[feature] - other[feature]
                total += difference * difference
            out[i, j] = total
