"""The decoder that asks the data: factors of what was left out are fitted to it, gross errors having little say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._backend import Array
from ..models.losses import Huber
from ..preprocessing.missing import observed_median
from ..sampling.nodes import Side
from ..solvers.irls import irls
from ..solvers.solution import Solution
from .factors import Decoded, Factors, factorise, multiply

BLOCK_ENTRIES = 8_000_000  # entries of the data that are copied at a time
MAX_ITER = 100
STARTED_FROM = 25  # samples whose median is the first guess of a feature's centre
SMALL_ERRORS = 3.0  # corner of the loss in median errors: two deviations of normal noise
LEAST_CORNER = 1e-2  # deviations of the data; data without noise would ask for 0, where steps get short


def decode_robust(
    X_small: Array,
    samples: Side,
    features: Side,
    *,
    data: Any,
    n_components: int | None = None,
    corner: float | None = None,
    max_iter: int = MAX_ITER,
) -> Decoded:
    """Huber regression of the data on the factors of the compressed matrix; no graph is needed (not in the paper).

    ``X_small = S V^T + 1 c^T``, by its singular vectors. Then, with the loss ``huber`` of each entry,

    1. factors and centre of every feature: ``min_{V, c} sum_ij huber(data_ij - (S V^T + 1 c^T)_ij)`` over the kept
       samples i;
    2. scores of every sample: ``min_S`` of the same over the kept features j.

    Either step reads only the kept rows or columns of the data, and each feature, and each sample, is fitted by itself.
    Where :func:`~graphlowrank.decoders.decode_subspace` can only guess what was left out from its neighbours, this
    decoder follows what is particular to it, such as the light in one frame of a video.

    Parameters
    ----------
    X_small
        (m_samples, m_features) compressed matrix.
    samples, features
        Kept nodes and importance weights of each side.
    data
        The full data, in the units of ``X_small``;
        see :class:`~graphlowrank.preprocessing.standardize.StandardisedData`.
    n_components
        Factors to keep; None asks the rank rule.
    corner
        Where the loss turns from quadratic to linear, in the units of ``X_small``; None for three times the median
        distance between the compressed matrix and the data.
    max_iter
        Reweighted least-squares steps allowed to each feature and each sample.
    """
    factors = factorise(X_small, samples, features, n_components)
    errors = measure_errors(factors, data, samples, features)
    corner = errors.corner if corner is None else corner
    directions = fit_features(data, factors, samples, errors, corner=corner, max_iter=max_iter)
    scores = fit_samples(data, directions.X, factors, features, errors, corner=corner, max_iter=max_iter)
    for side, found in (("features", directions), ("samples", scores)):
        found.warn_unless_converged(f"the robust decoder on the {side}", "raise max_iter in decoder_options")
    return multiply(scores, directions)


@dataclass(frozen=True)
class Errors:
    """Size of the small errors in the data: the median of their distances from the compressed matrix."""

    median: float

    @property
    def corner(self) -> float:
        """Where small errors end and gross ones begin."""
        return max(SMALL_ERRORS * self.median, LEAST_CORNER)

    def penalty(self, values: Array) -> Array:
        """Ridge of regression for values that a priori are about as large as the columns of these.

        A factor that is weaker than the noise would otherwise be fitted to it, and one that sits on a single feature to
        whatever gross error is found there.
        """
        squares = np.mean(values.astype(np.float64) ** 2, axis=0)
        return self.corner**2 / np.maximum(squares, np.finfo(np.float64).tiny)


def measure_errors(factors: Factors, data: Any, samples: Side, features: Side) -> Errors:
    """Compare the data with the compressed matrix where there is one."""
    model = factors.samples @ factors.features.T + factors.centre
    return Errors(float(np.nanmedian(np.abs(data.block(samples.indices, features.indices) - model))))


def fit_features(
    data: Any, factors: Factors, samples: Side, errors: Errors, *, corner: float, max_iter: int = MAX_ITER
) -> Solution:
    """(n_features, k + 1) factors of every feature, and its centre, from the kept samples."""
    scores = factors.samples
    regressors = np.vstack([scores.T, np.ones((1, len(scores)), dtype=scores.dtype)])
    ridge = np.append(errors.penalty(factors.features), 0.0)

    def fit(part: slice) -> Solution:
        Y = np.ascontiguousarray(data.block(samples.indices, part).T)
        start = np.zeros((len(Y), len(regressors)))
        start[:, -1] = observed_median(Y[:, :: max(1, Y.shape[1] // STARTED_FROM)].T)
        options: dict[str, Any] = {"importance": samples.weights, "max_iter": max_iter}
        return irls(Y, regressors, Huber(corner), start=start, ridge=ridge, **options)

    return _in_blocks(data.shape[1], len(scores), fit)


def fit_samples(
    data: Any,
    directions: Array,
    factors: Factors,
    features: Side,
    errors: Errors,
    *,
    corner: float,
    max_iter: int = MAX_ITER,
) -> Solution:
    """(n_samples, k) scores of every sample, from the kept features."""
    kept, ridge = directions[features.indices], errors.penalty(factors.samples)

    def fit(part: slice) -> Solution:
        Y = data.block(part, features.indices) - kept[:, -1]
        options: dict[str, Any] = {"importance": features.weights, "max_iter": max_iter}
        return irls(Y, kept[:, :-1].T, Huber(corner), ridge=ridge, **options)

    return _in_blocks(data.shape[0], len(kept), fit)


def _in_blocks(n: int, width: int, fit: Callable[[slice], Solution]) -> Solution:
    """Fit ``n`` rows of ``width`` entries a block at a time, so that no copy of the whole data is made."""
    rows = max(1, BLOCK_ENTRIES // max(width, 1))
    parts = [fit(slice(start, min(start + rows, n))) for start in range(0, n, rows)]
    unfinished = sum(part.residual * len(part.X) for part in parts) / n
    most = max(part.n_iter for part in parts)
    return Solution(np.concatenate([part.X for part in parts]), most, converged=unfinished <= 0.01, residual=unfinished)
