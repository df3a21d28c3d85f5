"""Connected parts of masks."""

from __future__ import annotations

from .._backend import Array
from .compiling import compiled

HOLE = 10  # times the smallest object: windows of cars and such
ENDLESS = 2**30  # size of what reaches the border


@compiled()
def root_of(parents: Array, label: int) -> int:
    """First label of a part; the way there is shortened."""
    while parents[label] != label:
        parents[label] = parents[parents[label]]
        label = parents[label]
    return label


@compiled()
def join(parents: Array, first: int, second: int) -> int:
    """Make two parts one; return its label."""
    first, second = root_of(parents, first), root_of(parents, second)
    if first < second:
        parents[second] = first
        return first
    parents[first] = second
    return second


@compiled()
def clean_mask(mask: Array, height: int, width: int, smallest: int, labels: Array, parents: Array) -> None:
    """Clear objects of fewer than ``smallest`` pixels, then fill holes of fewer than ``HOLE`` times that, in place.

    Pixels of an object may touch at a corner; those of a hole share a side, and a hole does not reach the border.
    ``labels`` (n_pixels,) and ``parents`` (n_pixels // 2 + 2,) are overwritten.
    """
    n_labels = label_parts(mask, True, height, width, labels, parents)  # noqa: FBT003
    count_pixels(labels, parents, n_labels)
    for j in range(len(mask)):
        if labels[j] and parents[labels[j]] < smallest:
            mask[j] = False
    if not mask.any():
        return
    n_labels = label_parts(mask, False, height, width, labels, parents)  # noqa: FBT003
    count_pixels(labels, parents, n_labels)
    for x in range(width):
        parents[labels[x]] = parents[labels[(height - 1) * width + x]] = ENDLESS
    for y in range(height):
        parents[labels[y * width]] = parents[labels[(y + 1) * width - 1]] = ENDLESS
    for j in range(len(mask)):
        if labels[j] and parents[labels[j]] < HOLE * smallest:
            mask[j] = True


@compiled()
def label_parts(mask: Array, value: bool, height: int, width: int, labels: Array, parents: Array) -> int:  # noqa: FBT001
    """Give numbers from 1 to the connected parts of pixels of a value; return one more than the last.

    A part may have several numbers, which ``parents`` joins. Only parts of True are connected at corners.
    """
    n_labels = 1
    for y in range(height):
        for x in range(width):
            j = y * width + x
            if mask[j] != value:
                labels[j] = 0
                continue
            label = labels[j - 1] if x > 0 else 0
            if y > 0:
                first, last = (j - width - (x > 0), j - width + (x < width - 1)) if value else (j - width, j - width)
                for other in range(first, last + 1):
                    if labels[other] and labels[other] != label:
                        label = labels[other] if label == 0 else join(parents, label, labels[other])
            if label == 0:  # at most at every other pixel
                label = n_labels
                parents[label] = label
                n_labels += 1
            labels[j] = label
    return n_labels


@compiled()
def count_pixels(labels: Array, parents: Array, n_labels: int) -> None:
    """Give each part one label, and put its size in the place of its parent."""
    for label in range(1, n_labels):  # in this order: a parent's label is smaller, and is a root by now
        parents[label] = parents[parents[label]]
    parents[0] = 0
    for j in range(len(labels)):
        labels[j] = parents[labels[j]]
    parents[:n_labels] = 0
    begin = 0
    for j in range(1, len(labels) + 1):  # run by run: adding 1 over and over to one place is slow
        if j == len(labels) or labels[j] != labels[begin]:
            parents[labels[begin]] += j - begin
            begin = j
