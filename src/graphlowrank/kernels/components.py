"""Breadth-first search: connected components, and an order of the nodes that keeps neighbors close."""

import numpy as np

from .._typing import Array
from .compiling import compiled

LONG = 64  # neighbors; fewer are sorted by insertion


@compiled()
def breadth_first(indptr: Array, indices: Array, labels: Array, order: Array) -> None:
    """Search a symmetric CSR matrix: write the component of each node, from 0, and the nodes in the order reached."""
    labels[:] = -1
    component, first, last = 0, 0, 0
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
        first, degree = new_indptr[i], new_indptr[i + 1] - new_indptr[i]
        if degree > LONG:
            entries = slice(indptr[order[i]], indptr[order[i]] + degree)
            columns, values = position[indices[entries]], data[entries]
            by_column = np.argsort(columns)
            new_indices[first : first + degree] = columns[by_column]
            new_data[first : first + degree] = values[by_column]
            continue
        for k in range(degree):
            entry = indptr[order[i]] + k
            column, value = position[indices[entry]], data[entry]
            place = first + k
            while place > first and new_indices[place - 1] > column:
                new_indices[place], new_data[place] = new_indices[place - 1], new_data[place - 1]
                place -= 1
            new_indices[place], new_data[place] = column, value
