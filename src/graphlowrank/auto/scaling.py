"""Choose the scaling of samples or features.

Constants were chosen on the sets of docs/choices.md, which lists every rule tried.
"""

from collections.abc import Callable

import numpy as np

from .._typing import Array
from ..linalg.blocks import evenly_spaced
from ..options import Options, is_auto
from ..preprocessing.counts import are_counts, stored_values
from ..preprocessing.robust_statistics import median_and_interdecile_std
from ..preprocessing.scaling import Scaling, ScalingName, mean_and_std
from ..preprocessing.sparse import Data, dense_rows, is_sparse
from ..sampling import draw
from .choice import AS_GIVEN, Choice

N_SAMPLES = 1000  # whose units are compared
TRIAL_SAMPLES = 2000  # clustered in each scaling
TRIAL_GAMMA = 5.0  # gamma_samples of these trials: one gamma orders the scalings nearly as the whole path does
ASSUMED_CLUSTERS = 10  # while their number is unknown
MIN_FEATURES = 20  # centering and scaling samples with fewer features removes too much
DOMINANT = 2.0  # effective number of features that carry the variance
MOSTLY_ZERO = 0.5  # share of zeros in counts; text and single cells 0.95 to 0.99
HEAVY_TAIL = 10.0  # largest count / median positive one; text and single cells 97 to 303, images at most 4
OTHER_UNITS = 0.02  # standard deviation of the median feature / largest; features that separate clusters have 0.1
TIE_RTOL = 0.01  # of the conductance; within it the simpler scaling is used

Trial = Callable[[Data, int], float]  # scaled samples, number of clusters -> conductance of the clusters found


def choose_scaling(X: Data, options: Options, rng: np.random.RandomState, trial: Trial) -> tuple[Scaling, Choice]:
    """Scaling for clustering: the given one, or the one whose clusters have the lowest conductance.

    Features are scaled if the effective number of features (participation ratio of the variances) is below 2 and the
    median feature has negligible variance: that is a table in different units. Else up to 2000 samples are clustered in
    each scaling by ``trial``.
    """
    if not is_auto(options.scaling):
        return _fitted(X, options.scaling, AS_GIVEN)
    if not isinstance(options.sample_graph, str):
        return _fitted(X, "none", "no sample graph is built from the data")
    part = X if len(X) <= TRIAL_SAMPLES else X[draw(len(X), TRIAL_SAMPLES, random_state=rng)]
    if _different_units(mean_and_std(part, axis=0)[1].ravel()):
        return _fitted(X, "features", _units_reason(X.shape[1]))
    kinds: tuple[ScalingName, ...] = ("none", "features", "samples")
    kinds = kinds if X.shape[1] >= MIN_FEATURES else kinds[:2]
    n_clusters = ASSUMED_CLUSTERS if is_auto(options.n_clusters) else int(options.n_clusters)
    n_clusters = max(min(n_clusters, len(part) // 2), 1)
    values = {kind: trial(Scaling.fit(part, kind).apply(part), n_clusters) for kind in kinds}
    best = kinds[0]
    for kind in kinds[1:]:
        best = kind if values[kind] < (1 - TIE_RTOL) * values[best] else best
    others = ", ".join(f"{kind} {values[kind]:.3f}" for kind in kinds if kind != best)
    return _fitted(X, best, f"lowest conductance of the clusters of {len(part)} samples, {values[best]:.3f} ({others})")


def choose_units(X: Data, options: Options) -> tuple[Scaling, Choice]:
    """Scaling that needs no trial: of counts, if they are recognized or said to be, else that of recovery.

    Counts are non-negative integers, most of them zero, and some much larger than most positive ones. Integers that are
    gray levels have a bounded range.
    """
    if options.scaling == "counts":
        return _fitted(X, "counts", AS_GIVEN)
    if is_auto(options.scaling) and isinstance(options.sample_graph, str) and _are_heavy_tailed_counts(X):
        return _fitted(X, "counts", "counts: non-negative integers, most of them 0, a few very large")
    return choose_recovery_scaling(X)


def choose_recovery_scaling(X: Data, kind: str = "auto") -> tuple[Scaling, Choice]:
    """Scaling for recovery: by features if one or two of them would dominate all others, else none.

    Median and interdecile range are used, since outliers hardly move them, and a few huge entries do not make a
    feature one of different units. ``kind`` is "auto", "none" or "features".
    """
    if kind == "none":
        return _fitted(X, "none", AS_GIVEN)
    part = X[evenly_spaced(len(X), N_SAMPLES)]
    if kind == "auto" and not _different_units(mean_and_std(part, axis=0)[1].ravel()):
        return _fitted(X, "none", "no feature dominates the others")
    median, std = median_and_interdecile_std(dense_rows(part))
    unseen = ~(std > 0)
    if unseen.any():
        mean, ordinary = (along.ravel() for along in mean_and_std(X, axis=0))
        median[unseen], std[unseen] = mean[unseen], ordinary[unseen]
    if kind == "auto" and not _different_units(std):
        return _fitted(X, "none", "no feature dominates the others, except by a few entries")
    reason = AS_GIVEN if kind == "features" else _units_reason(X.shape[1])
    return Scaling("features", median, np.where(std > 0, std, 1)), Choice("scaling", "features", reason)


def _fitted(X: Data, kind: ScalingName, reason: str) -> tuple[Scaling, Choice]:
    return Scaling.fit(X, kind), Choice("scaling", kind, reason)


def _are_heavy_tailed_counts(X: Data) -> bool:
    part = X[evenly_spaced(len(X), N_SAMPLES)]
    stored = part.values if is_sparse(part) else part
    values = stored_values(stored)
    positive = values[values > 0]
    mostly_zero = positive.size <= (1 - MOSTLY_ZERO) * np.prod(part.shape)
    if X.shape[1] < MIN_FEATURES or not mostly_zero or not positive.size or not are_counts(stored):
        return False
    heavy_tailed = positive.max() >= HEAVY_TAIL * np.median(positive)
    return bool(heavy_tailed and not _different_units(mean_and_std(part, axis=0)[1].ravel()))


def _units_reason(n_features: int) -> str:
    return f"different units: fewer than {DOMINANT:g} of {n_features} features carry the variance"


def _different_units(std: Array) -> bool:
    """Whether one or two features carry the variance and the median feature next to none."""
    variance = (std / (std.max(initial=0) or 1)) ** 2
    effective = variance.sum() ** 2 / max(np.sum(variance**2), np.finfo(np.float64).tiny)
    return bool(effective < DOMINANT and np.median(variance) < OTHER_UNITS**2 * variance.max())
