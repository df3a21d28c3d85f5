"""Connected components of masks: remove small objects, fill small holes."""

from __future__ import annotations

from .._backend import Array
from .compiling import compiled

HOLE = 10  # largest hole that is filled, in smallest objects
ENDLESS = 2**30  # size of components that touch the border


@compiled()
def root_of(parents: Array, label: int) -> int:
    """Root of a label, with path halving."""
    while parents[label] != label:
        parents[label] = parents[parents[label]]
        label = parents[label]
    return label


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
def clean_mask(mask: Array, height: int, width: int, smallest: int, labels: Array, parents: Array) -> None:
    """Remove objects of fewer than ``smallest`` pixels, then fill holes of fewer than ``HOLE`` times that, in place.

    Objects are 8-connected, holes are 4-connected and do not touch the border. ``labels`` (n_pixels,) and ``parents``
    (n_pixels // 2 + 2,) are overwritten.
    """
    n_labels = label_components(mask, True, height, width, labels, parents)  # noqa: FBT003
    count_pixels(labels, parents, n_labels)
    for j in range(len(mask)):
        if labels[j] and parents[labels[j]] < smallest:
            mask[j] = False
    if not mask.any():
        return
    n_labels = label_components(mask, False, height, width, labels, parents)  # noqa: FBT003
    count_pixels(labels, parents, n_labels)
    for x in range(width):
        parents[labels[x]] = parents[labels[(height - 1) * width + x]] = ENDLESS
    for y in range(height):
        parents[labels[y * width]] = parents[labels[(y + 1) * width - 1]] = ENDLESS
    for j in range(len(mask)):
        if labels[j] and parents[labels[j]] < HOLE * smallest:
            mask[j] = True


@compiled()
def label_components(mask: Array, value: bool, height: int, width: int, labels: Array, parents: Array) -> int:  # noqa: FBT001
    """Label connected components of pixels of a value from 1; return one more than the last label.

    ``parents`` joins the labels of one component. Components of True are 8-connected, of False 4-connected.
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
    """Give each component one label, and replace ``parents`` by the sizes of the components."""
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
