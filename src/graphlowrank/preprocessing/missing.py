"""Missing values, which are NaN in dense data: tests for them, and column statistics of the observed entries.

The path of a NaN: estimators check that every sample and feature has an observed entry; scaling uses observed entries;
distances are computed from a copy with NaN imputed (:mod:`.imputer`); the sampled block keeps NaN, and the model gives
these entries weight 0 in its loss, so the graphs or the low rank determine them, or :mod:`graphlowrank.models.denoise`
predicts them from the rest of their row; the result has no NaN. ``transform`` ignores NaN of new samples, ``predict``
imputes them.
"""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from .._typing import Array
from ..linalg.blocks import map_row_blocks
from .sparse import Data, is_sparse


def has_missing(X: Data) -> bool:
    """Whether an entry is NaN. Entries that sparse data do not store are zeros, not missing.

    The sum is NaN if an entry is, so complete data need no array of booleans.
    """
    if is_sparse(X) or sp.issparse(X):
        return False
    return any(map_row_blocks(_has_nan, X))


def _has_nan(X: Array) -> bool:
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isnan(X.sum())) and bool(np.isnan(X).any())


def observed_mask(X: Array) -> Array | None:
    """Booleans, True where an entry is observed; None if all are."""
    return ~np.isnan(X) if has_missing(X) else None


def column_mean(X: Array, weights: Array | None = None) -> Array:
    """Mean (p,) of the observed entries of each column, in double precision.

    A column without any gets the mean of the other means. ``weights`` (n,) are sample weights.
    """
    if weights is None and not has_missing(X):
        return X.mean(axis=0, dtype=np.float64)
    given = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=np.float64)
    observed = ~np.isnan(X)
    # einsum, not BLAS, whose rounding depends on its threads.
    counted = np.einsum("i,ij->j", given, observed)
    total = np.einsum("i,ij->j", given, np.where(observed, X, 0), dtype=np.float64)
    known = counted > 0
    mean = np.zeros(X.shape[1])
    mean[known] = total[known] / counted[known]
    mean[~known] = mean[known].mean() if known.any() else 0.0
    return mean


def row_medians(X: Array) -> Array:
    """Median (n,) of each row without its NaN; much faster than ``np.nanmedian``."""
    ordered = np.sort(X, axis=1)  # NaN last
    counts = (~np.isnan(X)).sum(axis=1)
    row = np.arange(len(X))
    return (ordered[row, np.maximum(counts - 1, 0) // 2] + ordered[row, counts // 2]) / 2


def column_median(X: Array) -> Array:
    """Median (p,) of the observed entries of each column; a column without any gets the median of the others."""
    if not has_missing(X):
        return np.median(X, axis=0)
    known = ~np.isnan(X).all(axis=0)
    medians = np.empty(X.shape[1], dtype=X.dtype)
    medians[known] = row_medians(X[:, known].T)
    medians[~known] = np.median(medians[known]) if known.any() else 0
    return medians


def check_observed(X: Array, names: Sequence[str] = ("sample", "feature")) -> None:
    """Raise if a sample or a feature has no observed entry."""
    observed = ~np.isnan(X)
    for axis, name in zip((1, 0), names, strict=False):
        empty = np.flatnonzero(~observed.any(axis=axis))
        if empty.size:
            more = f" ({empty.size} such {name}s)" if empty.size > 1 else ""
            raise ValueError(f"{name} {empty[0]} has only missing values{more}; remove it.")
