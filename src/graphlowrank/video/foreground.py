"""Foreground: evidence against the background, and the mask that follows from it."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._threads import map_ranges
from .._typing import Array

DARKEST = 0.65  # smallest ratio of a shadow's brightness to that of the background
TIMES_NOISE = 9.0  # threshold / noise level; the best threshold on four scenes is 7 to 13 times the noise level
MIN_CONTRAST = 0.02  # smallest threshold, as a fraction of the range of values
MIN_OBJECT = 1 / 2000  # smallest object, as a fraction of the frame
HOLE = 10  # largest hole that is filled, in smallest objects
COMPILED_FROM = 5_000_000  # values; fewer do not repay the compilation
WINDOW = 5  # pixels, side of the window of the shadow test
# Two binomial-like filters; in sequence they are close to a Gaussian with a standard deviation of 1.35 pixels.
NARROW, WIDE = np.array([1, 2, 1], dtype=np.float32) / 4, np.array([1, 2, 3, 2, 1], dtype=np.float32) / 9
HALO = 0.7  # evidence is at most the narrow mean / 0.7, or objects would have a halo


@dataclass(frozen=True)
class Detector:
    """How evidence becomes a mask.

    Attributes
    ----------
    threshold : float
        Smallest evidence of foreground, in gray levels.
    smallest : int
        Smallest number of connected pixels of an object.
    darkest : float
        Smallest ratio of a shadow's brightness to that of the background; 1 treats shadows as foreground.
    noise : float
        Noise level: median evidence in gray levels; 0 if not measured.
    """

    threshold: float
    smallest: int
    darkest: float = DARKEST
    noise: float = 0.0


class Pieces(NamedTuple):
    """Background, foreground and mask of some frames."""

    background: Array
    foreground: Array
    mask: Array


def foreground_evidence(
    frames: Array, background: Array, *, darkest: float = DARKEST, compiled: bool | None = None
) -> Array:
    """Smoothed distance of frames from their background, shadows discounted.

    The distance is the root mean square over the channels. Shadows: in the 5 x 5 window around a pixel the frame is
    ``gain * background + residual`` by least squares. Where the pixel is darker than the background and the gain is at
    least ``darkest``, the evidence is at most twice the root mean square residual. The result is smoothed by nearly a
    Gaussian with a standard deviation of 1.35 pixels, limited so that objects have no halo.

    Parameters
    ----------
    frames, background : array (n_frames, height, width[, 3])
        In the same units.
    darkest : float, default=0.65
        1 discounts no shadows.
    compiled : bool or None, default=None
        Whether to run compiled loops; None for large arrays only. Results differ by rounding.

    Returns
    -------
    evidence : float32 array (n_frames, height, width)
        In the units of the frames.
    """
    frames, background = np.asarray(frames), np.asarray(background, dtype=np.float32)
    if background.shape != frames.shape:
        raise ValueError(f"background must have the shape of the frames, {frames.shape}; got {background.shape}.")
    if not is_compiled(compiled, frames.size):
        return plain_evidence(as_planes(frames), as_planes(background), darkest)
    from ..kernels.frames import evidence_rows

    evidence = np.empty(frames.shape[:3], dtype=np.float32)
    map_ranges(evidence_rows, len(frames), as_planes(frames), as_planes(background), darkest, evidence)
    return evidence


def foreground_mask(evidence: Array, detector: Detector, *, compiled: bool | None = None) -> Array:
    """Threshold evidence, remove small objects and fill small holes.

    Parameters
    ----------
    evidence : array (n_frames, height, width)
        From :func:`foreground_evidence`.
    detector : Detector
        Threshold and smallest object.
    compiled : bool or None, default=None
        Whether to run compiled loops; None for large arrays only.

    Returns
    -------
    mask : bool array (n_frames, height, width)
        True on the foreground.
    """
    if not is_compiled(compiled, evidence.size):
        mask = evidence >= detector.threshold
        plain_clean(mask, detector.smallest)
        return mask
    from ..kernels.frames import mask_rows

    mask = np.empty(evidence.shape, dtype=bool)
    map_ranges(mask_rows, len(mask), np.ascontiguousarray(evidence), detector.threshold, detector.smallest, mask)
    return mask


def is_compiled(asked: bool | None, n_values: int) -> bool:  # noqa: FBT001
    """Whether to run compiled loops; results differ by rounding."""
    return n_values >= COMPILED_FROM if asked is None else asked


def tune_detector(
    noise: float,
    image_shape: tuple[int, ...],
    *,
    contrast: float,
    threshold: float | None = None,
    smallest: int | None = None,
    darkest: float = DARKEST,
) -> Detector:
    """Choose the threshold by noise and range of the values, the smallest object by the frame, unless given."""
    if threshold is None:
        threshold = max(TIMES_NOISE * noise, MIN_CONTRAST * contrast, float(np.finfo(np.float32).tiny))
    if smallest is None:
        smallest = max(1, round(MIN_OBJECT * image_shape[0] * image_shape[1]))
    return Detector(threshold, smallest, darkest, noise)


def separate_frames(
    frames: Array, coefficients: Array, factors: Array, detector: Detector, *, compiled: bool
) -> Pieces:
    """Background ``coefficients @ factors`` of frames, their mask, and the residual under the mask.

    Frames are unsigned integers or float32, coefficients (n_frames, k), factors (channels, k, n_pixels).
    """
    planes, whole = as_planes(frames), frames.dtype.kind == "u"
    background = np.empty_like(planes)
    foreground = np.empty(planes.shape, dtype=signed(frames.dtype))
    top = float(np.iinfo(frames.dtype).max) if whole else 0.0
    if compiled:
        from ..kernels.frames import separate_rows

        mask = np.empty(frames.shape[:3], dtype=bool)
        limits = (detector.darkest, detector.threshold, detector.smallest, top)
        map_ranges(separate_rows, len(mask), planes, (coefficients, factors), limits, (background, foreground, mask))
    else:
        decoded = np.einsum("fk,ckp->fcp", coefficients, factors).reshape(planes.shape)
        mask = foreground_mask(plain_evidence(planes, decoded, detector.darkest), detector, compiled=False)
        background[:] = np.rint(np.clip(decoded, 0, top)) if whole else decoded
        foreground[:] = (planes.astype(foreground.dtype) - background) * mask[:, None]
    return Pieces(as_frames(background, frames), as_frames(foreground, frames), mask)


def signed(dtype: np.dtype) -> np.dtype:
    """Type of differences: int16 for uint8, int32 for uint16, floats themselves."""
    return np.dtype({1: np.int16, 2: np.int32}[dtype.itemsize]) if dtype.kind == "u" else dtype


def as_planes(frames: Array) -> Array:
    """Frames as (n_frames, channels, height, width); gray frames are not copied."""
    return np.ascontiguousarray(np.moveaxis(frames.reshape(*frames.shape[:3], -1), 3, 1))


def as_frames(planes: Array, like: Array) -> Array:
    """Planes in the shape of frames."""
    return np.ascontiguousarray(np.moveaxis(planes, 1, 3)).reshape(like.shape)


def plain_evidence(planes: Array, behind: Array, darkest: float) -> Array:
    """Twin of :func:`graphlowrank.kernels.frames.evidence_rows` in numpy and scipy."""
    from scipy.ndimage import correlate1d, uniform_filter1d

    def windowed(products: Array) -> Array:
        for axis in (1, 2):
            products = uniform_filter1d(products, WINDOW, axis=axis, mode="constant")
        return products

    def smoothed(images: Array, weights: Array) -> Array:
        for axis in (1, 2):
            images = correlate1d(images, weights, axis=axis, mode="nearest")
        return images

    x, b = planes.astype(np.float32), behind
    n_channels = x.shape[1]
    evidence = np.sqrt(np.sum((x - b) ** 2, axis=1) / n_channels)
    if darkest < 1:
        xx, xb, bb = (windowed((u * v).sum(axis=1)) for u, v in ((x, x), (x, b), (b, b)))
        inside = windowed(np.ones((1, *x.shape[2:]), dtype=np.float32))
        gain = xb / np.maximum(bb, 1e-12)
        residual = 2 * np.sqrt(np.maximum(xx - gain * xb, 0) / (n_channels * inside))
        shadow = ((x - b).sum(axis=1) < 0) & (gain > darkest)
        evidence = np.where(shadow, np.minimum(evidence, residual), evidence)
    narrow = smoothed(evidence, NARROW)
    return np.minimum(smoothed(narrow, WIDE), narrow / HALO)


def plain_clean(mask: Array, smallest: int) -> None:
    """Twin of :func:`graphlowrank.kernels.frames.clean_mask` for masks (n_frames, height, width), in place."""
    from scipy.ndimage import label

    for image in mask:
        objects, _ = label(image, structure=np.ones((3, 3)))
        image[np.bincount(objects.ravel())[objects] < smallest] = False
        holes, n_holes = label(~image)
        small = np.bincount(holes.ravel(), minlength=n_holes + 1) < HOLE * smallest
        for border in (holes[0], holes[-1], holes[:, 0], holes[:, -1]):
            small[border] = False
        small[0] = False
        image[small[holes]] = True
