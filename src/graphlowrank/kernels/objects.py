"""Connected parts of masks."""

from __future__ import annotations

from .._backend import Array
from .compiling import compiled


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
    """Clear parts of fewer than ``smallest`` pixels, in place; pixels that touch at a corner belong together.

    ``labels`` (n_pixels,) and ``parents`` (n_pixels // 2 + 2,) are overwritten: a new part begins at most at every
    other pixel of a row.
    """
    n_labels = 1
    for y in range(height):
        for x in range(width):
            j = y * width + x
            if not mask[j]:
                labels[j] = 0
                continue
            label = labels[j - 1] if x > 0 else 0
            if y > 0:
                for other in range(j - width - (x > 0), j - width + 1 + (x < width - 1)):
                    if labels[other] and labels[other] != label:
                        label = labels[other] if label == 0 else join(parents, label, labels[other])
            if label == 0:
                label = n_labels
                parents[label] = label
                n_labels += 1
            labels[j] = label
    count_and_clear(mask, smallest, labels, parents, n_labels)


@compiled()
def count_and_clear(mask: Array, smallest: int, labels: Array, parents: Array, n_labels: int) -> None:
    """Second half of :func:`clean_mask`: sizes, for which ``parents`` are used again, and what is too small."""
    for label in range(1, n_labels):  # in this order: a parent's label is smaller, and is a root by now
        parents[label] = parents[parents[label]]
    for j in range(len(mask)):
        if labels[j]:
            labels[j] = parents[labels[j]]
    for label in range(1, n_labels):
        parents[label] = 0
    for j in range(len(mask)):
        if labels[j]:
            parents[labels[j]] += 1
    for j in range(len(mask)):
        if labels[j] and parents[labels[j]] < smallest:
            mask[j] = False
