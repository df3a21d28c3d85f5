"""Decide whether to filter cellwise outliers before the graphs are built.

There are two filters, of all entries and of those at the ends of their feature's range ("ends"), and one test on
held-out entries. Constants were chosen on digits, wine, breast cancer, USPS and ORL with planted outliers
(benchmarks/studies/outliers.py); docs/choices.md has the table.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from .._typing import Array
from ..graphs.search import nearest_neighbors
from ..linalg.blocks import evenly_spaced
from ..options import Options, is_auto
from ..preprocessing.imputer import fit_imputer
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

Fit = Callable[[Array, np.random.RandomState], OutlierFilter]


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
    if at_ends and not inside.all():
        gain = _mean_gain(*_validation_gain(part, n_neighbors, std, partial(fit_outlier_filter, at_ends=True), inside))
        if gain:
            what = "filtering values at the ends of their feature's range"
            return _answer(f"{what} improved held-out prediction by {gain:.0%}", value="ends")
    gain = _mean_gain(*_validation_gain(part, n_neighbors, std, fit_outlier_filter, np.ones_like(inside)))
    if gain:
        return _answer(f"outlier filtering improved held-out prediction by {gain:.0%}", value=True)
    return _answer("outlier filtering did not improve held-out prediction")


def _answer(reason: str, *, value: bool | str = False) -> Choice:
    return Choice("robust_graphs", value, reason)


def _mean_gain(plain: Array, gain: Array) -> float:
    """Mean gain, relative to the plain loss; 0 if it is small or may be chance."""
    if gain.size < 2 or gain.mean() <= max(MIN_GAIN * plain.mean(), MIN_STANDARD_ERRORS * gain.std() / gain.size**0.5):
        return 0.0
    return float(gain.mean() / plain.mean())


def _validation_gain(X: Array, n_neighbors: int, std: Array, fit_filter: Fit, scored: Array) -> tuple[Array, Array]:
    """Return the validation loss of each sample's ``scored`` entries without the filter, and its decrease with it."""
    rng = np.random.RandomState(0)
    losses = []
    for _ in range(np.clip(ENOUGH_ENTRIES // max(int(np.count_nonzero(scored)), 1), 1, MAX_REPEATS)):
        held_out = (rng.random_sample(X.shape) < HELD_OUT_SHARE) & ~np.isnan(X)
        held_out[(held_out | np.isnan(X)).all(axis=1)] = False  # a sample needs an entry to find its neighbors by
        seen = np.where(held_out, np.nan, X)
        points = [fit(seen, rng).apply(seen) for fit in (fit_imputer, fit_filter)]
        target = np.where(scored, X, np.nan)
        losses.append([_validation_loss(target, seen, found, n_neighbors, std) for found in points])
    known = ~np.isnan(losses).any(axis=1)  # (repeats, samples)
    plain, filtered = (np.where(known, loss, 0).sum(axis=0) for loss in np.moveaxis(np.array(losses), 1, 0))
    times = known.sum(axis=0)
    plain, filtered = plain[times > 0] / times[times > 0], filtered[times > 0] / times[times > 0]
    return plain, plain - filtered


def _validation_loss(target: Array, seen: Array, points: Array, n_neighbors: int, std: Array) -> Array:
    """Mean capped error (n,) of each sample's held-out entries in standard deviations; NaN without any."""
    near = nearest_neighbors(points, min(n_neighbors, len(points) - 1), engine="exact")[1]
    rows, columns = np.nonzero(np.isnan(seen) & ~np.isnan(target))
    predicted = row_medians(seen[near[rows], columns[:, None]])
    losses = np.minimum(np.abs(target[rows, columns] - predicted) / std[columns], MAX_ERROR)
    known = ~np.isnan(losses)  # at least one neighbor has the entry
    counts = np.bincount(rows[known], minlength=len(points))
    totals = np.bincount(rows[known], weights=losses[known], minlength=len(points))
    return np.divide(totals, counts, out=np.full(len(points), np.nan), where=counts > 0)
