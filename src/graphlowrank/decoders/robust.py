"""The decoder that fits the factors of left-out samples and features to the data, by robust regression."""

from typing import Any

import numpy as np

from .._typing import Array
from ..linalg.blocks import row_blocks
from ..models.losses import Huber
from ..preprocessing.missing import column_median
from ..sampling.nodes import SampledNodes
from ..solvers.irls import UNFINISHED, irls
from ..solvers.solution import Solution
from .factors import Decoded, Factors, factorize, multiply

BLOCK_ENTRIES = 8_000_000  # entries of the data that are copied at a time
MAX_ITER = 100
START_SAMPLES = 25  # whose median is the starting value of a feature's center
CORNER = 3.0  # of the Huber loss, in median absolute errors: two standard deviations of normal noise
MAX_PENALTY = 1e30  # holds a factor at zero, and squares of it are finite
MIN_CORNER = 1e-2  # in mean absolute deviations of the data; a corner near 0 makes steps short


def decode_robust(
    X_small: Array,
    samples: SampledNodes,
    features: SampledNodes,
    *,
    data: Any,
    n_components: int | None = None,
    corner: float | None = None,
    max_iter: int = MAX_ITER,
    block_entries: int = BLOCK_ENTRIES,
) -> Decoded:
    """Huber regression of the data on the factors of the compressed matrix; no graph is needed (not in the paper).

    ``X_small = S V^T + 1 c^T``, by its singular vectors. Then, with the loss ``huber`` of each entry,

    1. factors and center of every feature: ``min_{V, c} sum_ij huber(data_ij - (S V^T + 1 c^T)_ij)`` over the kept
       samples i;
    2. scores of every sample: ``min_S`` of the same over the kept features j.

    Either step reads only the kept rows or columns of the data. Each feature, and each sample, is fitted by itself, so
    what is particular to it is recovered, such as the illumination of one video frame.

    Parameters
    ----------
    X_small, samples, features, n_components
        See :func:`~graphlowrank.decoders.decode_subspace`; the graphs are not used.
    data
        The full data in the units of ``X_small``, see :class:`~graphlowrank.preprocessing.block.ScaledData`.
    corner
        Where the loss turns from quadratic to linear, in the units of ``X_small``; None for three times the median
        distance between the compressed matrix and the data.
    max_iter
        Reweighted least-squares steps allowed to each feature and each sample.
    block_entries
        Entries of the data that are copied at a time.
    """
    factors = factorize(X_small, samples, features, n_components)
    noise = noise_corner(factors, data, samples, features)
    corner = noise if corner is None else corner
    directions = fit_features(
        data, factors, samples, noise, corner=corner, max_iter=max_iter, block_entries=block_entries
    )
    kept, ridge, fits = directions.X[features.indices], ridge_penalty(factors.samples, noise), []
    for part in row_blocks(data.shape[0], len(kept), entries=block_entries):
        Y = data.block(part, features.indices) - kept[:, -1]
        fits.append(irls(Y, kept[:, :-1].T, Huber(corner), importance=features.weights, ridge=ridge, max_iter=max_iter))
    scores = _joined(fits)
    for side, found in (("features", directions), ("samples", scores)):
        found.warn_unless_converged(f"the robust decoder on the {side}", "raise max_iter in decoder_options")
    return multiply(scores, directions)


def noise_corner(factors: Factors, data: Any, samples: SampledNodes, features: SampledNodes) -> float:
    """Corner of the Huber loss, from the median absolute distance of the data from the compressed matrix."""
    errors = np.abs(data.block(samples.indices, features.indices) - factors.product())
    return max(CORNER * float(np.nanmedian(errors)), MIN_CORNER)


def ridge_penalty(values: Array, noise: float) -> Array:
    """Ridge penalty for coefficients whose prior variance is that of the columns of ``values``.

    Without it a factor weaker than the noise would be fitted to the noise, and one concentrated on a single feature
    to an outlier there. ``noise`` is :func:`noise_corner`.
    """
    squares = np.mean(values.astype(np.float64) ** 2, axis=0)
    return noise**2 / np.maximum(squares, noise**2 / MAX_PENALTY)


def fit_features(
    data: Any,
    factors: Factors,
    samples: SampledNodes,
    noise: float,
    *,
    corner: float,
    max_iter: int = MAX_ITER,
    block_entries: int = BLOCK_ENTRIES,
) -> Solution:
    """(n_features, k + 1) factors of every feature, and its center, from the kept samples."""
    scores, loss = factors.samples, Huber(corner)
    regressors = np.vstack([scores.T, np.ones((1, len(scores)), dtype=scores.dtype)])
    ridge, fits = np.append(ridge_penalty(factors.features, noise), 0.0), []
    for part in row_blocks(data.shape[1], len(scores), entries=block_entries):
        Y = np.ascontiguousarray(data.block(samples.indices, part).T)
        start = np.zeros((len(Y), len(regressors)))
        start[:, -1] = column_median(Y[:, :: max(1, Y.shape[1] // START_SAMPLES)].T)
        fits.append(irls(Y, regressors, loss, start=start, importance=samples.weights, ridge=ridge, max_iter=max_iter))
    return _joined(fits)


def _joined(fits: list[Solution]) -> Solution:
    """Solution of all rows from those of consecutive blocks."""
    X = np.concatenate([fit.X for fit in fits])
    unfinished = sum(fit.residual * len(fit.X) for fit in fits) / len(X)
    most = max(fit.n_iter for fit in fits)
    return Solution(X, most, converged=unfinished <= UNFINISHED, residual=unfinished)
