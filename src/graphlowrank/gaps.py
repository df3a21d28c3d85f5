"""Data with missing entries, which are NaN: what can be said of the others."""

from __future__ import annotations

import numpy as np

from ._backend import Array
from .shifted_sparse import Data, ShiftedSparse


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


def check_all_observed_somewhere(X: Array) -> None:
    """Raise if nothing is known of a sample or of a feature."""
    observed = ~np.isnan(X)
    for axis, name in ((1, "sample"), (0, "feature")):
        empty = np.flatnonzero(~observed.any(axis=axis))
        if empty.size:
            more = f" ({empty.size} such {name}s)" if empty.size > 1 else ""
            raise ValueError(f"every entry of {name} {empty[0]} is missing{more}: leave it out.")
