"""Cellwise outliers, replaced before samples are compared: for distances, never for the model's loss.

One entry in twenty that is off by five standard deviations hides most neighbors: of the ten nearest of a sample,
distances find a quarter in 30 measurements (breast cancer) and a seventh for a digit. Entries far from a low-rank
prediction of their row are treated as missing and imputed; then over seven tenths are found. Clean data lose (a sixth
of the neighbors of a digit), so :mod:`graphlowrank.auto.outliers` checks first whether filtering improves held-out
prediction.
"""

from dataclasses import dataclass

import numpy as np

from .._checks import check_floats
from .._typing import Array
from .imputer import LowRankImputer, map_rows, principal_model, subsample_rows
from .missing import column_median
from .robust_statistics import MAD_TO_STD, median_and_mad_std, row_medians

FIT_ROWS = 2000
DIRECTIONS = (1, 1, 2, 2, 3, 3, 5, 5, 8, 8, 12, 12, 20, 20, 20, 20)  # of the model in each round of fitting
MAX_ROUNDS = 6  # for one sample
TOL = 1e-3  # share of the entries whose flag changes in a round
CUTOFF = 3.5  # in robust standard deviations of the residual
MIN_NOISE = 0.3  # of the median feature's noise: a feature that is predicted to the last digit has no outliers
MIN_SCALE = 0.03  # of a feature's standard deviation; residuals of a few times this hide no neighbors
MAX_FLAGGED = 0.5  # share of a sample's entries: above, the model does not describe the sample


@dataclass(frozen=True, eq=False)
class OutlierFilter:
    """Flags cellwise outliers by their residual from a low-rank prediction of the row, and imputes them.

    Attributes
    ----------
    imputer : LowRankImputer
        The low-rank model.
    median, initial_limits, limits : ndarray of shape (p,)
        Median of each feature; distance from it, and residual, beyond which entries are flagged first and later.
    """

    imputer: LowRankImputer
    median: Array
    initial_limits: Array
    limits: Array

    def check(self) -> None:
        """Raise ValueError unless the parts fit together."""
        if not isinstance(self.imputer, LowRankImputer):
            raise ValueError("the imputer of a filter must be a low-rank model.")
        check_floats(self.median, "median", self.imputer.center.shape)
        for name in ("initial_limits", "limits"):  # infinite where the scale of a feature is unknown
            check_floats(getattr(self, name), name, self.imputer.center.shape, least=0, finite=False)

    def apply(self, X: Array) -> Array:
        """Copy of ``X`` with missing values and outliers imputed, row by row."""
        return map_rows(X, len(self.imputer.directions), self._replace)

    def _replace(self, X: Array) -> Array:
        flagged, predicted = self.flag(X)
        return np.where(flagged, predicted, X)

    def flag(self, X: Array) -> tuple[Array, Array]:
        """Booleans (n, p), True for missing values and outliers, and the predictions of all entries."""
        missing = np.isnan(X)
        known = np.where(missing, self.median, X)
        flagged = _beyond(np.abs(known - self.median), self.initial_limits, missing)
        for _ in range(MAX_ROUNDS):
            predicted = self.imputer.predict(known, flagged)
            before, flagged = flagged, _beyond(np.abs(known - predicted), self.limits, missing)
            if np.array_equal(before, flagged):
                return flagged, predicted
        return flagged, self.imputer.predict(known, flagged)


def fit_outlier_filter(X: Array, rng: np.random.RandomState) -> OutlierFilter:
    """Fit the low-rank model to data with outliers: flag, take singular vectors of the rest, flag again by them."""
    part = subsample_rows(X, FIT_ROWS, rng)
    missing = np.isnan(part)
    median, std = (along.astype(X.dtype) for along in median_and_mad_std(part))
    known = np.where(missing, median, part)
    initial_limits = np.where(std > 0, CUTOFF * std, np.inf).astype(X.dtype)
    flagged = _beyond(np.abs(known - median), initial_limits, missing)
    filled = np.where(flagged, median, known)
    # One direction first, then more: all of them at once would fit the outliers.
    for n_directions in DIRECTIONS:
        imputer = principal_model(filled, known, flagged, n_directions)
        predicted = map_rows(known, len(imputer.directions), imputer.predict, flagged)
        residual = np.where(missing, np.nan, np.abs(known - predicted))
        noise = MAD_TO_STD * column_median(residual)
        limits = CUTOFF * np.maximum(noise, np.maximum(MIN_NOISE * np.median(noise), MIN_SCALE * std))
        limits[std == 0] = np.inf  # the scale of these features is unknown
        before, flagged = flagged, _beyond(np.abs(known - predicted), limits, missing)
        filled = np.where(flagged, predicted, known)
        if n_directions == DIRECTIONS[-1] and np.mean(before != flagged) < TOL:
            break
    return OutlierFilter(imputer, median, initial_limits, limits)


def _beyond(residual: Array, limits: Array, missing: Array) -> Array:
    """Flag missing values and residuals beyond the limit of their feature.

    If most of a sample is beyond the limits, the model does not describe it: there, only entries far beyond the
    sample's own median residual are flagged.
    """
    ratio = np.divide(residual, limits, out=np.zeros_like(residual), where=limits > 0)
    ratio[missing] = np.nan
    flagged = ratio > 1
    unknown = flagged.sum(axis=1) > MAX_FLAGGED * (~missing).sum(axis=1)
    flagged[unknown] = ratio[unknown] > CUTOFF * MAD_TO_STD * row_medians(ratio[unknown])[:, None]
    return flagged | missing
