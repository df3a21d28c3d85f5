"""Similarity of two images, and of binary masks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter

from .._typing import Array
from .recovery import same_shape

WINDOW_SIGMA = 1.5  # pixels; Wang et al. 2004, section III C
WINDOW_RADIUS = 5  # pixels; 11 taps
K1, K2 = 0.01, 0.03  # regularization of means and variances in flat windows, relative to the data range
MAX_CHANNELS = 4  # red, green, blue and opacity; a longer last axis is an error


def psnr(truth: ArrayLike, image: ArrayLike, data_range: float | None = None) -> float:
    """Peak signal-to-noise ratio ``10 log10(data_range^2 / mean squared error)`` in decibels; infinite if equal.

    Parameters
    ----------
    truth, image : array-like
        Arrays of one shape, of any dimension.
    data_range : float or None, default=None
        Range of the pixel values, such as 255; None for the range of ``truth``.

    Examples
    --------
    >>> round(psnr([[0.0, 1.0]], [[0.1, 0.9]]), 6)
    20.0
    """
    x, y = _as_floats(truth, image)
    error = float(np.mean((y - x) ** 2))
    if error == 0:
        return float("inf")
    return float(20 * np.log10(_data_range(x, data_range)) - 10 * np.log10(error))


def ssim(truth: ArrayLike, image: ArrayLike, data_range: float | None = None) -> float:
    """Structural similarity of two images (Wang, Bovik, Sheikh, Simoncelli 2004), 1 if they are equal.

    Means, variances and covariances in Gaussian windows of 11 x 11 pixels, sigma 1.5, are compared and averaged over
    all windows within the image.

    Parameters
    ----------
    truth, image : array-like of shape (height, width) or (height, width, channels)
        At least 11 x 11 pixels, with up to four channels, over which the similarity is averaged.
    data_range : float or None, default=None
        Range of the pixel values, such as 255; None for the range of ``truth``.

    Examples
    --------
    >>> ramp = np.linspace(0, 1, 16 * 16).reshape(16, 16)
    >>> ssim(ramp, ramp)
    1.0
    >>> ssim(ramp, 1 - ramp) < 0
    True
    """
    x, y = _as_floats(truth, image)
    _check_image(x.shape)
    span = _data_range(x, data_range)
    c1, c2 = (K1 * span) ** 2, (K2 * span) ** 2
    # Variances do not depend on the level, and are more accurate near 0.
    level = x.mean()
    x, y = x - level, y - level
    mean_x, mean_y = _window_means(x), _window_means(y)
    var_x = _window_means(x * x) - mean_x**2
    var_y = _window_means(y * y) - mean_y**2
    cov = _window_means(x * y) - mean_x * mean_y
    mean_x, mean_y = mean_x + level, mean_y + level
    similarity = (2 * mean_x * mean_y + c1) * (2 * cov + c2)
    return float(np.mean(similarity / ((mean_x**2 + mean_y**2 + c1) * (var_x + var_y + c2))))


def _window_means(values: Array) -> Array:
    """Weighted mean of each window within the image."""
    sigma = (WINDOW_SIGMA, WINDOW_SIGMA, 0)[: values.ndim]  # 0: no smoothing across channels
    inside = slice(WINDOW_RADIUS, -WINDOW_RADIUS)
    return np.asarray(gaussian_filter(values, sigma, radius=WINDOW_RADIUS)[inside, inside])


def _check_image(shape: tuple[int, ...]) -> None:
    color = len(shape) == 3 and shape[2] <= MAX_CHANNELS
    if not (len(shape) == 2 or color):
        raise ValueError(f"images must be (height, width) or (height, width, up to 4 channels); got shape {shape}.")
    taps = 2 * WINDOW_RADIUS + 1
    if min(shape[:2]) < taps:
        raise ValueError(f"images must be at least {taps} x {taps} pixels; got shape {shape}.")


def _as_floats(truth: ArrayLike, image: ArrayLike) -> tuple[Array, Array]:
    """Return both in double precision: differences of bytes would wrap around."""
    x, y = same_shape(truth, image)
    return x.astype(np.float64, copy=False), y.astype(np.float64, copy=False)


def _data_range(truth: Array, data_range: float | None) -> float:
    span = float(np.ptp(truth)) if data_range is None else float(data_range)
    if data_range is None and span == 0:
        raise ValueError("truth has one value only, so data_range must be given.")
    if not span > 0:
        raise ValueError(f"data_range must be positive; got {data_range!r}.")
    return span


@dataclass(frozen=True)
class MaskScores:
    """Result of :func:`mask_scores`.

    Attributes
    ----------
    precision, recall, f1 : float
        Share of the marked pixels that are correct, of the true pixels that are marked, and their harmonic mean.
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
    threshold : float
        Highest threshold that attains it: the mask is ``abs(values) >= threshold``. Infinite if the true mask is empty.
    """

    f1: float
    threshold: float


def mask_scores(truth: ArrayLike, mask: ArrayLike) -> MaskScores:
    """Precision, recall and F1 of a mask: all 1 if both masks are empty, all 0 if one is.

    Parameters
    ----------
    truth, mask : array-like
        Arrays of one shape, such as one frame or all frames of a video; nonzero entries are marked.

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
    truth, values : array-like
        True mask, nonzero where marked, and a residual of the same shape, such as frames minus their background.

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
