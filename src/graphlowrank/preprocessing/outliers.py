"""Gross errors put aside before points are compared: for distances, never for the model's loss.

One entry in twenty that is off by five deviations hides most neighbours: of the ten nearest of a sample, distances find
a quarter in 30 measurements (breast cancer) and a seventh of those of a digit. Entries that the others of the same
sample contradict, by a low-rank model, are taken for missing and guessed; then over seven tenths are found. Clean data
lose by it (a sixth of the neighbours of a digit), so neighbours with and without are asked to predict hidden entries
first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._backend import Array
from .._evenly import evenly
from ..graphs.search import nearest_neighbors
from .imputer import Filling, directions_of, drawn_rows, in_blocks, learn_filling
from .missing import middle_and_spread, observed_median

LEARNT_FROM = 2000  # rows
DIRECTIONS = (1, 1, 2, 2, 3, 3, 5, 5, 8, 8, 12, 12, 20, 20, 20, 20)  # in the rounds of learning
SIFTINGS = 6  # rounds for one sample
SETTLED = 1e-3  # share of the entries that change sides in a round to stop at
FAR = 3.5  # deviations of what is left over, by its median: further away is an error
NORMAL = 1.4826  # deviations in the median distance from the middle of the normal distribution
LEAST_NOISE = 0.3  # of the middle feature's: a feature that is predicted to the last digit is not full of errors
HARMLESS = 0.03  # of a feature's deviation; errors of a few times this hide no neighbours
MOST_ASIDE = 0.5  # of a sample

JUDGED_BY, JUDGED_FEATURES = 600, 256  # samples and features that tell whether there are gross errors
FEWEST_SAMPLES, FEWEST_FEATURES = 50, 4
MOST_FEATURES = 4000  # regression on more takes long
ENOUGH, MOST_REPEATS = 50_000, 4  # entries to hide some of, and times to do it
HIDDEN, CAP = 0.1, 3.0  # share of entries to predict, and deviations that count at most
SURE, WORTH = 3.0, 0.04  # standard errors and share by which prediction must gain


@dataclass(frozen=True, eq=False)
class Sieve:
    """Tells gross errors by what the other entries of a sample let expect.

    Attributes
    ----------
    filling
        Low-rank model.
    middle, reach
        (p,) median of each feature and distance from it beyond which an entry is an error until the model has spoken.
    limits
        (p,) distance from what is expected beyond which it is one.
    """

    filling: Filling
    middle: Array
    reach: Array
    limits: Array

    def apply(self, X: Array) -> Array:
        """Copy of ``X`` with guesses for NaN and for gross errors. Rows have no say on one another."""
        return in_blocks(X, len(self.filling.directions), self._sifted)

    def aside(self, X: Array) -> Array:
        """Booleans (n, p), True for what is missing or taken for an error."""
        return self._sift(X)[0]

    def _sifted(self, X: Array) -> Array:
        aside, expected = self._sift(X)
        return np.where(aside, expected, X)

    def _sift(self, X: Array) -> tuple[Array, Array]:
        missing = np.isnan(X)
        known = np.where(missing, self.middle, X)
        aside = _far(np.abs(known - self.middle), self.reach, missing)
        for _ in range(SIFTINGS):
            expected = self.filling.expected(known, aside)
            before, aside = aside, _far(np.abs(known - expected), self.limits, missing)
            if np.array_equal(before, aside):
                return aside, expected
        return aside, self.filling.expected(known, aside)


@dataclass(frozen=True)
class Verdict:
    """Whether gross errors should be put aside, and why."""

    present: bool
    reason: str


def learn_sieve(X: Array, rng: np.random.RandomState) -> Sieve:
    """Low-rank model of data with gross errors, and maybe gaps: put aside, take singular vectors, put aside by them.

    Parameters
    ----------
    X
        (n, p), NaN where an entry is missing.
    rng
        Draws the rows to learn from, if there are many.
    """
    part = drawn_rows(X, LEARNT_FROM, rng)
    missing = np.isnan(part)
    middle, spread = (along.astype(X.dtype) for along in _by_medians(part))
    known = np.where(missing, middle, part)
    reach = np.where(spread > 0, FAR * spread, np.inf).astype(X.dtype)
    aside = _far(np.abs(known - middle), reach, missing)
    filled = np.where(aside, middle, known)
    # One direction first, then more: as many at once as there may be would fit themselves to the errors.
    for most in DIRECTIONS:
        filling = directions_of(filled, known, aside, most)
        expected = in_blocks(known, len(filling.directions), filling.expected, aside)
        left_over = np.where(missing, np.nan, np.abs(known - expected))
        noise = NORMAL * observed_median(left_over)
        limits = FAR * np.maximum(noise, np.maximum(LEAST_NOISE * np.median(noise), HARMLESS * spread))
        limits[spread == 0] = np.inf  # nothing is known of what these features may be
        before, aside = aside, _far(np.abs(known - expected), limits, missing)
        filled = np.where(aside, expected, known)
        if most == DIRECTIONS[-1] and np.mean(before != aside) < SETTLED:
            break
    return Sieve(filling, middle, reach, limits)


def judge(X: Array, n_neighbors: int) -> Verdict:
    """Say whether neighbours predict hidden entries better if gross errors are put aside first, on some samples.

    Both times a hidden entry is predicted by the median of its sample's neighbours, so only who they are differs.
    """
    if X.shape[1] > MOST_FEATURES:
        return Verdict(present=False, reason=f"more than {MOST_FEATURES} features are too many to tell by")
    part = X[evenly(len(X), JUDGED_BY)]
    # Where most entries are alike, as in counts, the few others are the signal: not in deviations by the median.
    spread = middle_and_spread(part)[1]
    varies = np.flatnonzero(spread > 0)
    varies = varies[evenly(len(varies), JUDGED_FEATURES)]
    part, spread = part[:, varies], spread[varies]
    if len(part) < FEWEST_SAMPLES or len(varies) < FEWEST_FEATURES:
        return Verdict(present=False, reason="too few samples or features to tell")
    plain, gain = _gain(part, n_neighbors, spread)
    if gain.size > 1 and gain.mean() > max(WORTH * plain.mean(), SURE * gain.std() / np.sqrt(gain.size)):
        share = gain.mean() / plain.mean()
        return Verdict(
            present=True, reason=f"neighbours predict hidden entries better by {share:.0%} with others put aside"
        )
    return Verdict(present=False, reason="putting entries aside would not help neighbours to predict hidden ones")


def _gain(X: Array, n_neighbors: int, spread: Array) -> tuple[Array, Array]:
    """Loss of samples with nothing put aside, and by how much it falls; entries of few are hidden several times."""
    rng = np.random.RandomState(0)
    losses = []
    for _ in range(np.clip(ENOUGH // X.size, 1, MOST_REPEATS)):
        hidden = (rng.random_sample(X.shape) < HIDDEN) & ~np.isnan(X)
        hidden[(hidden | np.isnan(X)).all(axis=1)] = False  # something must be left to tell the neighbours by
        seen = np.where(hidden, np.nan, X)
        losses.append(
            [
                _loss(X, hidden, learn(seen, rng).apply(seen), n_neighbors, spread)
                for learn in (learn_filling, learn_sieve)
            ]
        )
    told = ~np.isnan(losses).any(axis=1)  # (repeats, samples)
    plain, sifted = (np.where(told, one, 0).sum(axis=0) for one in np.moveaxis(np.array(losses), 1, 0))
    times = told.sum(axis=0)
    plain, sifted = plain[times > 0] / times[times > 0], sifted[times > 0] / times[times > 0]
    return plain, plain - sifted


def _loss(X: Array, hidden: Array, points: Array, n_neighbors: int, spread: Array) -> Array:
    """Mean error (n,) of each sample's hidden entries in deviations, capped; NaN for a sample without any."""
    near = nearest_neighbors(points, min(n_neighbors, len(X) - 1), engine="exact")[1]
    rows, columns = np.nonzero(hidden)
    seen = np.where(hidden, np.nan, X)
    found = _row_medians(seen[near[rows], columns[:, None]])
    losses = np.minimum(np.abs(X[rows, columns] - found) / spread[columns], CAP)
    told = ~np.isnan(losses)  # by at least one neighbour
    counts = np.bincount(rows[told], minlength=len(X))
    totals = np.bincount(rows[told], weights=losses[told], minlength=len(X))
    return np.divide(totals, counts, out=np.full(len(X), np.nan), where=counts > 0)


def _row_medians(values: Array) -> Array:
    """Median (n,) of each row (n, k) without its NaN; far quicker than numpy's for short rows."""
    ordered = np.sort(values, axis=1)  # NaN last
    counts = (~np.isnan(values)).sum(axis=1)
    row = np.arange(len(values))
    return (ordered[row, np.maximum(counts - 1, 0) // 2] + ordered[row, counts // 2]) / 2


def _by_medians(X: Array) -> tuple[Array, Array]:
    """Median and deviation (p,) of each feature: by the median distance from it, or the mean square if that is 0."""
    known = ~np.isnan(X).all(axis=0)
    middle, spread = np.zeros((2, X.shape[1]))
    away = X[:, known]
    middle[known] = np.nanmedian(away, axis=0)
    away = np.abs(away - middle[known])
    by_median = NORMAL * np.nanmedian(away, axis=0)
    spread[known] = np.where(by_median > 0, by_median, np.sqrt(np.nanmean(away**2, axis=0)))
    return middle, spread


def _far(left_over: Array, limits: Array, missing: Array) -> Array:
    """Say where nothing is known, or more is left over than a feature's limit.

    A sample most of which is beyond the limits is one that the model does not know: there, only what is far beyond
    the others counts.
    """
    over = np.divide(left_over, limits, out=np.zeros_like(left_over), where=limits > 0)
    over[missing] = np.nan
    far = over > 1
    unknown = far.sum(axis=1) > MOST_ASIDE * (~missing).sum(axis=1)
    far[unknown] = over[unknown] > FAR * NORMAL * _row_medians(over[unknown])[:, None]
    return far | missing
