"""Background, foreground evidence and mask of a video, frame by frame to stay in cache.

Frames are planes (channels, n_frames, n_pixels), so that loops over pixels are contiguous. Arithmetic is in single
precision, in the gray levels of the frames. Twins in numpy: ``video/foreground.py``.
"""

from __future__ import annotations

import numpy as np

from .._backend import Array
from .compiling import compiled
from .objects import clean_mask

TILE = 4096  # pixels; a tile of the background stays in the L1 cache
RADIUS = 2  # pixels, of the window of the shadow test; unrolled in `sum_windows`
# Filter weights at distance 0, 1 and 2. In sequence: nearly a Gaussian with a standard deviation of 1.35 pixels.
NARROW, WIDE = np.array([2, 1, 0], dtype=np.float32) / 4, np.array([3, 2, 1], dtype=np.float32) / 9
HALO = np.float32(0.7)  # evidence is at most the narrow mean / 0.7, or objects would have a halo
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
    """Root mean square over the channels of the residual of frame ``f`` from its background (channels, n_pixels)."""
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
    """Separable 5 x 5 filter with repeated borders; ``weights`` are those at distance 0, 1 and 2.

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
    """Vertical half of :func:`smooth`."""
    middle, one, two = weights[0], weights[1], weights[2]
    for x in range(len(out)):
        out[x] = middle * line[x] + one * (up[x] + down[x]) + two * (up2[x] + down2[x])


@compiled(fastmath=True)
def mean_along(line: Array, weights: Array, out: Array) -> None:
    """Horizontal half of :func:`smooth`."""
    width = len(line)
    middle, one, two = weights[0], weights[1], weights[2]
    inside, left, here, right, right2 = out[2:], line[1:], line[2:], line[3:], line[4:]
    for x in range(width - 4):  # from 0: a possibly negative index would not be vectorized
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
def discount_shadows(
    frames: Array, f: int, background: Array, height: int, width: int, darkest: float, lines: Array, evidence: Array
) -> None:
    """Lower the evidence in shadows.

    In the window around a pixel the frame is ``gain * background + residual``, by least squares. Where the pixel is
    darker than the background and the gain is at least ``darkest``, the evidence is at most twice the root mean square
    residual. Rows are processed one by one in ``lines`` (8, width), which stays in cache.
    """
    n_channels = len(frames)
    difference, counts = lines[6], lines[7]
    lines[0] = np.float32(n_channels)
    sum_windows(lines[0], counts)
    for y in range(height):
        top, bottom = max(0, y - RADIUS), min(height, y + RADIUS + 1)
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
        discount_line(line, lines[3], lines[4], lines[5], difference, counts, np.float32(bottom - top), darkest)


@compiled(fastmath=True, error_model="numpy")
def discount_line(
    line: Array, xx: Array, xb: Array, bb: Array, difference: Array, counts: Array, n_rows: float, darkest: float
) -> None:
    """One row of :func:`discount_shadows`; ``xx``, ``xb`` and ``bb`` are sums over windows."""
    least = np.float32(darkest)
    for x in range(len(line)):
        gain = xb[x] / max(bb[x], TINY)
        residual = TWO * np.sqrt(max(xx[x] - gain * xb[x], ZERO) / (n_rows * counts[x]))
        lowered = min(line[x], residual)
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
    """Sum over the window around each pixel of a row, clipped at the borders."""
    width = len(line)
    inside, one, two, three, four = out[RADIUS:], line[1:], line[2:], line[3:], line[4:]
    for x in range(width - 2 * RADIUS):  # from 0: a possibly negative index would not be vectorized
        inside[x] = line[x] + one[x] + two[x] + three[x] + four[x]
    for side in range(2):
        for border in range(min(RADIUS, width)):
            x = width - 1 - border if side else border
            out[x] = ZERO
            for other in range(max(0, x - RADIUS), min(width, x + RADIUS + 1)):
                out[x] += line[other]


@compiled(fastmath=True, error_model="numpy")
def find_evidence(
    frames: Array, f: int, background: Array, height: int, width: int, darkest: float, buffers: Array, lines: Array
) -> None:
    """Evidence of frame ``f`` against its background (channels, n_pixels), written to ``buffers[0]`` of three.

    ``darkest`` is the smallest gain of a shadow; 1 discounts none.
    """
    evidence, narrow, spare = buffers[0], buffers[1], buffers[2]
    distances(frames, f, background, evidence)
    if darkest < 1:
        discount_shadows(frames, f, background, height, width, darkest, lines, evidence)
    smooth(evidence, height, width, NARROW, spare, narrow)
    smooth(narrow, height, width, WIDE, spare, evidence)
    for j in range(len(evidence)):
        evidence[j] = min(evidence[j], narrow[j] / HALO)


@compiled()
def evidence_rows(
    start: int, stop: int, frames: Array, background: Array, height: int, width: int, darkest: float, out: Array
) -> None:
    """Evidence ``out[f]`` of frames start <= f < stop against a background (channels, n_frames, n_pixels)."""
    buffers, lines = np.empty((3, frames.shape[2]), np.float32), np.empty((8, width), np.float32)
    for f in range(start, stop):
        find_evidence(frames, f, background[:, f], height, width, darkest, buffers, lines)
        out[f] = buffers[0]


@compiled()
def mask_rows(
    start: int, stop: int, evidence: Array, height: int, width: int, threshold: float, smallest: int, mask: Array
) -> None:
    """Masks of the evidence of frames start <= f < stop."""
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
    """Background ``coefficients[f] @ factors[channel]``, mask, and residual under it, of frames start <= f < stop.

    ``brightest`` is the largest integer, to which the background is clipped and rounded; 0 for floats.
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
    """Write the background, rounded unless ``top`` is 0, and the residual under the mask."""
    if top > 0:
        for j in range(len(frame)):
            background[j] = np.rint(min(max(decoded[j], ZERO), top))
    else:
        for j in range(len(frame)):
            background[j] = decoded[j]
    for j in range(len(frame)):
        foreground[j] = (np.float32(frame[j]) - np.float32(background[j])) * np.float32(mask[j])
