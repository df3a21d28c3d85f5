"""Scaling of samples or features, and logarithms of counts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np

from .._checks import check_floats
from .._threads import map_tasks
from .._typing import Array
from ..linalg.blocks import row_blocks
from .counts import log_counts, size_factors, typical_total
from .missing import has_missing
from .sparse import Data, ShiftedSparse, is_sparse, power_of_two

ScalingName = Literal["none", "samples", "features", "counts"]
ROUNDING = 10.0  # in units of the last place of the largest entry
SQUARABLE = (1e-100, 1e100)  # sums of squares of numbers between these neither vanish nor overflow
CACHED_ENTRIES = 1_000_000  # of a block of rows that stays in the cache


@dataclass(frozen=True, eq=False)
class Scaling:
    """``(X - shift) / scale``, by feature or by sample; or logarithms of counts.

    Attributes
    ----------
    kind : {"none", "samples", "features", "counts"}
        "samples" gives each sample zero mean and unit standard deviation; "counts" brings each to the same total, takes
        log(1 + x), and brings it to unit length.
    shift, scale : ndarray of shape (n_features,) or None
        Of each feature, for "features"; else None.
    total : float or None
        Of each sample before the logarithm, for "counts"; else None.
    """

    kind: ScalingName
    shift: Array | None = None
    scale: Array | None = None
    total: float | None = None

    def check(self) -> None:
        """Raise ValueError unless the kind is known and has its numbers."""
        if self.kind not in get_args(ScalingName) or (self.shift is None) == (self.kind == "features"):
            raise ValueError("a scaling must be of a known kind, and have numbers if that is by features.")
        is_total = isinstance(self.total, float) and 0 < self.total < np.inf
        if not (is_total if self.kind == "counts" else self.total is None):
            raise ValueError("a scaling must have a positive total if it is of counts, and none else.")
        if self.shift is not None:
            check_floats(self.shift, "shift", (np.size(self.shift),))
            check_floats(self.scale, "scale", (np.size(self.shift),), least=0)

    @classmethod
    def fit(cls, X: Data, kind: ScalingName) -> Self:
        """Scaling of ``X`` by mean and standard deviation; constant features are only centered."""
        if kind == "counts":
            return cls(kind, total=typical_total(X.values if is_sparse(X) else X))
        if kind != "features":
            return cls(kind)
        mean, std = (along.ravel() for along in mean_and_std(X, axis=0))
        return cls(kind, mean, np.where(std > 0, std, 1))

    def apply(self, X: Data) -> Data:
        """Scaled data, dense or sparse like ``X``; ``X`` itself for "none"."""
        if self.kind == "samples":
            return standardize(X, axis=1)
        if self.total is not None:
            return log_normalize(X, self.total)
        if self.shift is None or self.scale is None:
            return X
        if is_sparse(X):
            return X.standardized(0, self.shift, self.scale)
        shift, scale = self.shift, self.scale
        return _by_blocks(X, lambda part: _standardize(part, shift, scale))


def log_normalize(X: Data, total: float) -> Data:
    """Bring samples to the same total, take log(1 + x), and bring them to unit length; NaN stays, zeros stay zero."""
    if np.fmin.reduce(X.values.data if is_sparse(X) else X, axis=None, initial=0) < 0:
        raise ValueError("X has negative values, which are not counts: scaling='counts' needs values >= 0.")
    if is_sparse(X):
        logs = log_counts(X.values, size_factors(X.values, total))
        lengths = np.sqrt(logs.multiply(logs).sum(axis=1))
        logs.data /= np.repeat(np.where(lengths > 0, lengths, 1), np.diff(logs.indptr))
        return ShiftedSparse(logs)

    def normalize(part: Array) -> Array:
        logs = log_counts(part, size_factors(part, total))
        lengths = np.sqrt(np.nansum(np.square(logs), axis=1, keepdims=True))
        return np.asarray(logs / np.where(lengths > 0, lengths, 1))

    return _by_blocks(X, normalize)


def _by_blocks(X: Array, scale: Callable[[Array], Array]) -> Array:
    """Scale blocks of samples that fit the cache, in threads."""
    scaled = np.empty_like(X, order="C")

    def work(block: slice) -> None:
        scaled[block] = scale(X[block])

    map_tasks(work, row_blocks(len(X), X.shape[1], entries=CACHED_ENTRIES))
    return scaled


def standardize(X: Data, axis: int) -> Data:
    """``X`` with zero mean and unit standard deviation along an axis; constants become zero, NaN stays."""
    if is_sparse(X):
        return X.standardized(axis, *mean_and_std(X, axis))
    if axis == 1:  # in blocks of samples: no second copy of the data is made on the way
        return _by_blocks(X, lambda part: _standardize(part, *mean_and_std(part, axis=1)))
    return _standardize(X, *mean_and_std(X, axis=0))


def _standardize(X: Array, mean: Array, std: Array) -> Array:
    centered = X - mean.astype(X.dtype)
    centered /= np.where(std > 0, std, np.inf).astype(X.dtype)
    return centered


def mean_and_std(X: Data, axis: int) -> tuple[Array, Array]:
    """Mean and standard deviation of the observed entries along an axis, which is kept; 0 if no more than rounding."""
    if is_sparse(X):
        mean, std, largest = X.moments(axis)
    else:
        complete = not has_missing(X)
        total = np.sum if complete else np.nansum
        count = X.shape[axis] if complete else np.maximum((~np.isnan(X)).sum(axis=axis, keepdims=True), 1)
        mean = np.asarray(total(X, axis=axis, dtype=np.float64, keepdims=True) / count)
        squares, largest = np.zeros(np.shape(mean)), np.zeros(np.shape(mean))
        for block in row_blocks(len(X), X.shape[1], entries=CACHED_ENTRIES) if axis == 0 else [slice(None)]:
            part = X[block]
            with np.errstate(over="ignore"):
                squares += total((part - mean) ** 2, axis=axis, keepdims=True)
            largest = np.fmax(largest, np.fmax.reduce(np.abs(part), axis=axis, keepdims=True))
        unit = np.where((largest < SQUARABLE[0]) | (largest > SQUARABLE[1]), power_of_two(largest), 1)
        if np.any(unit != 1):
            mean, std = (unit * each for each in mean_and_std(X / unit, axis))
        else:
            std = np.sqrt(squares / count)
    return mean, np.where(std > ROUNDING * np.finfo(X.dtype).eps * largest, std, 0.0)
