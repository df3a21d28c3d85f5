"""The sampled block in units that give gamma the same meaning on every data set, and the full data in those units."""

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..linalg.products import product, product_from_left
from .missing import column_mean, column_median, has_missing
from .robust_statistics import robust_mean_absolute_deviation
from .sparse import Data, dense_block, is_sparse

CLIP = 10.0  # mean absolute deviations from the median; clean data stay far below


@dataclass(frozen=True, eq=False)
class Block:
    """``(X[rows, columns] - shift[columns]) / scale``, NaN where missing."""

    X: Array  # (n_kept_samples, n_kept_features)
    shift: Array  # (n_features,) center of every feature, sampled or not
    scale: float  # mean absolute deviation of the sampled entries

    def start(self) -> Array:
        """Clip outliers of X: a starting point from which the solver needs fewer steps."""
        center = column_median(self.X)
        return np.clip(self.X, center - CLIP, center + CLIP)

    def restore(self, X: Array) -> Array:
        """``X scale + shift``: a block of all features in the units of the data."""
        return X * self.X.dtype.type(self.scale) + self.shift


@dataclass(frozen=True, eq=False)
class ScaledData:
    """``(X - shift) / scale`` for products with thin matrices and block by block, without a copy of X.

    NaN stays in blocks; products do not handle it.
    """

    X: Data
    shift: Array
    scale: float

    # numpy must hand `array @ data` to us instead of looking for an array in here.
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self.X.shape[0], self.X.shape[1]

    def block(self, rows: Array | slice, columns: Array | slice) -> Array:
        """Entries of some rows and some columns, as a new array."""
        return (dense_block(self.X, rows, columns) - self.shift[columns]) / self.X.dtype.type(self.scale)

    def __matmul__(self, B: Array) -> Array:
        """``(X - shift) B / scale``."""
        return (product(self.X, B) - self.shift @ B) / self.X.dtype.type(self.scale)

    def __rmatmul__(self, A: Array) -> Array:
        """Return ``A (X - shift) / scale``."""
        return (product_from_left(A, self.X) - A.sum(axis=1)[:, None] * self.shift) / self.X.dtype.type(self.scale)


def sampled_block(
    X: Data,
    rows: Array,
    columns: Array,
    *,
    center_features: bool,
    sample_weights: Array | None = None,
    as_given: bool = False,
) -> Block:
    """Extract the sampled rows and columns of ``X``, center and scale them.

    ``center_features`` subtracts the mean of every feature, with ``sample_weights`` (n_kept_samples,). Else one number,
    the median of all entries, is subtracted: features keep their levels, and outliers do not move it (10 % outliers of
    10 standard deviations: relative error of the recovery 0.13 with means against 0.01). ``as_given`` does neither, and
    does not scale.
    """
    kept = X[rows]
    block = np.ascontiguousarray(dense_block(kept, slice(None), columns if len(columns) < X.shape[1] else slice(None)))
    if has_missing(block) and np.isnan(block).all():
        raise ValueError("no entry of the kept samples and features is observed; keep more of them.")
    if as_given:
        return Block(block, np.zeros(X.shape[1], dtype=X.dtype), 1.0)
    if center_features:
        mean = kept.mean(sample_weights) if is_sparse(kept) else column_mean(kept, sample_weights)
        shift = mean.astype(X.dtype)
        block = block - shift[columns]
        scale = float(np.nanmean(np.abs(block), dtype=np.float64))
    else:
        shift = np.full(X.shape[1], np.nanmedian(block), dtype=X.dtype)
        scale = robust_mean_absolute_deviation(block)
        block = block - shift[0]
    if not scale > np.finfo(X.dtype).eps * np.nanmax(np.abs(block)):
        raise ValueError("every feature is constant on the kept samples: there is no structure to recover.")
    block /= block.dtype.type(scale)
    return Block(block, shift, scale)
