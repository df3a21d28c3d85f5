"""Choose the scaling of samples or features.

Constants were chosen on digits, USPS, MNIST, ORL, PIE, Yale, wine, iris, breast cancer and two single-cell sets
(docs/choices.md lists every rule tried).
"""

import numpy as np
from scipy.linalg import eigh

from .._typing import Array
from ..graphs import knn_graph
from ..linalg.blocks import evenly_spaced
from ..options import Options, is_auto
from ..preprocessing.robust_statistics import median_and_interdecile_std
from ..preprocessing.scaling import Scaling, ScalingName, mean_and_std
from ..preprocessing.sparse import Data, dense_rows
from ..sampling import draw
from .choice import AS_GIVEN, Choice

N_SAMPLES = 1000  # looked at
ASSUMED_CLUSTERS = 10  # while their number is unknown
MIN_FEATURES = 20  # centering and scaling samples with fewer features removes too much
DOMINANT = 2.0  # effective number of features that carry the variance
OTHER_UNITS = 0.02  # standard deviation of the median feature / largest; features that separate clusters have 0.1
EIGENVALUE_RTOL = 1e-4  # smaller differences are ties


def choose_scaling(X: Data, options: Options, rng: np.random.RandomState) -> tuple[Scaling, Choice]:
    """Scaling for clustering: the given one, or the one whose neighbor graph has the clearest clusters.

    Features are scaled if the effective number of features (participation ratio of the variances) is below 2 and the
    median feature has negligible variance: that is a table in different units. Else the neighbor graphs of up to 1000
    samples are compared by the mean of their first ``n_clusters`` eigenvalues (normalized Laplacian), a lower bound of
    the mean conductance of any ``n_clusters`` clusters; with fewer than 20 features it is divided by the next
    eigenvalue.
    """
    if not is_auto(options.scaling):
        return _fitted(X, options.scaling, AS_GIVEN)
    if not isinstance(options.sample_graph, str):
        return _fitted(X, "none", "no sample graph is built from the data")
    n_clusters = ASSUMED_CLUSTERS if is_auto(options.n_clusters) else int(options.n_clusters)
    return clearest_scaling(X, n_clusters, int(options.n_neighbors), rng)


def clearest_scaling(X: Data, n_clusters: int, n_neighbors: int, rng: np.random.RandomState) -> tuple[Scaling, Choice]:
    """Scaling of "auto", see :func:`choose_scaling`."""
    n_features = X.shape[1]
    part = X if len(X) <= N_SAMPLES else X[draw(len(X), N_SAMPLES, random_state=rng)]
    if _different_units(mean_and_std(part, axis=0)[1].ravel()):
        return _fitted(X, "features", _units_reason(n_features))
    kinds: tuple[ScalingName, ...] = ("none", "features", "samples")
    kinds = kinds if n_features >= MIN_FEATURES else kinds[:2]
    bounds = {kind: conductance_bound(Scaling.fit(part, kind).apply(part), n_clusters, n_neighbors) for kind in kinds}
    best = kinds[0]
    for kind in kinds[1:]:
        best = kind if bounds[kind] < bounds[best] - EIGENVALUE_RTOL else best
    others = ", ".join(f"{kind} {bounds[kind]:.3f}" for kind in kinds if kind != best)
    return _fitted(X, best, f"lowest conductance bound of the neighbor graph, {bounds[best]:.3f} ({others})")


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


def _units_reason(n_features: int) -> str:
    return f"different units: fewer than {DOMINANT:g} of {n_features} features carry the variance"


def _different_units(std: Array) -> bool:
    """Whether one or two features carry the variance and the median feature next to none."""
    variance = (std / (std.max(initial=0) or 1)) ** 2
    effective = variance.sum() ** 2 / max(np.sum(variance**2), np.finfo(np.float64).tiny)
    return bool(effective < DOMINANT and np.median(variance) < OTHER_UNITS**2 * variance.max())


def conductance_bound(points: Data, n_clusters: int, n_neighbors: int) -> float:
    """Mean of the first eigenvalues of the neighbor graph; in few dimensions, divided by the next one.

    In few dimensions all eigenvalues of a neighbor graph are low, with or without clusters.
    """
    graph = knn_graph(points, min(n_neighbors, len(points) - 1), neighbors="exact")
    last = max(min(n_clusters, len(points) // 2), 1)
    values = eigh(
        graph.laplacian("normalized").toarray(), eigvals_only=True, subset_by_index=[0, last], overwrite_a=True,
        check_finite=False,
    )  # fmt: skip
    values = np.maximum(values, 0)
    few = points.shape[1] < MIN_FEATURES
    return float(np.mean(values[:last]) / (max(values[last], EIGENVALUE_RTOL) if few else 1))
