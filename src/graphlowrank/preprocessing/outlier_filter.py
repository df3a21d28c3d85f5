"""Cellwise outliers, replaced before samples are compared: for distances, not for the model's loss.

One entry in twenty that is off by five standard deviations hides most neighbors: of the ten nearest of a sample,
distances find a quarter in 30 measurements (breast cancer) and a seventh for a digit. Entries far from a low-rank
prediction of their row are treated as missing and imputed; then over seven tenths are found. Clean data lose (a sixth
of the neighbors of a digit), so :mod:`graphlowrank.auto.outliers` checks first whether filtering improves held-out
prediction.

Salt and pepper, entries that became the lowest or highest value of their feature, are no farther from the median than
many others. They are the exception to both: only entries at these ends are flagged, by a lower cutoff, and they are
replaced for the loss, too.
"""

from dataclasses import dataclass, replace

import numpy as np

from .._checks import check_floats
from .._typing import Array
from .imputer import LowRankImputer, map_rows, principal_model, subsample_rows
from .missing import column_median, row_medians
from .robust_statistics import MAD_TO_STD, median_and_mad_std

FIT_ROWS = 2000
DIRECTIONS = (1, 1, 2, 2, 3, 3, 5, 5, 8, 8, 12, 12, 20, 20, 20, 20)  # of the model in each round of fitting
ROUNDS = (20,) * 6  # for one sample: directions of the model in each
TOL = 1e-3  # share of the entries whose flag changes in a round
CUTOFF = 3.5  # in robust standard deviations of the residual
# At the ends of the range; chosen on digits and USPS with 15 % salt and pepper, where 2.2 to 2.8 are nearly as good.
END_DIRECTIONS = (*DIRECTIONS, 30, 30, 30, 30)
ROUNDS_AT_ENDS = (3, 5, 8, 12, 20, 30, 30, 30)
END_CUTOFF = 2.5  # in standard deviations of the residuals that are not flagged
MIN_AT_END = 0.01  # share of the samples that have the lowest, or highest, value of a feature
MIN_NOISE = 0.3  # of the median feature's noise: a feature that is predicted to the last digit has no outliers
MIN_SCALE = 0.03  # of a feature's standard deviation; residuals of a few times this hide no neighbors
TINY = np.finfo(np.float32).eps
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
    low, high : ndarray of shape (p,) or None
        Ends of each feature's range, infinite if few entries are there: entries between them are not flagged. None if
        all may be.
    """

    imputer: LowRankImputer
    median: Array
    initial_limits: Array
    limits: Array
    low: Array | None = None
    high: Array | None = None

    def check(self) -> None:
        """Raise ValueError unless the parts fit together."""
        if not isinstance(self.imputer, LowRankImputer):
            raise ValueError("the imputer of a filter must be a low-rank model.")
        check_floats(self.median, "median", self.imputer.center.shape)
        for name in ("initial_limits", "limits"):  # infinite where the scale of a feature is unknown
            check_floats(getattr(self, name), name, self.imputer.center.shape, least=0, finite=False)
        if (self.low is None) != (self.high is None):
            raise ValueError("a filter must have both ends of the range, or none.")
        for name in ("low", "high") if self.low is not None else ():
            check_floats(getattr(self, name), name, self.imputer.center.shape, finite=False)

    @property
    def at_ends(self) -> bool:
        """Whether only entries at the ends of the range are flagged."""
        return self.low is not None

    def keeps(self, X: Array) -> Array:
        """Booleans (n, p), True for entries between the ends, which are never flagged."""
        return _between(X, self.low, self.high)

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
        kept = _between(known, self.low, self.high)
        flagged = _beyond(np.abs(known - self.median), self.initial_limits, missing, kept)
        for n_directions in ROUNDS_AT_ENDS if self.at_ends else ROUNDS:
            imputer, limits = self._truncated(n_directions)
            predicted = _clip(imputer.predict(known, flagged), self.low, self.high)
            before, flagged = flagged, _beyond(np.abs(known - predicted), limits, missing, kept)
            if np.array_equal(before, flagged) and imputer is self.imputer:
                return flagged, predicted
        return flagged, _clip(self.imputer.predict(known, flagged), self.low, self.high)

    def _truncated(self, n_directions: int) -> tuple[LowRankImputer, Array]:
        """Model of the first directions, and limits to which the variance of the others is added."""
        whole, limits = self.imputer, self.limits
        if n_directions >= len(whole.directions):
            return whole, limits
        known = limits[np.isfinite(limits)].astype(np.float64)
        unit = np.sum(known**2) / max(len(known), 1)  # the ridge is the noise, in whose units limits are, / variance
        omitted = np.square(whole.directions[n_directions:]) / np.maximum(whole.ridge[n_directions:, None], TINY)
        first = replace(whole, directions=whole.directions[:n_directions], ridge=whole.ridge[:n_directions])
        return first, np.hypot(limits, np.sqrt(unit * omitted.sum(axis=0))).astype(limits.dtype)


def ends_of_range(X: Array) -> tuple[Array, Array]:
    """Lowest and highest value (p,) of each feature; infinite if fewer than 1 % of the samples have it, or two."""
    low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    at_least = max(MIN_AT_END * len(X), 3)
    low, high = (
        np.where(np.sum(end == X, axis=0) >= at_least, end, infinite).astype(X.dtype)
        for end, infinite in ((low, -np.inf), (high, np.inf))
    )
    return low, high


def fit_outlier_filter(X: Array, rng: np.random.RandomState, *, at_ends: bool = False) -> OutlierFilter:
    """Fit the low-rank model to data with outliers: flag, take singular vectors of the rest, flag again by them.

    ``at_ends``: only entries at the ends of their feature's range may be outliers.
    """
    part = subsample_rows(X, FIT_ROWS, rng)
    missing = np.isnan(part)
    median, std = (along.astype(X.dtype) for along in median_and_mad_std(part))
    known = np.where(missing, median, part)
    low, high = ends_of_range(part) if at_ends else (None, None)
    kept = _between(known, low, high)
    # At the ends nothing is flagged at first: many entries there are far from the median.
    initial_limits = np.where((std > 0) & (not at_ends), CUTOFF * std, np.inf).astype(X.dtype)
    flagged = _beyond(np.abs(known - median), initial_limits, missing, kept)
    filled = np.where(flagged, median, known)
    schedule = END_DIRECTIONS if at_ends else DIRECTIONS
    # One direction first, then more: all of them at once would fit the outliers.
    for n_directions in schedule:
        imputer = principal_model(filled, known, flagged, n_directions)
        predicted = _clip(map_rows(known, len(imputer.directions), imputer.predict, flagged), low, high)
        residual = np.where(missing, np.nan, np.abs(known - predicted))
        limits = _limits_at_ends(residual, flagged) if at_ends else _limits(residual, std)
        limits[std == 0] = np.inf  # the scale of these features is unknown
        before, flagged = flagged, _beyond(np.abs(known - predicted), limits, missing, kept)
        filled = np.where(flagged, predicted, known)
        if n_directions == schedule[-1] and np.mean(before != flagged) < TOL:
            break
    return OutlierFilter(imputer, median, initial_limits, limits, low, high)


def _limits(residual: Array, std: Array) -> Array:
    """Residual of each feature beyond which entries are outliers, by the MAD."""
    noise = MAD_TO_STD * column_median(residual)
    return CUTOFF * np.maximum(noise, np.maximum(MIN_NOISE * np.median(noise), MIN_SCALE * std))


def _limits_at_ends(residual: Array, flagged: Array) -> Array:
    """Limits for entries at the ends, by those that are not flagged.

    Not by the MAD, which is near 0 where most entries are at one end.
    """
    count = np.maximum((~flagged).sum(axis=0), 1)
    noise = np.sqrt(np.sum(np.square(residual, dtype=np.float64), axis=0, where=~flagged) / count)
    return (END_CUTOFF * np.maximum(noise, MIN_NOISE * np.median(noise))).astype(residual.dtype)


def _between(X: Array, low: Array | None, high: Array | None) -> Array:
    """Booleans (n, p): entries that are not at the ends, if there are any, and are kept as they are."""
    return np.zeros(X.shape, dtype=bool) if low is None or high is None else (low < X) & (high > X)


def _clip(X: Array, low: Array | None, high: Array | None) -> Array:
    return X if low is None or high is None else np.clip(X, low, high)


def _beyond(residual: Array, limits: Array, missing: Array, kept: Array) -> Array:
    """Flag missing values, and residuals beyond the limit of their feature except of entries that are ``kept``.

    If most of a sample is beyond the limits, the model does not describe it: there, only entries far beyond the
    sample's own median residual are flagged.
    """
    ratio = np.divide(residual, limits, out=np.zeros_like(residual), where=limits > 0)
    ratio[missing] = np.nan
    flagged = (ratio > 1) & ~kept
    unknown = flagged.sum(axis=1) > MAX_FLAGGED * (~missing).sum(axis=1)
    flagged[unknown] &= ratio[unknown] > CUTOFF * MAD_TO_STD * row_medians(ratio[unknown])[:, None]
    return flagged | missing
