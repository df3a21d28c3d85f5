"""What moves: evidence against the background, and the mask it leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._backend import Array
from .._threads import map_ranges

DARKEST = 0.65  # share of its light that a background keeps in a shadow, at least
TIMES_NOISE = 9.0  # the best threshold on four scenes is 7 to 13 times the median of the evidence
LEAST_CONTRAST = 0.02  # of the range of values: what nobody sees is no foreground
SMALLEST_SHARE = 1 / 2000  # of the frame: objects of fewer pixels are noise
HOLE = 10  # times the smallest object: holes in objects that are smaller are filled
COMPILED_FROM = 5_000_000  # values of a chunk's frames; fewer are not worth waiting for a compiler
NEAR, FURTHER = np.array([1, 2, 1], dtype=np.float32) / 4, np.array([1, 2, 3, 2, 1], dtype=np.float32) / 9
NEAR_SHARE = 0.7  # of the evidence around a pixel that it must have close by, or else objects have a halo
WINDOW = 5


@dataclass(frozen=True)
class Detector:
    """How evidence becomes a mask.

    Attributes
    ----------
    threshold
        In grey levels: evidence from there on is foreground.
    smallest
        Connected pixels that an object has at least.
    darkest
        Share of its light that the background keeps in a shadow, at least; 1 takes shadows for foreground.
    noise
        Evidence, in grey levels, that a pixel of the background usually has; 0 where it was not measured.
    """

    threshold: float
    smallest: int
    darkest: float = DARKEST
    noise: float = 0.0


@dataclass(frozen=True, eq=False)
class Pieces:
    """Background, foreground and mask of some frames."""

    background: Array
    foreground: Array
    mask: Array


def foreground_evidence(frames: Array, background: Array, *, darkest: float = DARKEST) -> Array:
    """(n_frames, height, width) distance of frames from their background, shadows excused, smoothed.

    In the window of 5 x 5 pixels around a pixel the frame is ``gain * background + rest``, by least squares. Where the
    pixel is darker than its background and the gain is at least ``darkest``, it may be the background in shadow, and
    only the rest counts (twice its root mean square). Of colours the root mean square counts. The mean is taken over
    some pixels around (nearly a Gaussian of 1.35 pixels), but not where there is far less close by.

    Parameters
    ----------
    frames, background
        (n_frames, height, width[, 3]).
    darkest
        1 excuses no shadows.
    """
    frames, background = np.asarray(frames), np.asarray(background, dtype=np.float32)
    if background.shape != frames.shape:
        raise ValueError(f"background must have the shape of the frames, {frames.shape}; got {background.shape}.")
    planes, behind = as_planes(frames), as_planes(background)
    height, width = frames.shape[1:3]
    out = np.empty((len(frames), height * width), dtype=np.float32)
    if frames.size < COMPILED_FROM:
        plain_evidence(planes, behind, height, width, darkest, out)
    else:
        from ..kernels.frames import evidence_rows

        map_ranges(evidence_rows, len(frames), planes, behind, height, width, darkest, out)
    return out.reshape(len(frames), height, width)


def foreground_mask(evidence: Array, detector: Detector) -> Array:
    """(n_frames, height, width) booleans: evidence above the threshold, small objects removed, small holes filled."""
    n, height, width = evidence.shape
    mask = np.empty((n, height * width), dtype=bool)
    flat = evidence.reshape(n, -1)
    if evidence.size < COMPILED_FROM:
        mask[:] = flat >= detector.threshold
        plain_clean(mask.reshape(n, height, width), detector.smallest)
    else:
        from ..kernels.frames import mask_rows

        map_ranges(mask_rows, n, flat, height, width, detector.threshold, detector.smallest, mask)
    return mask.reshape(n, height, width)


def tune_detector(
    noise: float,
    image_shape: tuple[int, ...],
    *,
    contrast: float,
    threshold: float | None = None,
    smallest: int | None = None,
    darkest: float = DARKEST,
) -> Detector:
    """Threshold from the noise, size of the smallest object from that of the frame; unless they are given.

    ``contrast`` is the range of values there can be.
    """
    if threshold is None:
        threshold = max(TIMES_NOISE * noise, LEAST_CONTRAST * contrast, float(np.finfo(np.float32).tiny))
    if smallest is None:
        smallest = max(1, round(SMALLEST_SHARE * image_shape[0] * image_shape[1]))
    return Detector(threshold, smallest, darkest, noise)


def separate_frames(
    frames: Array, coefficients: Array, factors: Array, detector: Detector, *, compiled: bool
) -> Pieces:
    """Background ``coefficients @ factors`` of frames, the mask, and the residual under it.

    Parameters
    ----------
    frames
        (n, height, width[, 3]); whole numbers, or float32.
    coefficients, factors
        (n, k) and (channels, k, n_pixels).
    detector
        How the mask is found.
    compiled
        Whether to run compiled loops; answers differ by rounding.
    """
    n, height, width = frames.shape[:3]
    planes, whole = as_planes(frames), frames.dtype.kind == "u"
    background = np.empty_like(planes)
    foreground = np.empty(planes.shape, dtype=signed(frames.dtype))
    mask = np.empty((n, height * width), dtype=bool)
    top = float(np.iinfo(frames.dtype).max) if whole else 0.0
    if not compiled:
        decoded = np.einsum("fk,ckp->cfp", coefficients, factors)
        evidence = np.empty(mask.shape, dtype=np.float32)
        plain_evidence(planes, decoded, height, width, detector.darkest, evidence)
        mask[:] = evidence >= detector.threshold
        plain_clean(mask.reshape(n, height, width), detector.smallest)
        background[:] = np.rint(np.clip(decoded, 0, top)) if whole else decoded
        foreground[:] = (planes.astype(foreground.dtype) - background) * mask
    else:
        from ..kernels.frames import separate_rows

        map_ranges(
            separate_rows, n, planes, coefficients, factors, height, width, detector.darkest, detector.threshold,
            detector.smallest, top, background, foreground, mask,
        )  # fmt: skip
    return Pieces(as_frames(background, frames), as_frames(foreground, frames), mask.reshape(n, height, width))


def signed(dtype: np.dtype) -> np.dtype:
    """Type that holds differences: int16 for bytes, int32 for pairs of them, else itself."""
    return np.dtype({1: np.int16, 2: np.int32}[dtype.itemsize]) if dtype.kind == "u" else dtype


def as_planes(frames: Array) -> Array:
    """(channels, n_frames, n_pixels); no copy of grey frames."""
    flat = frames.reshape(len(frames), frames.shape[1] * frames.shape[2], -1)
    return np.ascontiguousarray(np.moveaxis(flat, 2, 0))


def as_frames(planes: Array, like: Array) -> Array:
    """Planes in the shape of frames."""
    return np.ascontiguousarray(np.moveaxis(planes, 0, 2)).reshape(like.shape)


def plain_evidence(planes: Array, behind: Array, height: int, width: int, darkest: float, out: Array) -> None:
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

    n_channels, images = len(planes), (planes.shape[1], height, width)
    x, b = planes.astype(np.float32), behind
    evidence = np.sqrt(np.sum((x - b) ** 2, axis=0) / n_channels).reshape(images)
    if darkest < 1:
        xx, xb, bb = (windowed((u * v).sum(axis=0).reshape(images)) for u, v in ((x, x), (x, b), (b, b)))
        inside = windowed(np.ones((1, height, width), dtype=np.float32))
        gain = xb / np.maximum(bb, 1e-12)
        rest = 2 * np.sqrt(np.maximum(xx - gain * xb, 0) / (n_channels * inside))
        shadow = ((x - b).sum(axis=0).reshape(images) < 0) & (gain > darkest)
        evidence = np.where(shadow, np.minimum(evidence, rest), evidence)
    near = smoothed(evidence, NEAR)
    out[:] = np.minimum(smoothed(near, FURTHER), near / NEAR_SHARE).reshape(out.shape)


def plain_clean(mask: Array, smallest: int) -> None:
    """Twin of :func:`graphlowrank.kernels.objects.clean_mask` for masks (n_frames, height, width), in place."""
    from scipy.ndimage import label

    for image in mask:
        parts, _ = label(image, structure=np.ones((3, 3)))
        image[np.bincount(parts.ravel())[parts] < smallest] = False
        holes, n_holes = label(~image)
        small = np.bincount(holes.ravel(), minlength=n_holes + 1) < HOLE * smallest
        for border in (holes[0], holes[-1], holes[:, 0], holes[:, -1]):
            small[border] = False
        small[0] = False
        image[small[holes]] = True
