"""Principal component scores of dense, sparse and incomplete matrices, without a centered copy."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from .._threads import single_threaded_libraries
from .._typing import Array
from ..linalg.products import gram, product, product_from_left
from ..linalg.svd import GRAM_UP_TO, leading_svd, positive_signs, sketched_directions
from .counts import blocks, dense, moments

MAX_SCORES = 50  # of a sample
MIN_SINGULAR_VALUES = 20
MAX_COPIED_ENTRIES = 50_000_000


def principal_scores(X: Any, n_clusters: int) -> tuple[Array, Array]:
    """Principal scores (n_samples, k) that separate clusters, and at least 20 singular values of the centered data."""
    k = min(max(2, -(-3 * n_clusters // 2)), MAX_SCORES, *X.shape)
    left, values, _ = centered_svd(X, max(k, MIN_SINGULAR_VALUES))
    return left[:, :k] * values[:k], values


@single_threaded_libraries()
def centered_svd(X: Any, n_components: int, *, gram_up_to: int = GRAM_UP_TO) -> tuple[Array, Array, Array]:
    """Leading singular triplets ``(left, values, right)`` of the data minus the mean of each feature.

    ``X`` is a numpy array, a csr_array, or a matrix of this library; missing values (NaN) count as the mean of their
    feature. It is processed in blocks of rows, and only copied if it has few samples and few entries. With more than
    ``gram_up_to`` features the range is sketched at random (fixed seed).
    """
    k = min(n_components, *X.shape)
    centered = _Centered(X, moments(dense(block) for _, block in blocks(X))[0].astype(X.dtype))
    if X.shape[0] <= gram_up_to and X.shape[0] * X.shape[1] <= MAX_COPIED_ENTRIES:
        return leading_svd(np.concatenate([block for _, block in centered.blocks()]), k)
    narrow = X.shape[1] <= gram_up_to
    basis = _gram_basis(centered, k) if narrow else sketched_directions(centered, k, np.random.RandomState(0))
    left, values, rotation = leading_svd(centered @ basis, k)
    right = basis @ rotation
    signs = positive_signs(right)
    return left * signs, values, right * signs


@dataclass(frozen=True, eq=False)
class _Centered:
    """``X - mean``, 0 where a value is missing, for products with thin matrices."""

    X: Any
    mean: Array

    __array_ufunc__ = None  # numpy then calls __rmatmul__ for `array @ self`

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.X.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.mean.dtype

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        for rows, block in blocks(self.X):
            difference = dense(block) - self.mean
            np.copyto(difference, 0, where=np.isnan(difference))
            yield rows, difference

    def __matmul__(self, B: Array) -> Array:
        return np.concatenate([product(block, B) for _, block in self.blocks()])

    def __rmatmul__(self, A: Array) -> Array:
        total = np.zeros((len(A), self.shape[1]), self.dtype)
        for rows, block in self.blocks():
            total += product_from_left(A[:, rows], block)
        return total


def _gram_basis(centered: _Centered, k: int) -> Array:
    """Leading eigenvectors (n_features, k) of the covariance, computed in double precision."""
    n_features = centered.shape[1]
    squares = np.zeros((n_features, n_features))
    for _, block in centered.blocks():
        squares += gram(block, np.float64)
    _, vectors = eigh(squares, subset_by_index=(n_features - k, n_features - 1))
    return np.asarray(vectors, dtype=centered.dtype)
