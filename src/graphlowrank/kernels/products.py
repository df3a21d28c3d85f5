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


@compiled(fastmath=True)
def csr_recurrence(
    start: int,
    stop: int,
    indptr: Array,
    indices: Array,
    data: Array,
    current: Array,
    previous: Array,
    total: Array,
    coefficient: float,
    dots: Array,
) -> None:
    """``previous[i] <- (A current)[i] - previous[i]`` for rows start <= i < stop, and its products in ``dots``.

    ``dots[i]`` is (new . new, new . current) of the row, in double precision. ``coefficient`` times the new row is
    added to that of ``total``, unless that is empty.
    """
    factor = data[0] * 0 + coefficient  # keeps float32 arithmetic in float32
    for i in range(start, stop):
        new, own_row = previous[i], current[i]
        for column in range(new.shape[0]):
            new[column] = -new[column]
        for entry in range(indptr[i], indptr[i + 1]):
            weight = data[entry]
            row = current[indices[entry]]
            for column in range(row.shape[0]):
                new[column] += weight * row[column]
        if total.shape[0] > 0:
            sums = total[i]
            for column in range(new.shape[0]):
                sums[column] += factor * new[column]
        own, cross = 0.0, 0.0
        for column in range(new.shape[0]):
            own += float(new[column]) * float(new[column])
            cross += float(new[column]) * float(own_row[column])
        dots[i, 0] = own
        dots[i, 1] = cross
