"""Scores of masks: which pixels were found of those to be found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._shapes import same_shape


@dataclass(frozen=True)
class MaskScores:
    """Answer of :func:`mask_scores`.

    Attributes
    ----------
    precision
        Share of the pixels found that are right.
    recall
        Share of the pixels to be found that were.
    f1
        Harmonic mean of the two.
    """

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class BestF1:
    """Answer of :func:`best_f1`.

    Attributes
    ----------
    f1
        The highest.
    threshold
        The highest threshold that has it: the mask is ``abs(values) >= threshold``. Infinite if there is nothing to
        be found.
    """

    f1: float
    threshold: float


def mask_scores(truth: Any, mask: Any) -> MaskScores:
    """Precision, recall and F1 of ``mask`` against ``truth``; anything but 0 and False counts as marked.

    Two empty masks agree: all scores are 1. If only one is empty, nothing was found: all are 0.

    Parameters
    ----------
    truth, mask
        Arrays of one shape, such as one frame or all frames of a video.

    Examples
    --------
    >>> mask_scores([0, 1, 1, 1], [1, 1, 1, 0])
    MaskScores(precision=0.6666666666666666, recall=0.6666666666666666, f1=0.6666666666666666)
    """
    truth, mask = (array.astype(bool) for array in same_shape(truth, mask))
    hits, found, wanted = (int(np.count_nonzero(part)) for part in (truth & mask, mask, truth))
    if found == wanted == 0:
        return MaskScores(1.0, 1.0, 1.0)
    return MaskScores(hits / max(found, 1), hits / max(wanted, 1), 2 * hits / (found + wanted))


def best_f1(truth: Any, values: Any) -> BestF1:
    """Highest F1 that one threshold on ``abs(values)`` can have against ``truth``. Exact: every threshold is tried.

    Parameters
    ----------
    truth
        Mask; anything but 0 and False is to be found.
    values
        Of the same shape, such as frames less their background. The sign is ignored.

    Examples
    --------
    >>> best_f1([False, True, True, False], [0.1, -0.9, 0.8, 0.2])
    BestF1(f1=1.0, threshold=0.8)
    """
    truth, values = same_shape(truth, values)
    exact = values if np.issubdtype(values.dtype, np.floating) else values.astype(np.float64)  # -128 has no byte abs
    sizes = np.abs(exact).ravel()
    if not np.all(np.isfinite(sizes)):
        raise ValueError("values has NaN or infinite entries.")
    wanted = truth.astype(bool).ravel()
    n_wanted = np.count_nonzero(wanted)
    if n_wanted == 0:
        return BestF1(1.0, float("inf"))
    order = np.argsort(sizes)[::-1]
    sizes = sizes[order]
    # A threshold takes all entries of one size or none, so only the last of each size is an end.
    ends = np.append(np.flatnonzero(sizes[1:] < sizes[:-1]), len(sizes) - 1)
    scores = 2 * np.cumsum(wanted[order])[ends] / (ends + 1 + n_wanted)
    best = int(np.argmax(scores))
    return BestF1(float(scores[best]), float(sizes[ends[best]]))
