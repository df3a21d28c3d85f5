"""Remove noise and outliers from a matrix, and impute its missing values, by what its other entries predict.

Entries are predicted from the rest of their row (:mod:`.entry_regression`). Entries far from their prediction are
outliers: they, and missing ones, are replaced by it, and the predictions repeated. What remains is a complete matrix
with white noise, whose singular values are shrunk (:mod:`graphlowrank.linalg.optimal_shrinkage`), around the mean of
the neighbors if that has a clearly lower risk.

In sparse data the few large entries are the signal, and the others predict none of them. Then predictions without
"outliers" are worse than the means of the features, and no entry counts as an outlier.
"""

from dataclasses import dataclass, replace

import numpy as np

from .._typing import Array
from ..linalg.optimal_shrinkage import Spectrum
from ..preprocessing.outlier_probability import FEW, outlier_probabilities
from .entry_regression import RIDGES, assign_folds, neighbor_means, predict_left_out

MAX_ROUNDS = 4
TOL = 3e-3  # change of the completed matrix in a round, relative to its norm
LOSS_CLIP = 1.5  # mean absolute deviations of the data: an outlier costs every prediction the same
FLOOR_SHARE = 0.05  # of the features: the noise is no larger than the errors of the best-predicted ones
WORSE_THAN_MEANS = 1.01  # squared error of predictions of all entries, outliers included, over that of feature means
LEAKING_SHARE = 0.05  # of missing values, from which entries see themselves in the imputed ones of their row
AROUND_PENALTY = 1.05  # on the risk of shrinkage around the neighbors, which were chosen by the same data
NEGLIGIBLE, TINY = 0.01, 1e-6  # of squared error and squared norm: factors that together have less are left out


@dataclass(frozen=True, eq=False)
class Denoised:
    """Answer of :func:`denoise`."""

    spectrum: Spectrum
    predicted: Array  # (n, p) every entry without itself; held-out ones without each other
    filled: Array  # (n, p) data, outliers and missing entries replaced
    base: Array  # (n, p) neighbors' means
    column_folds: Array  # of the shorter side
    ridge: float  # of the mean square of the deviations from the base; one of RIDGES
    probability: Array  # (n, p) of being an outlier; 1 where missing
    share: float  # of outliers
    noise: float  # standard deviation
    error: float  # estimated root mean squared error of the answer
    around_neighbors: bool
    only_signal: bool = False  # entries far from their prediction are signal, not outliers


def denoise(
    X: Array,
    start: Array,
    rng: np.random.RandomState,
    *,
    suspects: Array | None = None,
    held_out: Array | None = None,
    trial: Array | None = None,
) -> Denoised:
    """Estimate the clean matrix behind data with white noise, outliers and missing values.

    Parameters
    ----------
    X
        (n, p) data; NaN where missing.
    start
        (n, p) first guess, complete: entries far from it are outliers at first.
    rng
        Random number generator that assigns the folds.
    suspects
        (n, p) True for entries that may be outliers, if few are left, as after a filter; None for all.
    held_out, trial
        Mask (n, p), and a first guess (n, p) that has not seen these entries. If values are missing, a first pass
        without them chooses the ridge, and the noise is measured by its predictions of them: an imputed entry is
        predicted from all others of its row, which would see themselves in it.
    """
    folds = assign_folds(max(X.shape), rng), assign_folds(min(X.shape), rng)
    found = _denoise_judged(X, start, folds, suspects, held_out, trial)
    if suspects is None and found.share >= FEW and _worse_than_means(X, found.predicted):
        nothing = np.zeros(X.shape, dtype=bool)
        found = replace(_denoise_judged(X, start, folds, nothing, held_out, trial), only_signal=True)
    return found


def _worse_than_means(X: Array, predicted: Array) -> bool:
    """Whether predictions of all entries are worse than the mean of each feature."""
    errors, deviations = (np.nansum(np.square(X - one, dtype=np.float64)) for one in (predicted, np.nanmean(X, axis=0)))
    return bool(errors > WORSE_THAN_MEANS * deviations)


def _denoise_judged(
    X: Array, start: Array, folds: tuple[Array, Array], suspects: Array | None, held_out: Array | None,
    trial: Array | None,
) -> Denoised:  # fmt: skip
    if held_out is None or trial is None or np.isnan(X).mean() <= LEAKING_SHARE:
        return _denoise(X, start, folds, suspects)
    judged = held_out & ~np.isnan(X)
    first = _denoise(np.where(judged, X.dtype.type(np.nan), X), trial, folds, suspects, _Judged(X, judged))
    return _denoise(X, start, folds, suspects, _Judged(X, judged, first))


@dataclass(frozen=True, eq=False)
class _Judged:
    """Entries that the ridge is chosen by, and the pass that has not seen them, unless this is that pass."""

    X: Array
    mask: Array
    first: Denoised | None = None


def _denoise(
    X: Array, start: Array, folds: tuple[Array, Array], suspects: Array | None, judged: _Judged | None = None
) -> Denoised:
    seen = ~np.isnan(X)
    width, clip = float(np.ptp(X[seen])), LOSS_CLIP * float(np.nanmean(np.abs(X - np.nanmedian(X, axis=0))))
    wide = X.shape[0] < X.shape[1]
    judged = judged or _Judged(X, seen)
    first = judged.first

    def loss(predicted: Array) -> float:
        errors = np.abs(judged.X - (predicted.T if wide else predicted))[judged.mask]
        return float(np.mean(np.minimum(errors, clip) ** 2, dtype=np.float64))

    filled, probability, share = replace_outliers(X, start, width, suspects)
    noise, base = 0.0, np.zeros_like(X)
    ridge = len(RIDGES) // 2 if first is None else RIDGES.index(first.ridge)
    for number in range(MAX_ROUNDS):
        # The longer side has enough rows to know the covariance of the shorter one.
        long = np.ascontiguousarray(filled.T) if wide else filled
        around = neighbor_means(long, folds[1], noise) if number else np.broadcast_to(long.mean(axis=0), long.shape)
        predicted, ridge = predict_left_out(long, around, folds[0], loss if first is None else None, ridge)
        predicted, base = (predicted.T, around.T) if wide else (predicted, around)
        before = filled
        filled, probability, share = replace_outliers(X, predicted, width, suspects)
        inlier = seen & (probability < 0.5)
        if first is not None:
            predicted = np.where(judged.mask, first.predicted, predicted)
            inlier &= judged.mask
        if not inlier.any():
            break
        whole = Spectrum.of(filled)
        noise = _noise(X, predicted, inlier, whole)
        change, size = np.linalg.norm(filled - before), np.linalg.norm(whole.values)
        if number and change <= TOL * size:
            break
    spectrum, error, around_neighbors = _shrink(X, filled, base, probability, noise)
    return Denoised(
        spectrum, predicted, filled, base, folds[1], RIDGES[ridge], probability, share, noise, error, around_neighbors
    )


def replace_outliers(X: Array, predicted: Array, width: float, suspects: Array | None) -> tuple[Array, Array, float]:
    """Replace entries that are missing, or far from their prediction, by it.

    Returns the complete matrix (n, p), the probability (n, p) that an entry is an outlier, and their share. ``width``
    is the range of the data; ``suspects`` as for :func:`denoise`.
    """
    seen = ~np.isnan(X)
    errors = np.where(seen, X - predicted, X.dtype.type(np.nan))
    probability, share = outlier_probabilities(errors, width, filtered=suspects is not None)
    if suspects is not None:
        probability[seen & ~suspects] = 0.0
    weight = (1 - probability).astype(X.dtype)
    return weight * np.where(seen, X, X.dtype.type(0)) + (1 - weight) * predicted, probability, share


def _shrink(X: Array, filled: Array, base: Array, probability: Array, noise: float) -> tuple[Spectrum, float, bool]:
    """Shrink the singular values of the completed matrix, or of what differs from the neighbors' mean.

    Returns the better matrix, its estimated error, and whether it is the latter.
    """
    inlier = ~np.isnan(X) & (probability < 0.5)
    variance = noise**2

    def risk(error: Array, own_weight: float) -> float:
        """Stein's unbiased estimate: squared residual plus twice the noise that an entry keeps of its own."""
        squares = float(np.mean(np.square(error[inlier], dtype=np.float64))) if inlier.any() else 0.0
        return max(squares - variance + 2 * variance * own_weight, 0.0)

    whole, around = Spectrum.of(filled), Spectrum.of(filled - base)
    spectrum, near = whole.shrunk(noise), around.shrunk(noise)
    matrix, near_matrix = spectrum.matrix(), near.matrix() + base
    least = risk(X - matrix, whole.own_weight(noise))
    near_risk = risk(X - near_matrix, around.own_weight(noise))
    around_neighbors = AROUND_PENALTY * near_risk < least
    if around_neighbors:
        least, spectrum = near_risk, Spectrum.of(near_matrix)
    return significant(spectrum, least), least**0.5, around_neighbors


def significant(spectrum: Spectrum, squared_error: float) -> Spectrum:
    """Leave out the last factors of an answer, which are negligible beside its mean squared error."""
    return spectrum.leading(negligible(spectrum.values, squared_error, len(spectrum.left) * len(spectrum.right)))


def negligible(values: Array, squared_error: float, n_entries: int) -> float:
    """Sum of squared singular values that is negligible beside the mean squared error of an answer."""
    norm = float(np.sum(np.square(values, dtype=np.float64)))
    return max(NEGLIGIBLE * squared_error * n_entries, TINY * norm)


def _noise(X: Array, predicted: Array, inlier: Array, whole: Spectrum) -> float:
    """Return the standard deviation of white noise in the entries: the smaller of two upper estimates.

    One is from the smaller singular values of the completed matrix, the other is the error of the predictions on the
    features that are predicted best. Constant features are left out: noise would have moved them.
    """
    varying = np.nanmax(X, axis=0) > np.nanmin(X, axis=0)
    n_constant = int(np.count_nonzero(~varying))
    count = inlier.sum(axis=0)
    squares = np.sum(np.square(X - predicted, dtype=np.float64), axis=0, where=inlier)
    of_features = (squares / np.maximum(count, 1))[varying & (count > 0)]
    floor = float(np.quantile(of_features, FLOOR_SHARE)) ** 0.5 if len(of_features) else 0.0
    observed = float(inlier.mean()) ** 0.5  # the others have no noise of their own
    return min(floor, whole.noise(n_constant) / observed)
