"""Likeness of two images."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from .._backend import Array
from ._shapes import same_shape

WINDOW_SIGMA = 1.5  # pixels; Wang et al. 2004, section III C
WINDOW_RADIUS = 5  # pixels; 11 taps
MEAN_GUARD, CONTRAST_GUARD = 0.01, 0.03  # K1 and K2: they keep flat windows from dividing by 0
MOST_CHANNELS = 4  # red, green, blue and opacity; a longer last side is taken for a mistake


def psnr(truth: Any, image: Any, data_range: float | None = None) -> float:
    """Peak signal-to-noise ratio ``10 log10(data_range^2 / mean squared error)`` in decibel; infinite for equal images.

    Parameters
    ----------
    truth, image
        Arrays of one shape, any number of dimensions.
    data_range
        Largest less smallest value that a pixel may have, such as 255; None takes those of ``truth``.

    Examples
    --------
    >>> round(psnr([[0.0, 1.0]], [[0.1, 0.9]]), 6)
    20.0
    """
    truth, image = _as_floats(truth, image)
    error = float(np.mean((image - truth) ** 2))
    if error == 0:
        return float("inf")
    return float(20 * np.log10(_data_range(truth, data_range)) - 10 * np.log10(error))


def ssim(truth: Any, image: Any, data_range: float | None = None) -> float:
    """Structural similarity of two images, at most 1: how well windows agree in mean, contrast and pattern.

    Wang, Bovik, Sheikh, Simoncelli 2004: Gaussian windows of 11 x 11 pixels, sigma 1.5, averaged over all windows that
    lie within the image.

    Parameters
    ----------
    truth, image
        (height, width), at least 11 x 11; or (height, width, channels) with up to four channels, over which the
        similarity is averaged.
    data_range
        Largest less smallest value that a pixel may have, such as 255; None takes those of ``truth``.

    Examples
    --------
    >>> import numpy as np
    >>> ramp = np.linspace(0, 1, 16 * 16).reshape(16, 16)
    >>> ssim(ramp, ramp)
    1.0
    >>> ssim(ramp, 1 - ramp) < 0
    True
    """
    truth, image = _as_floats(truth, image)
    _check_image(truth.shape)
    span = _data_range(truth, data_range)
    c1, c2 = (MEAN_GUARD * span) ** 2, (CONTRAST_GUARD * span) ** 2
    # Variances do not depend on the level, and lose fewer digits near 0.
    level = truth.mean()
    x, y = truth - level, image - level
    mean_x, mean_y = _window_means(x), _window_means(y)
    var_x = _window_means(x * x) - mean_x**2
    var_y = _window_means(y * y) - mean_y**2
    cov = _window_means(x * y) - mean_x * mean_y
    mean_x, mean_y = mean_x + level, mean_y + level
    likeness = (2 * mean_x * mean_y + c1) * (2 * cov + c2)
    return float(np.mean(likeness / ((mean_x**2 + mean_y**2 + c1) * (var_x + var_y + c2))))


def _window_means(values: Array) -> Array:
    """Weighted mean of each window that lies within the image."""
    sigma = (WINDOW_SIGMA, WINDOW_SIGMA, 0)[: values.ndim]  # 0: channels are not mixed
    inside = slice(WINDOW_RADIUS, -WINDOW_RADIUS)
    return np.asarray(gaussian_filter(values, sigma, radius=WINDOW_RADIUS)[inside, inside])


def _check_image(shape: tuple[int, ...]) -> None:
    colour = len(shape) == 3 and shape[2] <= MOST_CHANNELS
    if not (len(shape) == 2 or colour):
        raise ValueError(f"images must be (height, width) or (height, width, up to 4 channels); got shape {shape}.")
    taps = 2 * WINDOW_RADIUS + 1
    if min(shape[:2]) < taps:
        raise ValueError(f"images must be at least {taps} x {taps} pixels; got shape {shape}.")


def _as_floats(truth: Any, image: Any) -> tuple[Array, Array]:
    """Both in double precision: differences of bytes would wrap around."""
    truth, image = same_shape(truth, image)
    return truth.astype(np.float64, copy=False), image.astype(np.float64, copy=False)


def _data_range(truth: Array, data_range: float | None) -> float:
    span = float(np.ptp(truth)) if data_range is None else float(data_range)
    if data_range is None and span == 0:
        raise ValueError("truth has one value only, so data_range must be given.")
    if not span > 0:
        raise ValueError(f"data_range must be positive; got {data_range!r}.")
    return span
