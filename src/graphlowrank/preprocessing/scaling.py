"""Units of samples and features, chosen by the graph that they lead to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from scipy.linalg import eigh

from .._backend import Array
from .._evenly import evenly
from .._literals import RecoveryScaling
from .._threads import single_threaded_libraries
from ..decoders import LowRankMatrix
from ..graphs import knn_graph
from ..sampling import draw
from .missing import middle_and_spread
from .sparse import Data, ShiftedSparse, dense_rows
from .standardize import mean_and_deviation, standardised

ScalingName = Literal["none", "samples", "features"]
OF_RECOVERY = get_args(RecoveryScaling)
LOOKED_AT = 1000  # samples: enough to tell graphs apart
FEW_FEATURES = 20  # taking mean and deviation off samples of fewer numbers leaves too little
DOMINANT = 2.0  # features that hold all variance, in effect
ROUNDING = 1e-4  # of eigenvalues: what differs by less is the same
OTHER_UNITS = 0.02  # deviation of the middle feature over the largest; a feature that tells clusters apart has 0.1


@dataclass(frozen=True, eq=False)
class Scaling:
    """``(X - shift) / scale``, by feature or by sample.

    Attributes
    ----------
    kind
        "none", "samples" (each to zero mean and unit deviation) or "features" (by the shift and scale of each).
    shift, scale
        (n_features,) for "features", else None.
    reason
        Why, in a sentence.
    tried
        Relaxed normalised cut of the graph that each kind leads to, where graphs were compared.
    """

    kind: ScalingName
    shift: Array | None
    scale: Array | None
    reason: str
    tried: Mapping[str, float] = field(default_factory=dict)

    def apply(self, X: Data) -> Data:
        """Scaled samples, dense or sparse as they came; ``X`` itself where nothing is to be done."""
        if self.kind == "none":
            return X
        if self.kind == "samples":
            return standardised(X, axis=1)
        assert self.shift is not None
        assert self.scale is not None
        if isinstance(X, ShiftedSparse):
            return X.standardised(0, (self.shift, self.scale))
        moved = X - self.shift.astype(X.dtype)
        moved /= self.scale.astype(X.dtype)
        return moved

    def undo(self, M: LowRankMatrix) -> LowRankMatrix:
        """Return a matrix of scaled features in their own units; for "none" and "features"."""
        if self.scale is None or self.shift is None:
            return M
        return M.measured_in(self.scale, self.shift)


def scaling_of(X: Data, kind: ScalingName, reason: str, tried: Mapping[str, float] | None = None) -> Scaling:
    """Learn the shift and scale of the training data."""
    if kind != "features":
        return Scaling(kind, None, None, reason, tried or {})
    mean, deviation = (along.ravel() for along in mean_and_deviation(X, axis=0))
    return Scaling(kind, mean, np.where(deviation > 0, deviation, 1), reason, tried or {})


def choose_scaling(X: Data, n_groups: int, n_neighbors: int, rng: np.random.RandomState) -> Scaling:
    """Pick the scaling that leads to the graph with the clearest groups.

    Data whose variance lies in fewer than two features, in effect, while most others hardly count, are a table of
    numbers in different units: features are scaled. Else the neighbour graphs of up to 1000 samples are compared by the
    mean of their first ``n_groups`` eigenvalues (normalised Laplacian), which bounds the mean conductance of any
    ``n_groups`` clusters from below; with fewer than 20 features that is divided by the next eigenvalue.

    Parameters
    ----------
    X
        (n_samples, n_features).
    n_groups
        Clusters wanted, or a guess.
    n_neighbors
        Neighbours of each sample.
    rng
        Draws the samples that are looked at.
    """
    n_features = X.shape[1]
    part = X if len(X) <= LOOKED_AT else X[draw(len(X), LOOKED_AT, random_state=rng)]
    if _drowned(mean_and_deviation(part, axis=0)[1].ravel()):
        return scaling_of(X, "features", f"fewer than {DOMINANT:g} of {n_features} features hold the variance")
    kinds: tuple[ScalingName, ...] = ("none", "features", "samples")
    kinds = kinds if n_features >= FEW_FEATURES else kinds[:2]
    tried: dict[str, float] = {}
    for kind in kinds:
        tried[kind] = _relaxed_cut(scaling_of(part, kind, "").apply(part), n_groups, n_neighbors)
    best = kinds[0]
    for kind in kinds[1:]:
        best = kind if tried[kind] < tried[best] - ROUNDING else best
    others = ", ".join(f"{kind} {tried[kind]:.3f}" for kind in kinds if kind != best)
    return scaling_of(X, best, f"least relaxed cut of the neighbour graph, {tried[best]:.3f} ({others})", tried)


def recovery_scaling(X: Data, kind: str = "auto") -> Scaling:
    """Units of the features for recovery: their own where a feature or two would drown all others, else those given.

    Unlike deviations, the middle and the spread that features are measured by hardly see gross errors; and a feature
    that has a few huge entries has no other unit than the rest.

    Parameters
    ----------
    X
        (n_samples, n_features).
    kind
        "auto", "none" or "features".
    """
    if not isinstance(kind, str) or kind not in OF_RECOVERY:
        raise ValueError(f"scaling must be one of {', '.join(map(repr, OF_RECOVERY))}; got {kind!r}.")
    if kind == "none":
        return Scaling("none", None, None, "as asked")
    n_features = X.shape[1]
    part = X[evenly(len(X), LOOKED_AT)]
    if kind == "auto" and not _drowned(mean_and_deviation(part, axis=0)[1].ravel()):
        return Scaling("none", None, None, "no feature drowns the others")
    middle, spread = middle_and_spread(dense_rows(part))
    unseen = ~(spread > 0)
    if unseen.any():
        mean, deviation = (along.ravel() for along in mean_and_deviation(X, axis=0))
        middle[unseen], spread[unseen] = mean[unseen], deviation[unseen]
    if kind == "auto" and not _drowned(spread):
        return Scaling("none", None, None, "no feature drowns the others, but for a few entries")
    why = "as asked" if kind == "features" else f"fewer than {DOMINANT:g} of {n_features} features hold the variance"
    return Scaling("features", middle, np.where(spread > 0, spread, 1), why)


def _drowned(deviations: Array) -> bool:
    """Whether a feature or two have all the variance, while most others hardly count."""
    variance = (deviations / (deviations.max(initial=0) or 1)) ** 2
    in_effect = variance.sum() ** 2 / max(np.sum(variance**2), np.finfo(np.float64).tiny)
    return bool(in_effect < DOMINANT and np.median(variance) < OTHER_UNITS**2 * variance.max())


def _relaxed_cut(points: Data, n_groups: int, n_neighbors: int) -> float:
    """Mean of the first eigenvalues of the neighbour graph; of points in few dimensions, over the next one.

    The fewer dimensions count, the lower all eigenvalues of a neighbour graph, whether or not there are groups.
    """
    graph = knn_graph(points, min(n_neighbors, len(points) - 1), neighbors="exact")
    last = max(min(n_groups, len(points) // 2), 1)
    with single_threaded_libraries():  # a matrix this small is not worth threads that wait for one another
        values = eigh(
            graph.laplacian("normalized").toarray(), eigvals_only=True, subset_by_index=[0, last], overwrite_a=True,
            check_finite=False,
        )  # fmt: skip
    values = np.maximum(values, 0)
    few = points.shape[1] < FEW_FEATURES
    return float(np.mean(values[:last]) / (max(values[last], ROUNDING) if few else 1))
