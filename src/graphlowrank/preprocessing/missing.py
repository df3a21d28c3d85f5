"""Data with missing entries, which are NaN: what can be said of the others."""

from __future__ import annotations

import numpy as np

from .._backend import Array
from .sparse import Data, ShiftedSparse

OUTER_TENTHS = 2.563  # deviations between the lowest and the highest tenth of the normal distribution
ALIKE = 0.5  # share of the entries
ROUNDING = 10.0  # units in the last place


def has_gaps(X: Data) -> bool:
    """Whether an entry is NaN; then so is the sum of all, and of complete data no array of booleans is made.

    Entries that sparse data do not store are zeros, not missing.
    """
    if isinstance(X, ShiftedSparse):
        return False
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isnan(X.sum())) and bool(np.isnan(X).any())


def observed_mean(X: Array, weights: Array | None = None) -> Array:
    """Mean (p,) of the observed entries of each feature, in double precision; without any, the mean of these means.

    ``weights`` (n,) say how much each sample counts.
    """
    if weights is None and not has_gaps(X):
        return X.mean(axis=0, dtype=np.float64)
    given = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=np.float64)
    observed = ~np.isnan(X)
    # Not by BLAS, whose rounding depends on its threads.
    counted = np.einsum("i,ij->j", given, observed)
    total = np.einsum("i,ij->j", given, np.where(observed, X, 0), dtype=np.float64)
    known = counted > 0
    mean = np.zeros(X.shape[1])
    mean[known] = total[known] / counted[known]
    mean[~known] = mean[known].mean() if known.any() else 0.0
    return mean


def observed_median(X: Array) -> Array:
    """Median (p,) of the observed entries of each feature; of features without any, the median of these medians."""
    if not has_gaps(X):
        return np.median(X, axis=0)
    known = ~np.isnan(X).all(axis=0)
    medians = np.empty(X.shape[1], dtype=X.dtype)
    medians[known] = np.nanmedian(X[:, known], axis=0)
    medians[~known] = np.median(medians[known]) if known.any() else 0
    return medians


def middle_and_spread(X: Array) -> tuple[Array, Array]:
    """Median of each feature, and distance of its outer tenths in deviations of the normal distribution.

    Gross errors in fewer than a tenth do not move them. Features most of whose entries are alike are measured by their
    deviation; those without an entry have 0 and 0.
    """
    known = ~np.isnan(X).all(axis=0)
    middle, spread = np.zeros((2, X.shape[1]))
    part = X[:, known]
    quantile = np.nanquantile if has_gaps(part) else np.quantile
    low, middle[known], high = quantile(part, (0.1, 0.5, 0.9), axis=0)
    spread[known] = (high - low) / OUTER_TENTHS
    flat = np.flatnonzero(known)[np.mean(part == middle[known].astype(X.dtype), axis=0) > ALIKE]
    deviation, largest = (
        np.nanstd(X[:, flat], axis=0, dtype=np.float64),
        np.nanmax(np.abs(X[:, flat]), axis=0, initial=0),
    )
    spread[flat] = np.where(deviation > ROUNDING * np.finfo(X.dtype).eps * largest, deviation, 0)
    return middle, spread


def check_all_observed_somewhere(X: Array) -> None:
    """Raise if nothing is known of a sample or of a feature."""
    observed = ~np.isnan(X)
    for axis, name in ((1, "sample"), (0, "feature")):
        empty = np.flatnonzero(~observed.any(axis=axis))
        if empty.size:
            more = f" ({empty.size} such {name}s)" if empty.size > 1 else ""
            raise ValueError(f"every entry of {name} {empty[0]} is missing{more}: leave it out.")
