"""Products of matrices, large ones in our own threads.

BLAS threads wait for one another at every step of an eigenproblem and compete with our loops, and their number changes
the rounding. Blocks here are the same for any number of threads, so results are too; callers limit BLAS to one thread.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from .._threads import map_ranges
from .._typing import Array
from .blocks import row_blocks

COMPILED_ABOVE = 20_000_000  # multiplications; below, scipy is done before a compiler has started
PRODUCT_BLOCKS = 32  # blocks of rows of a dense product
MIN_GRAM_ENTRIES, GRAM_ENTRIES = 50_000, 4_000_000  # of a block of rows whose Gram matrix is formed at a time
MIN_SUMS, MAX_SUMS, SUM_ENTRIES = 4, 16, 10_000_000  # partial sums of Gram matrices, and what they may hold in all
THREADED_ABOVE = 2_000_000  # multiplications of a dense product; below, it is done before threads have started


def spmm(L: Any, X: Array, *, compiled_above: int = COMPILED_ABOVE) -> Array:
    """Return ``L @ X`` for a symmetric, usually sparse, ``L``."""
    compiled = (
        isinstance(L, sp.csr_array)
        and isinstance(X, np.ndarray)
        and X.flags.c_contiguous
        and X.dtype == L.dtype
        and L.nnz * X.shape[1] > compiled_above
    )
    if not compiled:
        return L @ X
    from ..kernels.products import csr_times_dense

    out = np.empty_like(X)
    map_ranges(csr_times_dense, L.shape[0], L.indptr, L.indices, L.data, X, out)
    return out


@dataclass(frozen=True, eq=False)
class GroundedLaplacian:
    """Laplacian of a graph with some nodes grounded (Dirichlet boundary), without a copy of its edges.

    The block ``L_dd`` of the free nodes d, on vectors over all nodes, which must be 0 on the grounded ones.
    """

    weights: sp.csr_array  # (n, n) symmetric edge weights with an empty diagonal
    free: Array  # (n,) True for free nodes
    degrees: Array  # (n,) in the whole graph

    @classmethod
    def of(cls, weights: sp.csr_array, grounded: Array) -> Self:
        """Ground the nodes ``grounded``."""
        free = np.ones(weights.shape[0], dtype=bool)
        free[grounded] = False
        return cls(weights, free, np.asarray(weights.sum(axis=1)).ravel())

    def __matmul__(self, X: Array) -> Array:
        """Product with a vector that is 0 on the grounded nodes."""
        product = self.degrees[:, None] * X - spmm(self.weights, X)
        product[~self.free] = 0
        return product

    def matrix(self) -> sp.csr_array:
        """Return ``L_dd`` as a sparse matrix."""
        d = np.flatnonzero(self.free)
        return (sp.diags_array(self.degrees[d], format="csr") - self.weights[d][:, d]).tocsr()


def product(A: Any, B: Array, out: Array | None = None, *, n_blocks: int = PRODUCT_BLOCKS) -> Array:
    """Return ``A @ B`` of two matrices, the second one dense; large ones by blocks of rows, in threads."""
    if not isinstance(A, np.ndarray):
        return A @ B
    out = np.empty((A.shape[0], B.shape[1]), dtype=A.dtype) if out is None else out
    n_blocks = min(n_blocks, A.shape[0])

    def rows(first: int, last: int) -> None:
        for block in range(first, last):
            part = slice(block * A.shape[0] // n_blocks, (block + 1) * A.shape[0] // n_blocks)
            np.matmul(A[part], B, out=out[part])

    if A.size * B.shape[1] > THREADED_ABOVE:
        map_ranges(rows, n_blocks)
    else:
        rows(0, n_blocks)
    return out


def product_from_left(A: Array, X: Any) -> Array:
    """Return ``A @ X`` for a dense A with few rows; large ones by blocks of columns, in threads."""
    return product(X.T, A.T).T if isinstance(X, np.ndarray) else A @ X


def gram(X: Array, dtype: Any, *, n_sums: int | None = None, block_entries: int | None = None) -> Array:
    """``X^T X`` in the given precision, in up to ``n_sums`` partial sums over blocks of rows; None for up to 16."""
    if n_sums is None:  # a thread each, as far as memory allows; the same for any number of threads
        n_sums = min(max(SUM_ENTRIES // max(X.shape[1], 1) ** 2, MIN_SUMS), MAX_SUMS)
    if block_entries is None:
        block_entries = min(max(-(-X.size // n_sums), MIN_GRAM_ENTRIES), GRAM_ENTRIES)
    blocks = list(row_blocks(*X.shape, entries=block_entries))
    n_sums = min(n_sums, len(blocks))
    sums = np.zeros((n_sums, X.shape[1], X.shape[1]), dtype=dtype)

    def add(first: int, last: int) -> None:
        for number in range(first, last):
            for block in blocks[number::n_sums]:
                part = X[block].astype(dtype, copy=False)
                sums[number] += part.T @ part

    map_ranges(add, n_sums)
    return np.asarray(sums.sum(axis=0))


def dot(A: Array, B: Array) -> float:
    """Return ``<A, B>``, summed in double precision."""
    return float(np.einsum("ij,ij->", A, B, dtype=np.float64))
