"""Choose the scaling of samples or features.

Constants were chosen on the sets of docs/choices.md, which lists every rule tried.
"""

from itertools import product

import numpy as np

from .._threads import map_tasks
from .._typing import Array
from ..clustering.communities import locally_scaled, partition_cost, repeated_communities
from ..clustering.refinement import MIN_SHARE
from ..graphs import knn_graph
from ..linalg.blocks import evenly_spaced
from ..metrics import conductance
from ..options import Options, is_auto
from ..preprocessing.counts import are_counts, stored_values
from ..preprocessing.robust_statistics import median_and_interdecile_std
from ..preprocessing.scaling import Scaling, ScalingName, mean_and_std
from ..preprocessing.sparse import Data, dense_rows, is_sparse
from ..sampling import draw
from .choice import AS_GIVEN, Choice

N_SAMPLES = 1000  # whose units are compared
WHOLE_UP_TO, TRIAL_SAMPLES = 3000, 2000  # samples that are clustered in each scaling; draws, if there are more
N_TRIALS = 3  # draws; their mean decides
N_RUNS = 6  # of Louvain's method in a trial
NO_CLUSTERS = 1.0  # conductance if there are fewer clusters than asked for
ASSUMED_CLUSTERS = 10  # while their number is unknown
MIN_FEATURES = 20  # centering and scaling samples with fewer features removes too much
DOMINANT = 2.0  # effective number of features that carry the variance
MOSTLY_ZERO = 0.5  # share of zeros in counts; text and single cells 0.95 to 0.99
HEAVY_TAIL = 10.0  # largest count / median positive one; text and single cells 97 to 303, images at most 4
OTHER_UNITS = 0.02  # standard deviation of the median feature / largest; features that separate clusters have 0.1
TIE_RTOL, TIE_ATOL = 0.01, 1e-6  # of the conductance; within them the simpler scaling is used


def choose_scaling(X: Data, options: Options) -> tuple[Scaling, Choice]:
    """Scaling for clustering: the given one, or the one whose clusters have the lowest conductance.

    Features are scaled if the effective number of features (participation ratio of the variances) is below 2 and the
    median feature has negligible variance: that is a table in different units. Else up to 3000 samples, or three draws
    of 2000, are clustered in each scaling. The choice does not depend on the seed of the fit.
    """
    if not is_auto(options.scaling):
        return _fitted(X, options.scaling, AS_GIVEN)
    if not isinstance(options.sample_graph, str):
        return _fitted(X, "none", "no sample graph is built from the data")
    rng = np.random.RandomState(0)
    n_trials, size = trial_sizes(len(X))
    parts = [X if size == len(X) else X[draw(len(X), size, random_state=rng)] for _ in range(n_trials)]
    if _different_units(mean_and_std(parts[0], axis=0)[1].ravel()):
        return _fitted(X, "features", _units_reason(X.shape[1]))
    kinds: tuple[ScalingName, ...] = ("none", "features", "samples")
    kinds = kinds if X.shape[1] >= MIN_FEATURES else kinds[:2]
    n_clusters = ASSUMED_CLUSTERS if is_auto(options.n_clusters) else int(options.n_clusters)
    n_clusters = max(min(n_clusters, size // 2), 1)
    trials = list(product(kinds, parts))
    seeds = rng.randint(2**31 - 1, size=len(trials))

    def value(at: int) -> float:
        kind, part = trials[at]
        scaled, trial_rng = Scaling.fit(part, kind).apply(part), np.random.RandomState(seeds[at])
        return trial_conductance(scaled, n_clusters, options, trial_rng)

    found: Array = np.reshape(map_tasks(value, range(len(trials))), (len(kinds), len(parts)))
    values = dict(zip(kinds, found.mean(axis=1), strict=True))
    best = kinds[0]
    for kind in kinds[1:]:
        best = kind if values[kind] < (1 - TIE_RTOL) * values[best] - TIE_ATOL else best
    others = ", ".join(f"{kind} {values[kind]:.3f}" for kind in kinds if kind != best)
    tried = f"{n_trials} x {size}" if n_trials > 1 else f"{size}"
    reason = f"lowest conductance of clusters of {tried} samples, {values[best]:.3f} ({others})"
    return _fitted(X, best, reason)


def trial_sizes(n_samples: int) -> tuple[int, int]:
    """Trials of each scaling, and samples in a trial."""
    return (N_TRIALS, TRIAL_SAMPLES) if n_samples > WHOLE_UP_TO else (1, n_samples)


def trial_conductance(X: Data, n_clusters: int, options: Options, rng: np.random.RandomState) -> float:
    """Conductance of the communities of lowest cost: how well the samples are separated.

    The cost would compare the balance of clusters, too, which says nothing about a scaling.
    """
    n_neighbors = min(int(options.n_neighbors), len(X) - 1)
    if n_neighbors < 1:
        return NO_CLUSTERS
    weights = locally_scaled(knn_graph(X, n_neighbors, neighbors=options.neighbors, random_state=rng).weights)
    found = repeated_communities(weights, n_clusters, N_RUNS, rng)
    if not found:
        return NO_CLUSTERS
    best = min(found, key=lambda labels: partition_cost(weights, labels, n_clusters))
    return conductance(weights, best, n_clusters, min_share=MIN_SHARE)


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
