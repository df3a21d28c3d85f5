"""Singular-value shrinkage, the proximal map of the nuclear norm."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from .._backend import Array
from .._threads import map_ranges

SKETCHED_SHARE = 0.1  # of the shorter side; lower ranks are cheaper by subspace iteration than by a Gram matrix
SKETCHED_FROM = 200  # length of the shorter side
OVERSAMPLING = 10
PRODUCT_BLOCKS = 32  # blocks of rows of a threaded product
GRAM_BLOCK = 1_000_000  # entries of a block of columns
GRAM_SUMS, LONG_SIDE = 8, 1500  # partial sums; two where the shorter side is longer than this
RESOLVED = 16  # sqrt(eps); a Gram matrix resolves singular values above this share of the largest


class Shrinkage:
    """Singular-value shrinkage that starts from the rank and subspace of the last call."""

    def __init__(self, shorter: int) -> None:
        self.shorter = shorter
        self.predicted = min(10, shorter)
        self.right: Array | None = None
        self.rng = np.random.default_rng(0)

    def __call__(self, M: Array, threshold: float, spectral: float, out: Array) -> tuple[int, bool]:
        """Write the shrunk M to ``out``; return its rank, and whether it may lack singular values."""
        if self.shorter >= SKETCHED_FROM and self.predicted <= SKETCHED_SHARE * self.shorter:
            left, values, right = self._sketch(M)
            kept = int(np.sum(values > threshold))
            truncated = kept >= self.predicted
            product(left[:, :kept] * (values[:kept] - M.dtype.type(threshold)), right[:, :kept].T, out)
        else:
            kept, truncated = _shrink_by_gram(M, threshold, spectral, self.predicted, out), False
        # Lin, Chen and Ma (2010), section 4: one more than the rank, or a jump if all computed values passed.
        grown = kept + 1 if kept < self.predicted else kept + round(0.05 * self.shorter)
        self.predicted = min(max(grown, 1), self.shorter)
        return kept, truncated

    def _sketch(self, M: Array) -> tuple[Array, Array, Array]:
        """Leading singular triplets by two steps of subspace iteration from the last subspace."""
        width = min(self.predicted + OVERSAMPLING, self.shorter)
        known = 0 if self.right is None else min(self.right.shape[1], width - OVERSAMPLING // 2)
        right = self.rng.standard_normal((M.shape[1], width), dtype=M.dtype)
        if self.right is not None:
            right[:, :known] = self.right[:, :known]
        for _ in range(2):
            left = np.linalg.qr(product(M, right))[0]
            right, small = np.linalg.qr(product(M.T, left))
        rotation_right, values, rotation_left = np.linalg.svd(small)
        self.right = product(right, rotation_right)
        return product(left, rotation_left.T), values, self.right


def _shrink_by_gram(M: Array, threshold: float, spectral: float, predicted: int, out: Array) -> int:
    """Shrink the singular values of M by the eigenvectors of its smaller Gram matrix; return the rank."""
    precision = _gram_precision(M.dtype, threshold / spectral)
    if precision is None:
        left, values, right = np.linalg.svd(M, full_matrices=False)
        kept = int(np.sum(values > threshold))
        product(left[:, :kept] * (values[:kept] - M.dtype.type(threshold)), right[:kept], out)
        return kept
    wide = M.shape[0] <= M.shape[1]
    gram = _gram(M if wide else M.T, precision)
    options: dict[str, Any] = {"overwrite_a": True, "check_finite": False}
    if predicted > 0.25 * len(gram):  # all eigenvectors are then cheaper than a part of them
        eigenvalues, vectors = eigh(gram, driver="evd", **options)
        passed = eigenvalues > threshold**2
        eigenvalues, vectors = eigenvalues[passed], vectors[:, passed]
    else:
        eigenvalues, vectors = eigh(gram, subset_by_value=(threshold**2, np.inf), **options)
    vectors = vectors.astype(M.dtype, copy=False)
    weighted = vectors * (1 - threshold / np.sqrt(eigenvalues)).astype(M.dtype)
    if 2 * len(eigenvalues) > len(gram):  # one product with a square matrix is cheaper than two with factors
        square = product(weighted, vectors.T)
        product(square if wide else M, M if wide else square, out)
    elif wide:
        product(weighted, product(vectors.T, M), out)
    else:
        product(product(M, vectors), weighted.T, out)
    return len(eigenvalues)


def _gram_precision(dtype: Any, share: float) -> Any:
    """Lowest precision of a Gram matrix that resolves singular values at this share of the largest; None if none."""
    for precision in (dtype, np.dtype(np.float64)):
        if share > RESOLVED * np.sqrt(np.finfo(precision).eps):
            return precision
    return None


def _gram(M: Array, dtype: Any) -> Array:
    """``M M^T`` in the given precision, in threads over blocks of columns."""
    columns = max(1, GRAM_BLOCK // len(M))
    n_blocks = -(-M.shape[1] // columns)
    n_sums = min(GRAM_SUMS if len(M) <= LONG_SIDE else 2, n_blocks)  # the same for any number of threads
    sums = np.zeros((n_sums, len(M), len(M)), dtype=dtype)

    def add(first: int, last: int) -> None:
        for share in range(first, last):
            for block in range(share, n_blocks, n_sums):
                part = M[:, block * columns : (block + 1) * columns].astype(dtype, copy=False)
                sums[share] += part @ part.T

    map_ranges(add, n_sums)
    return np.asarray(sums.sum(axis=0))


def product(A: Array, B: Array, out: Array | None = None) -> Array:
    """Return ``A @ B``, in our threads over blocks of rows; limit BLAS to one thread each (single_threaded_libraries).

    BLAS threads wait for one another at every step of an eigenproblem and compete with our loops. The blocks are the
    same for any number of threads, so the result is too, to the last bit.
    """
    out = np.empty((A.shape[0], B.shape[1]), dtype=A.dtype) if out is None else out
    n_blocks = min(PRODUCT_BLOCKS, A.shape[0])

    def rows(first: int, last: int) -> None:
        for block in range(first, last):
            part = slice(block * A.shape[0] // n_blocks, (block + 1) * A.shape[0] // n_blocks)
            np.matmul(A[part], B, out=out[part])

    map_ranges(rows, n_blocks)
    return out


def spectral_norm(X: Array) -> float:
    """Largest singular value by power iteration, to a relative change of 1e-4."""
    vector = np.random.default_rng(0).standard_normal((X.shape[1],)).astype(X.dtype)
    value, last = 1.0, 0.0
    for _ in range(100):
        if abs(value - last) <= 1e-4 * value:
            break
        vector /= np.linalg.norm(vector)
        image = X @ vector
        last, value = value, float(np.linalg.norm(image))
        if value == 0:
            break
        vector = (image / value) @ X  # of norm value, not its square, which may overflow
    return value
