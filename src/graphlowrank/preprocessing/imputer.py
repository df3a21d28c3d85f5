"""Imputation of missing values by a low-rank model: for distances, never for the model's loss.

The usual alternative is a distance over the entries that two points share, scaled by their number. It is noisy where
they share few, and points with few values become neighbors of everybody. With half of the entries missing it finds
24 % of the true neighbors of a digit, 52 % on MNIST, 26 % on a table of 30 measurements (breast cancer); distances
after imputation find 37, 65 and 54 %, and the search is that for complete points.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import norm
from sklearn.utils.extmath import randomized_svd

from .._checks import check_floats
from .._threads import map_ranges
from .._typing import Array
from ..linalg.blocks import row_blocks
from ..linalg.least_squares import weighted_least_squares
from .missing import column_mean, has_missing
from .sparse import Data

MAX_DIRECTIONS = 20  # more do no harm: the ridge decides how far each is used
FIT_ROWS = 8000  # enough to estimate the directions
MAX_ROUNDS = 10
TOL = 1e-3  # change of the imputed values, relative to their distance from the mean
MAX_SINGLE_RATIO = 1e8  # largest entry / typical entry up to which squares stay in single precision
MAX_RATIO = 1e30  # the same for any precision: smaller entries vanish in sums with the largest
MAX_RIDGE = float(np.finfo(np.float32).max)
MIN_FREE_SHARE = 0.1  # of the observed entries: lower bound of the degrees of freedom of the noise
# Rows that share the products of directions: a block for each thread in small data, little memory in large ones.
MIN_BLOCK_ENTRIES, BLOCK_ENTRIES, MIN_BLOCK_ROWS, N_BLOCKS = 400_000, 2_000_000, 64, 64


@dataclass(frozen=True, eq=False)
class LowRankImputer:
    """Ridge regression of the observed entries of a row on a few principal directions."""

    center: Array  # (p,) mean
    directions: Array  # (d, p) orthonormal rows
    ridge: Array  # (d,) noise variance / variance along each direction, so weak directions are used little

    def check(self) -> None:
        """Raise ValueError unless the parts fit together, are finite, and the directions of unit length."""
        d, p = np.size(self.ridge), np.size(self.center)
        check_floats(self.center, "center", (p,))
        check_floats(self.directions, "directions", (d, p), least=-1.001, most=1.001)  # rounding errors
        check_floats(self.ridge, "ridge", (d,), least=0)

    def apply(self, X: Array) -> Array:
        """Copy of ``X`` with NaN imputed, row by row; ``X`` itself if it has none."""
        return map_rows(X, len(self.directions), self._impute) if has_missing(X) else X

    def _impute(self, X: Array) -> Array:
        missing = np.isnan(X)
        return np.where(missing, self.predict(X, missing), X)

    def predict(self, X: Array, missing: Array) -> Array:
        """Predict every entry of each row from those that are not ``missing``."""
        centered = np.where(missing, 0, X - self.center)
        ridge = self.ridge + np.sqrt(np.finfo(np.float64).eps)
        scores = weighted_least_squares(centered, self.directions, (~missing).astype(X.dtype), ridge)
        return scores.astype(X.dtype) @ self.directions + self.center


def map_rows(X: Array, n_directions: int, function: Callable[..., Array], *more: Array) -> Array:
    """Apply a row-wise function to blocks of ``X`` and ``more``, in threads."""
    result = np.empty(X.shape, dtype=X.dtype)
    width = max(X.shape[1], n_directions**2)
    entries = min(max(len(X) * width // N_BLOCKS, MIN_BLOCK_ENTRIES), BLOCK_ENTRIES)
    blocks = list(row_blocks(len(X), width, entries=entries, min_rows=MIN_BLOCK_ROWS))

    def apply(start: int, stop: int) -> None:
        for block in blocks[start:stop]:
            result[block] = function(X[block], *(other[block] for other in more))

    map_ranges(apply, len(blocks))
    return result


def impute(X: Data, rng: np.random.RandomState) -> Data:
    """``X`` with NaN imputed; ``X`` itself if it has none."""
    return fit_imputer(X, rng).apply(X) if has_missing(X) else X  # type: ignore[arg-type]


def fit_imputer(X: Array, rng: np.random.RandomState) -> LowRankImputer:
    """Fit the low-rank model: impute by column means, take the leading singular vectors, impute again by them."""
    part = subsample_rows(X, FIT_ROWS, rng)
    missing = np.isnan(part)
    filled = np.where(missing, column_mean(part).astype(X.dtype), part)
    for _ in range(MAX_ROUNDS):
        imputer = principal_model(filled, part, missing)
        before, filled = filled, imputer.apply(part)
        size = norm((filled - imputer.center)[missing])  # of BLAS: squares of large entries do not overflow
        if norm((filled - before)[missing]) <= TOL * size:
            break
    return imputer


def subsample_rows(X: Array, at_most: int, rng: np.random.RandomState) -> Array:
    """Return at most so many random rows, in order; all of them if there are no more."""
    return X if len(X) <= at_most else X[np.sort(rng.choice(len(X), at_most, replace=False))]


def principal_model(filled: Array, X: Array, missing: Array, max_directions: int = MAX_DIRECTIONS) -> LowRankImputer:
    """Leading directions of the filled data, with the noise variance estimated where ``X`` is observed."""
    n, p = X.shape
    k = max(1, min(max_directions, min(n, p) // 2))
    center = filled.mean(axis=0, dtype=np.float64).astype(X.dtype)
    centered, unit = _in_range(filled - center)
    left, values, directions = randomized_svd(centered, k, n_oversamples=5, n_iter=1, random_state=0)
    residual = np.where(missing, 0, X - center) / unit - (left * values) @ directions
    n_observed = missing.size - np.count_nonzero(missing)
    free = max(n_observed - k * (n + p), MIN_FREE_SHARE * n_observed)
    noise = float(np.sum(np.square(residual, dtype=np.float64), where=~missing)) / free
    variance = np.maximum(values.astype(np.float64) ** 2 / n, max(noise / MAX_RIDGE, np.finfo(np.float64).tiny))
    return LowRankImputer(center, directions.astype(X.dtype), noise / variance)


def _in_range(X: Array) -> tuple[Array, Any]:
    """``X`` divided by a power of two near its typical size, and that power: squares must not overflow."""
    sizes = np.abs(X)
    largest = float(sizes.max(initial=0)) or 1.0
    typical = max(float(np.median(sizes)) or largest, largest / MAX_RATIO)
    unit = X.dtype.type(2.0 ** np.floor(np.log2(typical)))
    X = X / unit
    return (X.astype(np.float64) if largest / unit > MAX_SINGLE_RATIO else X), unit
