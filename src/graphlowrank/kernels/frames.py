"""Background, evidence of foreground and mask of a video, a frame at a time while it is in cache.

Frames come as planes, (channels, n_frames, n_pixels), so that loops over the pixels are contiguous. Arithmetic is in
single precision, in the grey levels of the frames.
"""

from __future__ import annotations

import numpy as np

from .._backend import Array
from .compiling import compiled
from .objects import clean_mask

TILE = 4096  # pixels of a sum of factors that stay in the first cache
REACH = 2  # pixels on each side of the window in which a shadow is looked for; written out in `sum_windows`
# Weights of the middle, of one and of two pixels off. One after the other they make a Gaussian of 1.35 pixels, nearly.
NEAR, FURTHER = np.array([2, 1, 0], dtype=np.float32) / 4, np.array([3, 2, 1], dtype=np.float32) / 9
NEAR_SHARE = np.float32(0.7)  # of the evidence around a pixel that it must have close by
ZERO, TWO, TINY = np.float32(0), np.float32(2), np.float32(1e-12)


@compiled(fastmath=True)
def add_factors(coefficients: Array, factors: Array, out: Array) -> None:
    """``out = coefficients @ factors`` for a vector and a (k, p) matrix."""
    for first in range(0, len(out), TILE):
        last = min(first + TILE, len(out))
        tile = out[first:last]
        tile[:] = ZERO
        for a in range(len(coefficients)):
            coefficient, factor = coefficients[a], factors[a, first:last]
            for j in range(last - first):
                tile[j] += coefficient * factor[j]


@compiled(fastmath=True, error_model="numpy")
def distances(frames: Array, f: int, background: Array, out: Array) -> None:
    """Root mean square over the channels of frame ``f`` less its background (channels, n_pixels)."""
    n_channels = len(frames)
    out[:] = ZERO
    for channel in range(n_channels):
        x, b = frames[channel, f], background[channel]
        for j in range(len(out)):
            residual = np.float32(x[j]) - b[j]
            out[j] += residual * residual
    for j in range(len(out)):
        out[j] = np.sqrt(out[j] / np.float32(n_channels))


@compiled(fastmath=True)
def smooth(image: Array, height: int, width: int, weights: Array, spare: Array, out: Array) -> None:
    """Weighted mean of five by five pixels, borders being repeated; ``weights`` are of the middle, one off, two off.

    ``spare`` is overwritten; ``out`` may be the image itself.
    """
    last = (height - 1) * width
    for y in range(height):
        here = y * width
        up, down = max(0, here - width), min(last, here + width)
        up2, down2 = max(0, here - 2 * width), min(last, here + 2 * width)
        mean_of_rows(
            image[here : here + width], image[up : up + width], image[down : down + width], image[up2 : up2 + width],
            image[down2 : down2 + width], weights, spare[here : here + width],
        )  # fmt: skip
    for y in range(height):
        mean_along(spare[y * width : (y + 1) * width], weights, out[y * width : (y + 1) * width])


@compiled(fastmath=True)
def mean_of_rows(line: Array, up: Array, down: Array, up2: Array, down2: Array, weights: Array, out: Array) -> None:
    """First half of :func:`smooth`: weighted mean of five rows."""
    middle, one, two = weights[0], weights[1], weights[2]
    for x in range(len(out)):
        out[x] = middle * line[x] + one * (up[x] + down[x]) + two * (up2[x] + down2[x])


@compiled(fastmath=True)
def mean_along(line: Array, weights: Array, out: Array) -> None:
    """Second half of :func:`smooth`: weighted mean of five pixels of a row."""
    width = len(line)
    middle, one, two = weights[0], weights[1], weights[2]
    inside, left, here, right, right2 = out[2:], line[1:], line[2:], line[3:], line[4:]
    for x in range(width - 4):  # from 0: an index that might be negative would not be vectorised
        inside[x] = middle * here[x] + one * (left[x] + right[x]) + two * (line[x] + right2[x])
    for side in range(2):
        for border in range(min(2, width)):
            x = width - 1 - border if side else border
            out[x] = (
                middle * line[x]
                + one * (line[max(0, x - 1)] + line[min(width - 1, x + 1)])
                + two * (line[max(0, x - 2)] + line[min(width - 1, x + 2)])
            )


@compiled(fastmath=True)
def excuse_shadows(
    frames: Array, f: int, background: Array, height: int, width: int, darkest: float, lines: Array, evidence: Array
) -> None:
    """Lower the evidence where the frame is the background in less light.

    In the window around a pixel the frame is ``gain * background + rest``, by least squares. Where the pixel is darker
    than the background and the gain is at least ``darkest``, only the rest speaks for foreground. Rows are worked on
    one by one, in ``lines`` (8, width): the products of a window of rows do not leave the cache.
    """
    n_channels = len(frames)
    difference, counts = lines[6], lines[7]
    lines[0] = np.float32(n_channels)
    sum_windows(lines[0], counts)
    for y in range(height):
        top, bottom = max(0, y - REACH), min(height, y + REACH + 1)
        lines[:3] = ZERO
        difference[:] = ZERO
        for channel in range(n_channels):
            for other in range(top, bottom):
                first, last = other * width, (other + 1) * width
                add_products(
                    frames[channel, f, first:last], background[channel, first:last], lines[0], lines[1], lines[2]
                )
            first, last = y * width, (y + 1) * width
            add_difference(frames[channel, f, first:last], background[channel, first:last], difference)
        for product in range(3):
            sum_windows(lines[product], lines[3 + product])
        line = evidence[y * width : (y + 1) * width]
        excuse_line(line, lines[3], lines[4], lines[5], difference, counts, np.float32(bottom - top), darkest)


@compiled(fastmath=True, error_model="numpy")
def excuse_line(
    line: Array, xx: Array, xb: Array, bb: Array, difference: Array, counts: Array, n_rows: float, darkest: float
) -> None:
    """One row of :func:`excuse_shadows`; ``xx``, ``xb`` and ``bb`` are sums over the windows around its pixels."""
    least = np.float32(darkest)
    for x in range(len(line)):
        gain = xb[x] / max(bb[x], TINY)
        rest = TWO * np.sqrt(max(xx[x] - gain * xb[x], ZERO) / (n_rows * counts[x]))
        lowered = min(line[x], rest)
        line[x] = lowered if (difference[x] < ZERO) & (gain > least) else line[x]


@compiled(fastmath=True)
def add_products(x: Array, b: Array, xx: Array, xb: Array, bb: Array) -> None:
    """Add ``x^2``, ``x b`` and ``b^2``."""
    for j in range(len(b)):
        value = np.float32(x[j])
        xx[j] += value * value
        xb[j] += value * b[j]
        bb[j] += b[j] * b[j]


@compiled(fastmath=True)
def add_difference(x: Array, b: Array, out: Array) -> None:
    """``out += x - b``."""
    for j in range(len(b)):
        out[j] += np.float32(x[j]) - b[j]


@compiled(fastmath=True)
def sum_windows(line: Array, out: Array) -> None:
    """Sum over the window around each pixel of a row; it ends at the borders."""
    width = len(line)
    inside, one, two, three, four = out[REACH:], line[1:], line[2:], line[3:], line[4:]
    for x in range(width - 2 * REACH):  # from 0: an index that might be negative would not be vectorised
        inside[x] = line[x] + one[x] + two[x] + three[x] + four[x]
    for side in range(2):
        for border in range(min(REACH, width)):
            x = width - 1 - border if side else border
            out[x] = ZERO
            for other in range(max(0, x - REACH), min(width, x + REACH + 1)):
                out[x] += line[other]


@compiled(fastmath=True, error_model="numpy")
def find_evidence(
    frames: Array, f: int, background: Array, height: int, width: int, darkest: float, buffers: Array, lines: Array
) -> None:
    """Smoothed distance of frame ``f`` from its background (channels, n_pixels), left in ``buffers[0]`` of three.

    It is the mean over some pixels around, unless there is less close by: objects would have a halo. ``darkest`` is the
    gain of the deepest shadow that is excused; 1 excuses none.
    """
    evidence, near, spare = buffers[0], buffers[1], buffers[2]
    distances(frames, f, background, evidence)
    if darkest < 1:
        excuse_shadows(frames, f, background, height, width, darkest, lines, evidence)
    smooth(evidence, height, width, NEAR, spare, near)
    smooth(near, height, width, FURTHER, spare, evidence)
    for j in range(len(evidence)):
        evidence[j] = min(evidence[j], near[j] / NEAR_SHARE)


@compiled()
def evidence_rows(
    start: int, stop: int, frames: Array, background: Array, height: int, width: int, darkest: float, out: Array
) -> None:
    """``out[f]``: evidence of frames start <= f < stop against a background (channels, n_frames, n_pixels)."""
    buffers, lines = np.empty((3, frames.shape[2]), np.float32), np.empty((8, width), np.float32)
    for f in range(start, stop):
        find_evidence(frames, f, background[:, f], height, width, darkest, buffers, lines)
        out[f] = buffers[0]


@compiled()
def mask_rows(
    start: int, stop: int, evidence: Array, height: int, width: int, threshold: float, smallest: int, mask: Array
) -> None:
    """``mask[f]`` of evidence of frames start <= f < stop."""
    labels, sizes = np.empty(evidence.shape[1], np.int32), np.empty(evidence.shape[1] // 2 + 2, np.int32)
    for f in range(start, stop):
        for j in range(evidence.shape[1]):
            mask[f, j] = evidence[f, j] >= threshold
        clean_mask(mask[f], height, width, smallest, labels, sizes)


@compiled()
def separate_rows(
    start: int,
    stop: int,
    frames: Array,
    coefficients: Array,
    factors: Array,
    height: int,
    width: int,
    darkest: float,
    threshold: float,
    smallest: int,
    brightest: float,
    background: Array,
    foreground: Array,
    mask: Array,
) -> None:
    """Background ``coefficients[f] @ factors[channel]``, mask and residual under it, of frames start <= f < stop.

    ``brightest`` is the largest value of whole numbers; the background is rounded to them. 0 leaves it as it is.
    """
    n_channels, _, n_pixels = frames.shape
    buffers, lines = np.empty((3, n_pixels), np.float32), np.empty((8, width), np.float32)
    decoded = np.empty((n_channels, n_pixels), np.float32)
    labels, sizes = np.empty(n_pixels, np.int32), np.empty(n_pixels // 2 + 2, np.int32)
    top = np.float32(brightest)
    for f in range(start, stop):
        for channel in range(n_channels):
            add_factors(coefficients[f], factors[channel], decoded[channel])
        find_evidence(frames, f, decoded, height, width, darkest, buffers, lines)
        for j in range(n_pixels):
            mask[f, j] = buffers[0, j] >= threshold
        clean_mask(mask[f], height, width, smallest, labels, sizes)
        for channel in range(n_channels):
            write_planes(
                frames[channel, f], decoded[channel], mask[f], top, background[channel, f], foreground[channel, f]
            )


@compiled(fastmath=True)
def write_planes(frame: Array, decoded: Array, mask: Array, top: float, background: Array, foreground: Array) -> None:
    """Write the background, in whole numbers unless ``top`` is 0, and what is left of the frame under the mask."""
    if top > 0:
        for j in range(len(frame)):
            background[j] = np.rint(min(max(decoded[j], ZERO), top))
    else:
        for j in range(len(frame)):
            background[j] = decoded[j]
    for j in range(len(frame)):
        foreground[j] = (np.float32(frame[j]) - np.float32(background[j])) * np.float32(mask[j])
