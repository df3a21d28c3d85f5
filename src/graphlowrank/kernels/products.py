"""Products of a sparse and a dense matrix, row by row."""

import numpy as np

from .._typing import Array
from .compiling import compiled


def _add_weighted_rows(first, last, indices, data, X, total):  # type: ignore[no-untyped-def]
    """``total += sum_e data[e] X[indices[e]]`` for entries first <= e < last of a CSR matrix.

    Eight rows at a time, so that the running total is loaded and stored once per eight products. Row views instead of
    X[row, column], since only then does the compiler vectorize the inner loop.
    """
    n_columns = total.shape[0]
    entry = first
    while entry + 8 <= last:
        w0, w1, w2, w3 = data[entry], data[entry + 1], data[entry + 2], data[entry + 3]
        w4, w5, w6, w7 = data[entry + 4], data[entry + 5], data[entry + 6], data[entry + 7]
        r0, r1, r2, r3 = X[indices[entry]], X[indices[entry + 1]], X[indices[entry + 2]], X[indices[entry + 3]]
        r4, r5, r6, r7 = X[indices[entry + 4]], X[indices[entry + 5]], X[indices[entry + 6]], X[indices[entry + 7]]
        for j in range(n_columns):
            total[j] += (w0 * r0[j] + w1 * r1[j] + w2 * r2[j] + w3 * r3[j]) + (
                w4 * r4[j] + w5 * r5[j] + w6 * r6[j] + w7 * r7[j]
            )
        entry += 8
    while entry < last:
        weight, row = data[entry], X[indices[entry]]
        for j in range(n_columns):
            total[j] += weight * row[j]
        entry += 1


add_weighted_rows = compiled(fastmath=True, no_cpython_wrapper=True)(
    _add_weighted_rows
)  # compiled once for all kernels
add_weighted_inline = compiled(fastmath=True, inline="always")(_add_weighted_rows)


@compiled(fastmath=True)
def csr_times_dense(start: int, stop: int, indptr: Array, indices: Array, data: Array, X: Array, out: Array) -> None:
    """``out[i] = sum_j A[i, j] X[j]`` for rows start <= i < stop of the CSR matrix A."""
    for i in range(start, stop):
        row = out[i]
        for j in range(row.shape[0]):
            row[j] = 0
        add_weighted_rows(indptr[i], indptr[i + 1], indices, data, X, row)


TILE = 64  # rows of X that share the entries of A


@compiled(fastmath=True)
def dense_times_csr(start: int, stop: int, indptr: Array, indices: Array, data: Array, X: Array, out: Array) -> None:
    """``out[i] = X[i] A`` for rows start <= i < stop of X and a symmetric CSR matrix A."""
    n_columns = X.shape[1]
    # Tiles of X are transposed, since a sparse product from the right would read single numbers. They are allocated
    # here, and the product is inlined: the compiler then knows that they do not overlap, which saves a fifth.
    transposed = np.empty((n_columns, TILE), X.dtype)
    product = np.empty((n_columns, TILE), X.dtype)
    for low in range(start, stop, TILE):
        size = min(TILE, stop - low)
        # Loops, not slices: numba takes five seconds more to compile an assignment of a transposed slice.
        for i in range(size):
            row = X[low + i]
            for j in range(n_columns):
                transposed[j, i] = row[j]
        for j in range(n_columns):
            total = product[j]
            for i in range(TILE):
                total[i] = 0
            add_weighted_inline(indptr[j], indptr[j + 1], indices, data, transposed, total)
        for i in range(size):
            row = out[low + i]
            for j in range(n_columns):
                row[j] = product[j, i]


@compiled(fastmath=True)
def csr_recurrence(
    start: int,
    stop: int,
    indptr: Array,
    indices: Array,
    data: Array,
    current: Array,
    previous: Array,
    total: Array,  # `coefficient` times the new row is added, unless it is empty
    coefficient: float,
    dots: Array,  # (n, 2) output: new . new and new . current of each row, in double precision
) -> None:
    """``previous[i] <- (A current)[i] - previous[i]`` for rows start <= i < stop."""
    factor = current.dtype.type(coefficient)
    for i in range(start, stop):
        new, own_row = previous[i], current[i]
        for column in range(new.shape[0]):
            new[column] = -new[column]
        add_weighted_rows(indptr[i], indptr[i + 1], indices, data, current, new)
        if total.shape[0] > 0:
            sums = total[i]
            for column in range(new.shape[0]):
                sums[column] += factor * new[column]
        own, cross = 0.0, 0.0
        for column in range(new.shape[0]):
            own += np.float64(new[column]) * np.float64(new[column])
            cross += np.float64(new[column]) * np.float64(own_row[column])
        dots[i, 0] = own
        dots[i, 1] = cross
