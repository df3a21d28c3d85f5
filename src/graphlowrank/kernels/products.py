"""Sparse times dense, row by row."""

from __future__ import annotations

from .._backend import Array
from .compiling import compiled


@compiled(fastmath=True)
def csr_times_dense(start: int, stop: int, indptr: Array, indices: Array, data: Array, X: Array, out: Array) -> None:
    """``out[i] = sum_j A[i, j] X[j]`` for rows start <= i < stop of the CSR matrix A."""
    # Row views, not X[row, column]: only then does the compiler see that the inner loop can be vectorised.
    for i in range(start, stop):
        total = out[i]
        total[:] = 0
        for entry in range(indptr[i], indptr[i + 1]):
            weight = data[entry]
            row = X[indices[entry]]
            for column in range(row.shape[0]):
                total[column] += weight * row[column]
