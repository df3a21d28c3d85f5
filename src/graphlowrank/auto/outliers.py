"""Decide whether to filter cellwise outliers before the graphs are built.

There are two filters, of all entries and of those at the ends of their feature's range ("ends"), and one test on
held-out entries. Constants were chosen on digits, wine, breast cancer, USPS and ORL with planted outliers
(benchmarks/studies/outliers.py); docs/choices.md has the table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from .._threads import map_tasks
from .._typing import Array
from ..graphs.search import nearest_neighbors
from ..linalg.blocks import evenly_spaced
from ..options import Options, is_auto
from ..preprocessing.imputer import LowRankImputer, fit_imputer
from ..preprocessing.missing import row_medians
from ..preprocessing.outlier_filter import OutlierFilter, ends_of_range, fit_outlier_filter
from ..preprocessing.robust_statistics import median_and_interdecile_std
from ..preprocessing.scaling import Scaling
from ..preprocessing.sparse import Data, dense_rows, is_sparse
from .choice import AS_GIVEN, Choice

N_SAMPLES, N_FEATURES = 600, 256  # looked at
MIN_SAMPLES, MIN_FEATURES = 50, 4
MAX_FEATURES = 4000  # regression on more is slow
ENOUGH_ENTRIES, MAX_REPEATS = 50_000, 4  # entries to hold some out of, and repeats for smaller data
HELD_OUT_SHARE = 0.1
MAX_ERROR = 3.0  # in standard deviations: larger errors count as this
MIN_STANDARD_ERRORS, MIN_GAIN = 3.0, 0.04  # by which held-out prediction must improve

Fit = Callable[[Array, np.random.RandomState], OutlierFilter | LowRankImputer]


@dataclass(frozen=True, eq=False)
class _Trial:
    """A filter to be compared with none."""

    value: bool | str  # of robust_graphs
    fit: Fit
    scored: Array  # (n, p) entries whose prediction counts
    what: str  # in the reason


def choose_outlier_filter(X: Data, options: Options, scaling: Scaling | None = None) -> Choice:
    """Decide whether cellwise outliers are filtered before distances are computed.

    "auto" checks on some samples, after ``scaling``, whether neighbors predict held-out entries better after filtering.
    An entry is predicted by the median of its sample's neighbors, so only the neighbors differ.
    """
    wanted = options.robust_graphs
    if not wanted:
        return _answer(AS_GIVEN)
    if not options.builds_graphs():
        return _answer("no graph is built from the data")
    if is_sparse(X):
        if not is_auto(wanted):
            raise ValueError(f"robust_graphs={wanted!r} needs dense data; outliers of sparse data are not filtered.")
        return _answer("the data are sparse")
    if not is_auto(wanted):
        return _answer(AS_GIVEN, value=wanted if isinstance(wanted, str) else True)
    part = X[evenly_spaced(len(X), N_SAMPLES)]
    n_neighbors = int(options.n_neighbors)
    if scaling is None or scaling.kind == "none":
        return check_outlier_filter(dense_rows(part), n_neighbors)
    # Features in different units: the filter of ends is fitted to unscaled data, where one feature would dominate.
    return check_outlier_filter(dense_rows(scaling.apply(part)), n_neighbors, at_ends=False)


def check_outlier_filter(X: Array, n_neighbors: int, *, at_ends: bool = True) -> Choice:
    """Compare held-out prediction with and without the filters on (n_samples, n_features) data."""
    if X.shape[1] > MAX_FEATURES:
        return _answer(f"not checked for more than {MAX_FEATURES} features")
    part = X[evenly_spaced(len(X), N_SAMPLES)]
    # The interdecile range, not the MAD: in counts most entries are equal and the few others are the signal.
    std = median_and_interdecile_std(part)[1]
    varies = np.flatnonzero(std > 0)
    varies = varies[evenly_spaced(len(varies), N_FEATURES)]
    part, std = part[:, varies], std[varies]
    if len(part) < MIN_SAMPLES or len(varies) < MIN_FEATURES:
        return _answer("too few samples or features to check")
    low, high = ends_of_range(part)
    inside = (part > low) & (part < high)  # entries at the ends may be outliers, which nothing predicts
    filters = [_Trial(value=True, fit=fit_outlier_filter, scored=np.ones_like(inside), what="outlier filtering")]
    if at_ends and not inside.all():
        what = "filtering values at the ends of their feature's range"
        filters.insert(0, _Trial("ends", partial(fit_outlier_filter, at_ends=True), inside, what))
    for trial, losses in zip(filters, _validate(part, n_neighbors, std, filters), strict=True):
        if gain := _mean_gain(*losses):
            return _answer(f"{trial.what} improved held-out prediction by {gain:.0%}", value=trial.value)
    return _answer("outlier filtering did not improve held-out prediction")


def _answer(reason: str, *, value: bool | str = False) -> Choice:
    return Choice("robust_graphs", value, reason)


def _mean_gain(plain: Array, gain: Array) -> float:
    """Mean gain, relative to the plain loss; 0 if it is small or may be chance."""
    if gain.size < 2 or gain.mean() <= max(MIN_GAIN * plain.mean(), MIN_STANDARD_ERRORS * gain.std() / gain.size**0.5):
        return 0.0
    return float(gain.mean() / plain.mean())


def _validate(X: Array, n_neighbors: int, std: Array, filters: Sequence[_Trial]) -> list[tuple[Array, Array]]:
    """For each filter: validation loss of the samples' ``scored`` entries without it, and its decrease with it."""
    rng = np.random.RandomState(0)
    repeats = [np.clip(ENOUGH_ENTRIES // max(int(one.scored.sum()), 1), 1, MAX_REPEATS) for one in filters]
    seen = [_hold_out(X, rng) for _ in range(max(repeats))]
    fits: list[Fit] = [fit_imputer, *(one.fit for one in filters)]
    # Filters that need fewer repeats see the first ones.
    runs = [(fit, place) for fit, count in enumerate([max(repeats), *repeats]) for place in range(count)]

    def neighbors(run: tuple[int, int]) -> Array:
        fit, place = run
        points = fits[fit](seen[place], np.random.RandomState(place)).apply(seen[place])
        return nearest_neighbors(points, min(n_neighbors, len(points) - 1), engine="exact")[1]

    near = dict(zip(runs, map_tasks(neighbors, runs), strict=True))
    found = []
    for number, one in enumerate(filters):
        target = np.where(one.scored, X, np.nan)
        losses: Array = np.array([
            [_validation_loss(target, seen[place], near[fit, place], std) for fit in (0, number + 1)]
            for place in range(repeats[number])
        ])  # fmt: skip
        known = ~np.isnan(losses).any(axis=1)  # (repeats, samples)
        plain, filtered = (np.where(known, loss, 0).sum(axis=0) for loss in np.moveaxis(losses, 1, 0))
        times = known.sum(axis=0)
        plain, filtered = plain[times > 0] / times[times > 0], filtered[times > 0] / times[times > 0]
        found.append((plain, plain - filtered))
    return found


def _hold_out(X: Array, rng: np.random.RandomState) -> Array:
    """``X`` with a tenth of the entries missing; a sample keeps an entry to find its neighbors by."""
    held_out = (rng.random_sample(X.shape) < HELD_OUT_SHARE) & ~np.isnan(X)
    held_out[(held_out | np.isnan(X)).all(axis=1)] = False
    return np.where(held_out, np.nan, X)


def _validation_loss(target: Array, seen: Array, near: Array, std: Array) -> Array:
    """Mean capped error (n,) of each sample's held-out entries in standard deviations; NaN without any.

    An entry is predicted by the median of its sample's neighbors ``near`` (n, k).
    """
    rows, columns = np.nonzero(np.isnan(seen) & ~np.isnan(target))
    predicted = row_medians(seen[near[rows], columns[:, None]])
    losses = np.minimum(np.abs(target[rows, columns] - predicted) / std[columns], MAX_ERROR)
    known = ~np.isnan(losses)  # at least one neighbor has the entry
    counts = np.bincount(rows[known], minlength=len(seen))
    totals = np.bincount(rows[known], weights=losses[known], minlength=len(seen))
    return np.divide(totals, counts, out=np.full(len(seen), np.nan), where=counts > 0)
