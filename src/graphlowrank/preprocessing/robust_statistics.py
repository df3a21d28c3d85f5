"""Location and scale that outliers do not move, and the factors that turn them into standard deviations.

NaN is a missing value everywhere.
"""

import numpy as np

from .._typing import Array
from .missing import has_missing, row_medians

# For a normal distribution.
MAD_TO_STD = 1.4826  # standard deviation / MAD
STD_TO_MAD = 0.6745  # MAD / standard deviation
STD_TO_MEAN_ABSOLUTE = 0.7979  # mean absolute deviation / standard deviation
STD_TO_INTERDECILE = 2.563  # interdecile range / standard deviation

MOSTLY_EQUAL = 0.5  # share of entries equal to the median: above, quantiles say nothing about the scale
MIN_VARYING_SHARE = 0.25  # of features with a positive MAD; ORL 1.00, digits 0.58, MNIST 0.18
ROUNDING = 10.0  # in units of the last place of the largest entry


def std_from_absolute(errors: Array) -> float:
    """Estimate the standard deviation of normal errors from their absolute values, by the median."""
    return float(np.median(errors)) / STD_TO_MAD


def median_and_mad_std(X: Array) -> tuple[Array, Array]:
    """Median (p,) and standard deviation by the MAD (p,) of each column.

    The root mean square distance from the median replaces a MAD of 0. Both are 0 for a column without values.
    """
    known = ~np.isnan(X).all(axis=0)
    median, std = np.zeros((2, X.shape[1]))
    distance = X[:, known]
    median[known] = row_medians(distance.T)
    distance = np.abs(distance - median[known])
    by_mad = MAD_TO_STD * row_medians(distance.T)
    std[known] = np.where(by_mad > 0, by_mad, np.sqrt(np.nanmean(distance**2, axis=0)))
    return median, std


def median_and_interdecile_std(X: Array) -> tuple[Array, Array]:
    """Median (p,) and standard deviation by the interdecile range (p,) of each column.

    Outliers in fewer than a tenth of the entries do not move them. A column most of whose entries are equal gets its
    ordinary standard deviation. Both are 0 for a column without values.
    """
    known = ~np.isnan(X).all(axis=0)
    median, std = np.zeros((2, X.shape[1]))
    part = X[:, known]
    quantile = np.nanquantile if has_missing(part) else np.quantile
    low, median[known], high = quantile(part, (0.1, 0.5, 0.9), axis=0)
    std[known] = (high - low) / STD_TO_INTERDECILE
    flat = np.flatnonzero(known)[np.mean(part == median[known].astype(X.dtype), axis=0) > MOSTLY_EQUAL]
    ordinary = np.nanstd(X[:, flat], axis=0, dtype=np.float64)
    largest = np.nanmax(np.abs(X[:, flat]), axis=0, initial=0)
    std[flat] = np.where(ordinary > ROUNDING * np.finfo(X.dtype).eps * largest, ordinary, 0)
    return median, std


def robust_mean_absolute_deviation(X: Array) -> float:
    """Mean absolute deviation of the entries from the median of their column, estimated by the MAD.

    It is the mean over columns of the MAD, scaled to agree with the mean absolute deviation of normal data, so outliers
    do not move it. In sparse data most columns have a MAD of 0: large entries are the signal there, and the plain mean
    absolute deviation is returned.
    """
    complete = not has_missing(X)
    median, mean = (np.median, np.mean) if complete else (np.nanmedian, np.nanmean)
    X = X if complete else X[:, ~np.isnan(X).all(axis=0)]
    distance = np.abs(X - median(X, axis=0))
    mad = median(distance, axis=0)
    if np.mean(mad > 0) >= MIN_VARYING_SHARE:
        return float(STD_TO_MEAN_ABSOLUTE / STD_TO_MAD * np.mean(mad, dtype=np.float64))
    return float(mean(distance, dtype=np.float64))
