"""Scores of samples on known components, and samples from scores."""

from functools import partial

import numpy as np

from .._threads import single_threaded_libraries
from .._typing import Array
from ..linalg.blocks import row_blocks
from ..models.losses import L1, L2, make_loss
from ..preprocessing.sparse import Data, dense_rows
from ..solvers.irls import irls
from ..solvers.least_absolute import least_absolute

BLOCK_ENTRIES = 4_000_000  # of sparse samples that are made dense at a time
MEAN_DAMPING = 1e-12  # share of the mean diagonal entry of the normal matrix: components are orthonormal


def component_scores(
    X: Data, components: Array, offset: Array, feature_scale: Array | None, *, loss: str, huber_delta: float
) -> Array:
    """``argmin_S loss((X - offset) / feature_scale - S components)`` for each sample, (n_samples, n_components).

    NaN is ignored; the rows of ``components`` are orthonormal; the loss is in the units of the scaled data.
    """
    scores = []
    for block in row_blocks(len(X), X.shape[1], entries=BLOCK_ENTRIES):
        rows = dense_rows(X[block])
        centered = rows - offset.astype(rows.dtype)
        if feature_scale is not None:
            centered /= feature_scale.astype(centered.dtype)
        directions = components.astype(centered.dtype)
        scores.append(robust_scores(centered, directions, loss=loss, huber_delta=huber_delta))
    return np.concatenate(scores)


def robust_scores(
    X: Array, components: Array, *, loss: str, huber_delta: float = 1.0, tol: float = 1e-6, max_iter: int = 100
) -> Array:
    """``argmin_S loss(X - S components)`` for orthonormal rows of ``components``, row by row of X, without its NaN.

    "l2" is the orthogonal projection. From there "l1" is minimized by an interior-point method, and other losses by
    IRLS, which a row with hardly more entries than components may leave for worse: then it stays. The scores of a
    sample do not depend on the others.
    """
    rule = make_loss(loss, huber_delta)
    fit = partial(irls, X, components, damping=0.0, mean_damping=MEAN_DAMPING, tol=tol, max_iter=max_iter)
    start = fit(L2()).X if np.isnan(X).any() else X @ components.T
    if rule.quadratic or len(components) == 0:
        return start
    if isinstance(rule, L1):
        return least_absolute(X, components, start, tol=tol, max_iter=max_iter).X
    found = fit(rule, start=start).X
    with np.errstate(over="ignore"):
        before, after = (np.nansum(rule.value(X - scores @ components), axis=1) for scores in (start, found))
    return np.where((after > before)[:, None], start, found)


@single_threaded_libraries()
def component_samples(scores: Array, components: Array, offset: Array, feature_scale: Array | None) -> Array:
    """``scores components feature_scale + offset``: the inverse of :func:`component_scores`."""
    samples = scores @ components.astype(scores.dtype)
    if feature_scale is not None:
        samples *= feature_scale.astype(scores.dtype)
    return samples + offset.astype(scores.dtype)


@single_threaded_libraries()
def residual_sizes(X: Data, scores: Array, components: Array, offset: Array, feature_scale: Array | None) -> Array:
    """Median, mean and largest absolute residual (n_samples, 3) of the observed entries of each sample.

    In units of ``feature_scale``. Outliers in the entries do not move the median; one broken feature moves the largest.
    """
    sizes = np.empty((len(X), 3))
    for block in row_blocks(len(X), X.shape[1], entries=BLOCK_ENTRIES):
        residual = np.abs(dense_rows(X[block]) - component_samples(scores[block], components, offset, feature_scale))
        if feature_scale is not None:
            residual /= feature_scale.astype(residual.dtype)
        sizes[block, 0] = np.nanmedian(residual, axis=1)
        sizes[block, 1] = np.nanmean(residual, axis=1, dtype=np.float64)
        sizes[block, 2] = np.nanmax(residual, axis=1)
    return sizes


@single_threaded_libraries()
def least_squares_scores(X: Array, components: Array, offset: Array) -> Array:
    """``(X - offset) pinv(components)``: scores on components that need not be orthonormal."""
    # Singular values at the level of rounding are not divided by.
    rounding = max(components.shape) * float(np.finfo(components.dtype).eps)
    inverse = np.linalg.pinv(components.astype(np.float64), rcond=rounding).astype(X.dtype)
    return (X - offset.astype(X.dtype)) @ inverse
