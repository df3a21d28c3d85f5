"""Background, foreground evidence and mask of a video, frame by frame to stay in cache.

Frames are planes (n_frames, channels, height, width), so that loops over pixels are contiguous. Arithmetic is in single
precision, in the gray levels of the frames. Twins in numpy: ``video/foreground.py``.
"""

import numpy as np

from .._typing import Array
from .compiling import compiled

TILE = 4096  # pixels; a tile of the background stays in the L1 cache
RADIUS = 2  # pixels, of the window of the shadow test; unrolled in `sum_windows`
# Filter weights at distance 0, 1 and 2. In sequence: nearly a Gaussian with a standard deviation of 1.35 pixels.
NARROW, WIDE = np.array([2, 1, 0], dtype=np.float32) / 4, np.array([3, 2, 1], dtype=np.float32) / 9
HALO = np.float32(0.7)  # evidence is at most the narrow mean / 0.7, or objects would have a halo
HOLE = 10  # largest hole that is filled, in smallest objects
ENDLESS = 2**30  # size of components that touch the border
ZERO, TWO, TINY = np.float32(0), np.float32(2), np.float32(1e-12)


@compiled()
def separate_rows(
    start: int, stop: int, frames: Array, model: tuple[Array, ...], detector: tuple[float, ...], out: tuple[Array, ...]
) -> None:
    """Background ``coefficients[f] @ factors``, residual under the mask, and mask, of frames start <= f < stop.

    The last of the detector's numbers is the largest integer, to which the background is clipped; 0 for floats.
    """
    coefficients, factors = model
    darkest, threshold, smallest, brightest = detector
    background, foreground, mask = out
    decoded, evidence = np.empty(frames.shape[1:], np.float32), np.empty(frames.shape[2:], np.float32)
    for f in range(start, stop):
        for channel in range(len(decoded)):
            add_factors(coefficients[f], factors[channel], decoded[channel].reshape(-1))
        find_evidence(frames[f], decoded, darkest, evidence)
        compare(evidence.reshape(-1), threshold, mask[f].reshape(-1))
        clean_mask(mask[f], smallest)
        for channel in range(len(decoded)):
            x, b, inside = frames[f, channel].reshape(-1), decoded[channel].reshape(-1), mask[f].reshape(-1)
            behind, before = background[f, channel].reshape(-1), foreground[f, channel].reshape(-1)
            write_planes(x, b, inside, brightest, behind, before)


@compiled()
def evidence_rows(start: int, stop: int, frames: Array, background: Array, darkest: float, out: Array) -> None:
    """Evidence ``out[f]`` of frames start <= f < stop against their background."""
    for f in range(start, stop):
        find_evidence(frames[f], background[f], darkest, out[f])


@compiled()
def mask_rows(start: int, stop: int, evidence: Array, threshold: float, smallest: int, mask: Array) -> None:
    """Masks of the evidence of frames start <= f < stop."""
    for f in range(start, stop):
        compare(evidence[f].reshape(-1), threshold, mask[f].reshape(-1))
        clean_mask(mask[f], smallest)


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


@compiled(fastmath=True)
def write_planes(frame: Array, decoded: Array, mask: Array, top: float, background: Array, foreground: Array) -> None:
    """Write the background, rounded unless ``top`` is 0, and the residual under the mask."""
    largest = np.float32(top)
    for j in range(len(frame)):
        background[j] = np.rint(min(max(decoded[j], ZERO), largest)) if top > 0 else decoded[j]
    for j in range(len(frame)):
        foreground[j] = (np.float32(frame[j]) - np.float32(background[j])) * np.float32(mask[j])


# --- evidence ---


@compiled(fastmath=True, error_model="numpy")
def find_evidence(frame: Array, background: Array, darkest: float, evidence: Array) -> None:
    """Evidence of a frame against its background; ``darkest`` is the smallest gain of a shadow, 1 discounts none."""
    narrow, spare = np.empty_like(evidence), np.empty_like(evidence)
    distances(frame, background, evidence)
    if darkest < 1:
        discount_shadows(frame, background, darkest, evidence)
    smooth(evidence, NARROW, spare, narrow)
    smooth(narrow, WIDE, spare, evidence)
    limited, limit = evidence.reshape(-1), narrow.reshape(-1)
    for j in range(len(limited)):
        limited[j] = min(limited[j], limit[j] / HALO)


@compiled(fastmath=True, error_model="numpy")
def distances(frame: Array, background: Array, out: Array) -> None:
    """Root mean square over the channels of the residual of a frame from its background."""
    total, n_channels = out.reshape(-1), len(frame)
    total[:] = ZERO
    for channel in range(n_channels):
        x, b = frame[channel].reshape(-1), background[channel].reshape(-1)
        for j in range(len(total)):
            residual = np.float32(x[j]) - b[j]
            total[j] += residual * residual
    for j in range(len(total)):
        total[j] = np.sqrt(total[j] / np.float32(n_channels))


@compiled(fastmath=True)
def smooth(image: Array, weights: Array, spare: Array, out: Array) -> None:
    """Separable 5 x 5 filter with repeated borders; ``weights`` are those at distance 0, 1 and 2."""
    last = len(image) - 1
    for y in range(len(image)):
        up, down, up2, down2 = max(0, y - 1), min(last, y + 1), max(0, y - 2), min(last, y + 2)
        weighted_mean(image[y], image[up], image[down], image[up2], image[down2], weights, spare[y])
    for y in range(len(image)):
        mean_along(spare[y], weights, out[y])


@compiled(fastmath=True)
def weighted_mean(line: Array, up: Array, down: Array, up2: Array, down2: Array, weights: Array, out: Array) -> None:
    """Weighted mean of five lines."""
    middle, one, two = weights[0], weights[1], weights[2]
    for x in range(len(out)):
        out[x] = middle * line[x] + one * (up[x] + down[x]) + two * (up2[x] + down2[x])


@compiled(fastmath=True)
def mean_along(line: Array, weights: Array, out: Array) -> None:
    """Horizontal half of :func:`smooth`."""
    width = len(line)
    middle, one, two = weights[0], weights[1], weights[2]
    weighted_mean(line[2:], line[1:], line[3:], line, line[4:], weights, out[2:-2])
    for border in range(min(2, width)):
        for x in (border, width - 1 - border):
            out[x] = (
                middle * line[x]
                + one * (line[max(0, x - 1)] + line[min(width - 1, x + 1)])
                + two * (line[max(0, x - 2)] + line[min(width - 1, x + 2)])
            )


@compiled(fastmath=True, error_model="numpy")
def discount_shadows(frame: Array, background: Array, darkest: float, evidence: Array) -> None:
    """Lower the evidence in shadows, as :func:`graphlowrank.video.foreground_evidence` describes."""
    n_channels, height, width = frame.shape
    least = np.float32(darkest)
    lines = np.empty((8, width), np.float32)  # rows are processed one by one, which stays in cache
    products, difference, counts = lines[:3], lines[6], lines[7]
    xx, xb, bb = lines[3], lines[4], lines[5]
    products[0] = np.float32(n_channels)
    sum_windows(products[0], counts)
    for y in range(height):
        top, bottom = max(0, y - RADIUS), min(height, y + RADIUS + 1)
        products[:] = ZERO
        difference[:] = ZERO
        for channel in range(n_channels):
            for other in range(top, bottom):
                add_products(frame[channel, other], background[channel, other], products)
            x, b = frame[channel, y], background[channel, y]
            for j in range(width):
                difference[j] += np.float32(x[j]) - b[j]
        for product in range(3):
            sum_windows(products[product], lines[3 + product])
        line, n_rows = evidence[y], np.float32(bottom - top)
        for j in range(width):
            gain = xb[j] / max(bb[j], TINY)
            residual = TWO * np.sqrt(max(xx[j] - gain * xb[j], ZERO) / (n_rows * counts[j]))
            lowered = min(line[j], residual)
            line[j] = lowered if (difference[j] < ZERO) & (gain > least) else line[j]


@compiled(fastmath=True)
def add_products(x: Array, b: Array, products: Array) -> None:
    """Add ``x^2``, ``x b`` and ``b^2``."""
    xx, xb, bb = products[0], products[1], products[2]
    for j in range(len(b)):
        value = np.float32(x[j])
        xx[j] += value * value
        xb[j] += value * b[j]
        bb[j] += b[j] * b[j]


@compiled(fastmath=True)
def sum_windows(line: Array, out: Array) -> None:
    """Sum over the window around each pixel of a row, clipped at the borders."""
    width = len(line)
    inside, one, two, three, four = out[RADIUS:], line[1:], line[2:], line[3:], line[4:]
    for x in range(width - 2 * RADIUS):  # from 0: a possibly negative index would not be vectorized
        inside[x] = line[x] + one[x] + two[x] + three[x] + four[x]
    for border in range(min(RADIUS, width)):
        for x in (border, width - 1 - border):
            out[x] = ZERO
            for other in range(max(0, x - RADIUS), min(width, x + RADIUS + 1)):
                out[x] += line[other]


# --- mask ---


@compiled()
def compare(evidence: Array, threshold: float, mask: Array) -> None:
    """``mask = evidence >= threshold``; numba takes five seconds to compile the array expression."""
    for j in range(len(mask)):
        mask[j] = evidence[j] >= threshold


@compiled()
def clean_mask(mask: Array, smallest: int) -> None:
    """Remove objects of fewer than ``smallest`` pixels, then fill holes of fewer than ``HOLE`` times that, in place."""
    flip_small(mask, True, smallest)  # noqa: FBT003
    if mask.any():
        flip_small(mask, False, HOLE * smallest)  # noqa: FBT003


@compiled()
def flip_small(mask: Array, value: bool, smallest: int) -> None:  # noqa: FBT001
    """Flip connected pixels of a value that are fewer than ``smallest``; False at the border is no hole."""
    height, width = mask.shape
    labels, parents = np.empty(mask.shape, np.int32), np.empty(mask.size // 2 + 2, np.int32)
    n_labels = label_components(mask, value, labels, parents)
    sizes = count_pixels(labels.reshape(-1), parents, n_labels)
    if not value:
        for x in range(width):
            sizes[labels[0, x]] = sizes[labels[height - 1, x]] = ENDLESS
        for y in range(height):
            sizes[labels[y, 0]] = sizes[labels[y, width - 1]] = ENDLESS
    for y in range(height):
        for x in range(width):
            if labels[y, x] and sizes[labels[y, x]] < smallest:
                mask[y, x] = not value


@compiled()
def label_components(mask: Array, value: bool, labels: Array, parents: Array) -> int:  # noqa: FBT001
    """Label connected pixels of a value, True 8-connected, False 4-connected; ``parents`` joins labels that meet."""
    height, width = mask.shape
    n_labels = 1  # label 0 is for pixels of the other value
    for y in range(height):
        for x in range(width):
            if mask[y, x] != value:
                labels[y, x] = 0
                continue
            label = labels[y, x - 1] if x > 0 else 0
            if y > 0:
                first, last = (max(0, x - 1), min(width - 1, x + 1)) if value else (x, x)
                for other in labels[y - 1, first : last + 1]:
                    if other and other != label:
                        label = other if label == 0 else join(parents, label, other)
            if label == 0:  # at most at every other pixel
                label = n_labels
                parents[label] = label
                n_labels += 1
            labels[y, x] = label
    return n_labels


@compiled()
def count_pixels(labels: Array, parents: Array, n_labels: int) -> Array:
    """Give each component one label; return the size of each, in the memory of ``parents``."""
    for label in range(1, n_labels):  # in this order: the label of a parent is smaller, and already a root
        parents[label] = parents[parents[label]]
    parents[0] = 0
    for j in range(len(labels)):
        labels[j] = parents[labels[j]]
    parents[:n_labels] = 0
    begin = 0
    for j in range(1, len(labels) + 1):  # run by run: repeated increments of one entry are slow
        if j == len(labels) or labels[j] != labels[begin]:
            parents[labels[begin]] += j - begin
            begin = j
    return parents


@compiled()
def join(parents: Array, first: int, second: int) -> int:
    """Join two components; return their root."""
    first, second = root_of(parents, first), root_of(parents, second)
    if first < second:
        parents[second] = first
        return first
    parents[first] = second
    return second


@compiled()
def root_of(parents: Array, label: int) -> int:
    """Root of a label, with path halving."""
    while parents[label] != label:
        parents[label] = parents[parents[label]]
        label = parents[label]
    return label
