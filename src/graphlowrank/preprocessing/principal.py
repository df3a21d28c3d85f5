"""Principal scores of samples, whatever their matrix is: dense, sparse, with values missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from .._backend import Array
from .._threads import single_threaded_libraries
from ..linalg.svd import GRAM_UP_TO, leading_svd, positive_signs, sketched_directions
from .counts import blocks, dense, moments

MAX_COORDINATES = 50  # of a sample
FEW_ENTRIES = 50_000_000  # that may be copied
N_VALUES = 20  # singular values, at least


def coordinates(X: Any, n_clusters: int) -> tuple[Array, Array]:
    """Principal scores to tell clusters apart by, and singular values of the centred data.

    Parameters
    ----------
    X
        (n_samples, n_features), see :func:`centred_svd`.
    n_clusters
        Clusters that were found.

    Returns
    -------
    scores
        (n_samples, k): half as many again as clusters, 2 to 50, if the data have as many.
    values
        At least 20 of them, if there are as many.
    """
    k = min(max(2, -(-3 * n_clusters // 2)), MAX_COORDINATES, *X.shape)
    left, values, _ = centred_svd(X, max(k, N_VALUES))
    return left[:, :k] * values[:k], values


def centred_svd(X: Any, n_components: int) -> tuple[Array, Array, Array]:
    """Leading singular triplets ``(left, values, right)`` of the data around the mean of each feature.

    The data go by blocks of rows: no copy of them is made, except of up to 1500 samples of few entries. Others of more
    than 1500 features are sketched at random (fixed seed).

    Parameters
    ----------
    X
        (n_samples, n_features) numpy array, csr_array, or a matrix of ours; a missing value (NaN) counts as the mean of
        its feature.
    n_components
        How many, or as many as there are.
    """
    k = min(n_components, *X.shape)
    centred = _Centred(X, moments(dense(block) for _, block in blocks(X))[0].astype(X.dtype))
    if X.shape[0] <= GRAM_UP_TO and X.shape[0] * X.shape[1] <= FEW_ENTRIES:
        return leading_svd(np.concatenate(list(centred.blocks())), k)
    few = X.shape[1] <= GRAM_UP_TO
    basis = _gram_basis(centred, k) if few else sketched_directions(centred, k, np.random.RandomState(0))
    left, values, turn = leading_svd(centred @ basis, k)
    right = basis @ turn
    signs = positive_signs(right)
    return left * signs, values, right * signs


@dataclass(frozen=True, eq=False)
class _Centred:
    """``X - mean``, 0 where a value is missing, for products with thin matrices."""

    X: Any
    mean: Array

    # numpy must hand `array @ data` to us instead of looking for an array in here.
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.X.dtype

    def blocks(self) -> Iterator[Array]:
        for _, block in blocks(self.X):
            away = dense(block) - self.mean
            np.copyto(away, 0, where=np.isnan(away))
            yield away

    def __matmul__(self, B: Array) -> Array:
        return np.concatenate([block @ B for block in self.blocks()])

    def __rmatmul__(self, A: Array) -> Array:
        product, start = np.zeros((len(A), self.shape[1]), self.dtype), 0
        for block in self.blocks():
            product += A[:, start : start + len(block)] @ block
            start += len(block)
        return product


def _gram_basis(centred: _Centred, k: int) -> Array:
    """Leading eigenvectors (n_features, k) of the covariance, formed in double precision."""
    n_features = centred.shape[1]
    gram = np.zeros((n_features, n_features))
    for block in centred.blocks():
        wide = block.astype(np.float64)
        gram += wide.T @ wide
    # Threads of BLAS that wait for a busy core make a small eigenproblem a hundred times slower.
    with single_threaded_libraries():
        _, vectors = eigh(gram, subset_by_index=(n_features - k, n_features - 1))
    return vectors.astype(centred.dtype)
