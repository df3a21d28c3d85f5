"""Metrics of binary masks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._shapes import same_shape


@dataclass(frozen=True)
class MaskScores:
    """Result of :func:`mask_scores`.

    Attributes
    ----------
    precision : float
        Share of the marked pixels that are correct.
    recall : float
        Share of the true pixels that are marked.
    f1 : float
        Harmonic mean of the two.
    """

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class BestF1:
    """Result of :func:`best_f1`.

    Attributes
    ----------
    f1 : float
        Highest F1.
    threshold : float
        Highest threshold that attains it: the mask is ``abs(values) >= threshold``. Infinite if the true mask is empty.
    """

    f1: float
    threshold: float


def mask_scores(truth: ArrayLike, mask: ArrayLike) -> MaskScores:
    """Precision, recall and F1 of a mask.

    Parameters
    ----------
    truth, mask : array-like
        Arrays of one shape, such as one frame or all frames of a video; nonzero entries are marked.

    Returns
    -------
    MaskScores
        All 1 if both masks are empty, all 0 if one is.

    Examples
    --------
    >>> mask_scores([0, 1, 1, 1], [1, 1, 1, 0])
    MaskScores(precision=0.6666666666666666, recall=0.6666666666666666, f1=0.6666666666666666)
    """
    expected, marked = (array.astype(bool) for array in same_shape(truth, mask))
    n_hits, n_marked, n_expected = (int(np.count_nonzero(part)) for part in (expected & marked, marked, expected))
    if n_marked == n_expected == 0:
        return MaskScores(1.0, 1.0, 1.0)
    return MaskScores(n_hits / max(n_marked, 1), n_hits / max(n_expected, 1), 2 * n_hits / (n_marked + n_expected))


def best_f1(truth: ArrayLike, values: ArrayLike) -> BestF1:
    """Highest F1 of a mask ``abs(values) >= threshold``, over all thresholds.

    Parameters
    ----------
    truth : array-like
        True mask; nonzero entries are marked.
    values : array-like
        Residual of the same shape, such as frames minus their background.

    Examples
    --------
    >>> best_f1([False, True, True, False], [0.1, -0.9, 0.8, 0.2])
    BestF1(f1=1.0, threshold=0.8)
    """
    mask, residual = same_shape(truth, values)
    if not np.issubdtype(residual.dtype, np.floating):
        residual = residual.astype(np.float64)  # abs(-128) overflows in int8
    sizes = np.abs(residual).ravel()
    if not np.all(np.isfinite(sizes)):
        raise ValueError("values has NaN or infinite entries.")
    expected = mask.astype(bool).ravel()
    n_expected = np.count_nonzero(expected)
    if n_expected == 0:
        return BestF1(1.0, float("inf"))
    order = np.argsort(sizes)[::-1]
    sizes = sizes[order]
    # Entries of equal size are marked together, so only the last of each size is the end of a mask.
    ends = np.append(np.flatnonzero(sizes[1:] < sizes[:-1]), len(sizes) - 1)
    scores = 2 * np.cumsum(expected[order])[ends] / (ends + 1 + n_expected)
    best = int(np.argmax(scores))
    return BestF1(float(scores[best]), float(sizes[ends[best]]))
