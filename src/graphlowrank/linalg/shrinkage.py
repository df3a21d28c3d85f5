"""The nuclear norm, whose proximal map shrinks singular values."""

from typing import Any

import numpy as np
from scipy.linalg import eigh

from .._typing import Array
from .products import gram, product

SKETCHED_SHARE = 0.1  # of the shorter side; lower ranks are cheaper by subspace iteration than by a Gram matrix
SKETCHED_FROM = 200  # length of the shorter side
OVERSAMPLING = 10
GRAM_BLOCK = 1_000_000  # entries of a block of the longer side
GRAM_SUMS, LONG_SIDE = 8, 1500  # partial sums; two where the shorter side is longer than this
RESOLVED = 16  # sqrt(eps); a Gram matrix resolves singular values above this share of the largest


class NuclearNorm:
    """``||X||_*`` for X of a given shorter side and spectral norm; each prox starts from the subspace of the last.

    ``rank`` is that of the last prox, and ``truncated`` says whether it may lack singular values.
    """

    def __init__(self, shorter: int, spectral: float) -> None:
        self.shorter, self.spectral = shorter, spectral
        self.rank, self.truncated = 0, False
        self._predicted = min(10, shorter)
        self._right: Array | None = None
        self._rng = np.random.default_rng(0)

    def prox(self, M: Array, step: float, out: Array | None = None) -> Array:
        """Shrink the singular values of M by ``step``."""
        out = np.empty_like(M) if out is None else out
        if self.shorter >= SKETCHED_FROM and self._predicted <= SKETCHED_SHARE * self.shorter:
            left, values, right = self._sketch(M)
            self.rank = int(np.sum(values > step))
            self.truncated = self.rank >= self._predicted
            product(left[:, : self.rank] * (values[: self.rank] - M.dtype.type(step)), right[:, : self.rank].T, out)
        else:
            self.rank, self.truncated = _shrink_by_gram(M, step, self.spectral, self._predicted, out), False
        # Lin, Chen and Ma (2010), section 4: one more than the rank, or a jump if all computed values passed.
        grown = self.rank + 1 if self.rank < self._predicted else self.rank + round(0.05 * self.shorter)
        self._predicted = min(max(grown, 1), self.shorter)
        return out

    def _sketch(self, M: Array) -> tuple[Array, Array, Array]:
        """Leading singular triplets by two steps of subspace iteration from the last subspace."""
        width = min(self._predicted + OVERSAMPLING, self.shorter)
        known = 0 if self._right is None else min(self._right.shape[1], width - OVERSAMPLING // 2)
        right = self._rng.standard_normal((M.shape[1], width), dtype=M.dtype)
        if self._right is not None:
            right[:, :known] = self._right[:, :known]
        for _ in range(2):
            left = np.linalg.qr(product(M, right))[0]
            right, small = np.linalg.qr(product(M.T, left))
        rotation_right, values, rotation_left = np.linalg.svd(small)
        self._right = product(right, rotation_right)
        return product(left, rotation_left.T), values, self._right


def _shrink_by_gram(M: Array, threshold: float, spectral: float, predicted: int, out: Array) -> int:
    """Shrink the singular values of M by the eigenvectors of its smaller Gram matrix; return the rank."""
    precision = _gram_precision(M.dtype, threshold / spectral)
    if precision is None:
        left, values, right = np.linalg.svd(M, full_matrices=False)
        kept = int(np.sum(values > threshold))
        product(left[:, :kept] * (values[:kept] - M.dtype.type(threshold)), right[:kept], out)
        return kept
    wide, shorter = M.shape[0] <= M.shape[1], min(M.shape)
    n_sums = GRAM_SUMS if shorter <= LONG_SIDE else 2
    squares = gram(M.T if wide else M, precision, block_entries=GRAM_BLOCK, n_sums=n_sums)
    options: dict[str, Any] = {"overwrite_a": True, "check_finite": False}
    if predicted > 0.25 * shorter:  # all eigenvectors are then cheaper than a part of them
        eigenvalues, vectors = eigh(squares, driver="evd", **options)
        passed = eigenvalues > threshold**2
        eigenvalues, vectors = eigenvalues[passed], vectors[:, passed]
    else:
        eigenvalues, vectors = eigh(squares, subset_by_value=(threshold**2, np.inf), **options)
    vectors = vectors.astype(M.dtype, copy=False)
    weighted = vectors * (1 - threshold / np.sqrt(eigenvalues)).astype(M.dtype)
    if 2 * len(eigenvalues) > shorter:  # one product with a square matrix is cheaper than two with factors
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


def spectral_norm(X: Array) -> float:
    """Largest singular value by power iteration, to a relative change of 1e-4."""
    vector = np.random.default_rng(0).standard_normal((X.shape[1],)).astype(X.dtype)
    value = 1.0
    for _ in range(100):
        vector /= np.linalg.norm(vector)
        image = X @ vector
        last, value = value, float(np.linalg.norm(image))
        if value == 0 or abs(value - last) <= 1e-4 * value:
            break
        vector = (image / value) @ X  # of norm value, not its square, which may overflow
    return value
