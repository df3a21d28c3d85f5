"""Data in other units: the paper's preparations, and the sampled block in units that make one gamma mean the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._backend import Array
from ..graphs.laplacian import LaplacianKind
from .missing import has_gaps, observed_mean, observed_median
from .sparse import Data, ShiftedSparse, dense_rows

DENSE_SHARE = 0.25  # of features that vary in the middle; ORL 1.00, digits 0.58, MNIST 0.18
GROSS = 10.0  # units; far beyond what clean data show
NORMAL_RATIO = 0.7979 / 0.6745  # mean over median absolute deviation of the normal distribution


@dataclass(frozen=True, eq=False)
class Block:
    """``(X[rows, columns] - shift[columns]) / scale``, NaN where missing, with ``shift`` known for every feature."""

    X: Array
    shift: Array
    scale: float

    def start(self) -> Array:
        """First guess for the solver: X with gross errors cut, which would take it many steps to come down from."""
        centre = observed_median(self.X)
        return np.clip(self.X, centre - GROSS, centre + GROSS)


@dataclass(frozen=True, eq=False)
class StandardisedData:
    """``(X - shift) / scale`` for products with thin matrices, and block by block: no copy of X is made.

    NaN stays in blocks; products do not know it.
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
        if isinstance(self.X, ShiftedSparse):
            part = self.X[rows].block(columns)
        else:  # a slice of columns first: it copies nothing, while all rows of the data may be many
            part = self.X[:, columns][rows] if isinstance(columns, slice) else self.X[rows][:, columns]
        return (part - self.shift[columns]) / self.X.dtype.type(self.scale)

    def __matmul__(self, B: Array) -> Array:
        """``(X - shift) B / scale``."""
        return (self.X @ B - self.shift @ B) / self.X.dtype.type(self.scale)

    def __rmatmul__(self, A: Array) -> Array:
        """Return ``A (X - shift) / scale``."""
        return (A @ self.X - A.sum(axis=1)[:, None] * self.shift) / self.X.dtype.type(self.scale)


def sampled_block(
    X: Data,
    rows: Array,
    columns: Array,
    laplacian: LaplacianKind,
    *,
    sample_weights: Array | None = None,
) -> Block:
    """Cut the sampled rows and columns out of ``X``, shift and scale them.

    The normalized Laplacian penalises constants, so every feature is centred by its mean. The combinatorial one does
    not see them, and a mean taken from data with gross errors would put errors in (10 % outliers of 10 deviations: 0.13
    relative error against 0.01): one number, the median, is taken off everything and features keep their levels.

    See :func:`deviation_unit` for the scale.
    """
    kept = X[rows]
    if isinstance(kept, ShiftedSparse):
        block = kept.block(columns)
    else:
        block = np.ascontiguousarray(kept[:, columns]) if len(columns) < X.shape[1] else kept
    if has_gaps(block) and np.isnan(block).all():
        raise ValueError("no entry of the kept samples and features is observed: keep more of them.")
    if laplacian == "normalized":
        mean = kept.mean(sample_weights) if isinstance(kept, ShiftedSparse) else observed_mean(kept, sample_weights)
        shift = mean.astype(X.dtype)
        block = block - shift[columns]
        scale = float(np.nanmean(np.abs(block), dtype=np.float64))
    else:
        shift = np.full(X.shape[1], np.nanmedian(block), dtype=X.dtype)
        scale = deviation_unit(block)
        block = block - shift[0]
    if not scale > np.finfo(X.dtype).eps * np.nanmax(np.abs(block)):
        raise ValueError("every feature is constant on the kept samples: there is no structure to recover.")
    block /= block.dtype.type(scale)
    return Block(block, shift, scale)


def deviation_unit(block: Array) -> float:
    """Mean absolute deviation of the entries from their feature's median, in a form that gross errors do not move.

    It is the mean over features of their median absolute deviation, scaled to agree with the mean for normal data. In
    sparse data most features do not vary in the middle; there large entries are the signal, and the plain mean is used.
    Entries that are NaN are left out.
    """
    complete = not has_gaps(block)
    median, mean = (np.median, np.mean) if complete else (np.nanmedian, np.nanmean)
    block = block if complete else block[:, ~np.isnan(block).all(axis=0)]
    deviation = np.abs(block - median(block, axis=0))
    middle = median(deviation, axis=0)
    if np.mean(middle > 0) >= DENSE_SHARE:
        return float(NORMAL_RATIO * np.mean(middle, dtype=np.float64))
    return float(mean(deviation, dtype=np.float64))


def prepare(X: Array, steps: tuple[str, ...]) -> Array:
    """Copy of ``X`` with each of the steps done.

    Parameters
    ----------
    X
        (n_samples, n_features).
    steps
        In order: "standardise" (every feature to zero mean and unit deviation; a constant one becomes zero),
        "standardise samples" (the same for every sample), "normalise" (every sample to unit length; zeros stay),
        "clip" (what is negative becomes zero).
    """
    for step in steps:
        if step in ("standardise", "standardise samples"):
            X = dense_rows(standardised(X, axis=int(step == "standardise samples")))
        elif step == "normalise":
            length = np.linalg.norm(X, axis=1, keepdims=True)
            X = X / np.where(length > 0, length, 1).astype(X.dtype)
        elif step == "clip":
            X = np.maximum(X, 0)
        else:
            raise ValueError(f"a step is 'standardise', 'standardise samples', 'normalise' or 'clip', got {step!r}.")
    return X


def standardised(X: Data, axis: int) -> Data:
    """``X`` with zero mean and unit deviation along an axis; what is constant becomes zero, gaps stay."""
    if isinstance(X, ShiftedSparse):
        return X.standardised(axis, mean_and_deviation(X, axis))
    if axis == 1:  # sample by sample, in blocks: no second copy of the data is made on the way
        scaled = np.empty_like(X, order="C")
        for block in blocks_of_rows(X):
            scaled[block] = _standardised(X[block], *mean_and_deviation(X[block], axis=1))
        return scaled
    return _standardised(X, *mean_and_deviation(X, axis=0))


def _standardised(X: Array, mean: Array, deviation: Array) -> Array:
    centred = X - mean.astype(X.dtype)
    centred /= np.where(deviation > 0, deviation, np.inf).astype(X.dtype)
    return centred


def mean_and_deviation(X: Data, axis: int) -> tuple[Array, Array]:
    """Mean and deviation along an axis, with that axis kept; the deviation is 0 where it is no more than rounding.

    Of missing entries neither knows.
    """
    if isinstance(X, ShiftedSparse):
        mean, squares, largest = X.moments(axis)
        count: Any = X.shape[axis]
    else:
        complete = not has_gaps(X)
        total = np.sum if complete else np.nansum
        count = X.shape[axis] if complete else np.maximum((~np.isnan(X)).sum(axis=axis, keepdims=True), 1)
        mean = total(X, axis=axis, dtype=np.float64, keepdims=True) / count
        squares, largest = np.zeros(mean.shape), np.zeros(mean.shape)
        for block in blocks_of_rows(X) if axis == 0 else [slice(None)]:
            part = X[block]
            squares += total((part - mean) ** 2, axis=axis, keepdims=True)
            largest = np.fmax(largest, np.fmax.reduce(np.abs(part), axis=axis, keepdims=True))
    deviation = np.sqrt(squares / count)
    return mean, np.where(deviation > 10 * np.finfo(X.dtype).eps * largest, deviation, 0.0)


def blocks_of_rows(X: Array, entries: int = 1_000_000) -> list[slice]:
    """Cut the rows into blocks of about so many entries: what is computed of one stays in the cache."""
    step = max(entries // max(X.shape[1], 1), 1)
    return [slice(first, first + step) for first in range(0, len(X), step)]
