"""The three passes of a conjugate-gradient iteration with many right-hand sides."""

from .._typing import Array
from .compiling import compiled
from .products import add_weighted_rows

BLOCK = 512  # rows per partial sum: sums do not depend on the number of threads


@compiled(fastmath=True)
def product_and_energy(
    start: int,
    stop: int,
    indptr: Array,
    indices: Array,
    data: Array,
    diagonal: Array,
    inverse: Array,  # 0 for rows that are not part of the system: P must be 0 there, and AP becomes 0
    P: Array,
    AP: Array,  # output
    energy: Array,  # (n_blocks, n_columns) output: column sums of P * AP over each block
) -> None:
    """``AP = (diag(diagonal) - W) P`` for rows of blocks start <= b < stop, W being the CSR matrix."""
    for block in range(start, stop):
        sums = energy[block]
        for column in range(sums.shape[0]):
            sums[column] = 0
        for i in range(block * BLOCK, min((block + 1) * BLOCK, P.shape[0])):
            row, product = P[i], AP[i]
            for column in range(product.shape[0]):
                product[column] = 0
            if inverse[i] == 0:
                continue
            add_weighted_rows(indptr[i], indptr[i + 1], indices, data, P, product)
            for column in range(row.shape[0]):
                product[column] = diagonal[i] * row[column] - product[column]
                sums[column] += row[column] * product[column]


@compiled(fastmath=True)
def advance(
    start: int, stop: int, alpha: Array, P: Array, AP: Array, inverse: Array, X: Array, R: Array, sums: Array
) -> None:
    """``X += alpha P``, ``R -= alpha AP``; sums of ``R^2 inverse`` and maxima of ``|R| inverse`` over each block."""
    for block in range(start, stop):
        squares, largest = sums[block, 0], sums[block, 1]
        for column in range(squares.shape[0]):
            squares[column] = largest[column] = 0
        for i in range(block * BLOCK, min((block + 1) * BLOCK, P.shape[0])):
            x, r, p, ap, weight = X[i], R[i], P[i], AP[i], inverse[i]
            for column in range(r.shape[0]):
                x[column] += alpha[column] * p[column]
                residual = r[column] - alpha[column] * ap[column]
                r[column] = residual
                scaled = residual * weight
                squares[column] += residual * scaled
                largest[column] = max(largest[column], abs(scaled))


@compiled(fastmath=True)
def redirect(start: int, stop: int, beta: Array, R: Array, inverse: Array, P: Array) -> None:
    """``P = inverse R + beta P`` for rows of blocks start <= b < stop."""
    for i in range(start * BLOCK, min(stop * BLOCK, P.shape[0])):
        r, p, weight = R[i], P[i], inverse[i]
        for column in range(p.shape[0]):
            p[column] = weight * r[column] + beta[column] * p[column]
