"""Breadth-first search: connected components, and an order of the nodes that keeps neighbors close."""

from .._typing import Array
from .compiling import compiled

GAP = 3  # ratio of the gaps of Shell's method


@compiled()
def breadth_first(indptr: Array, indices: Array, labels: Array, order: Array) -> None:
    """Search a symmetric CSR matrix: write the component of each node, from 0, and the nodes in the order reached."""
    component, first, last = 0, 0, 0
    for node in range(labels.shape[0]):
        labels[node] = -1
    for seed in range(labels.shape[0]):
        if labels[seed] >= 0:
            continue
        labels[seed], order[last] = component, seed
        last += 1
        while first < last:
            node = order[first]
            first += 1
            for entry in range(indptr[node], indptr[node + 1]):
                neighbor = indices[entry]
                if labels[neighbor] < 0:
                    labels[neighbor] = component
                    order[last] = neighbor
                    last += 1
        component += 1


@compiled()
def permute_rows(
    start: int, stop: int, order: Array, position: Array, matrix: tuple[Array, ...], permuted: tuple[Array, ...]
) -> None:
    """Fill rows start <= i < stop of the CSR matrix ``A[order][:, order]``, sorted by column."""
    (indptr, indices, data), (new_indptr, new_indices, new_data) = matrix, permuted
    for i in range(start, stop):
        first, last = new_indptr[i], new_indptr[i + 1]
        shift = indptr[order[i]] - first
        for place in range(first, last):
            new_indices[place], new_data[place] = position[indices[place + shift]], data[place + shift]
        gap = 1
        while GAP * GAP * gap < last - first:  # short rows are sorted by insertion, long ones by Shell's method
            gap = GAP * gap + 1
        while gap > 0:
            for entry in range(first + gap, last):
                column, value = new_indices[entry], new_data[entry]
                place = entry
                while place >= first + gap and new_indices[place - gap] > column:
                    new_indices[place], new_data[place] = new_indices[place - gap], new_data[place - gap]
                    place -= gap
                new_indices[place], new_data[place] = column, value
            gap //= GAP
