"""Symmetric CSR graph of neighbor lists."""

from .._typing import Array
from .compiling import compiled


@compiled()
def count_incoming(start: int, stop: int, bounds: Array, neighbors: Array, counts: Array) -> None:
    """Count how often each node is listed, for nodes bounds[start] <= i < bounds[stop]."""
    low, high = bounds[start], bounds[stop]
    for row in range(neighbors.shape[0]):
        for k in range(neighbors.shape[1]):
            node = neighbors[row, k]
            if low <= node < high:
                counts[node] += 1


@compiled()
def list_incoming(start: int, stop: int, bounds: Array, neighbors: Array, filled: Array, incoming: Array) -> None:
    """List the places (row, k) that name each node, in order, from ``filled`` on; for the same nodes."""
    low, high = bounds[start], bounds[stop]
    for row in range(neighbors.shape[0]):
        for k in range(neighbors.shape[1]):
            node = neighbors[row, k]
            if low <= node < high:
                incoming[filled[node]] = row * neighbors.shape[1] + k
                filled[node] += 1


@compiled()
def count_neighbors(start: int, stop: int, neighbors: Array, starts: Array, incoming: Array, counts: Array) -> None:
    """Count the neighbors of each node start <= i < stop: those it lists, and those that list it."""
    width = neighbors.shape[1]
    for node in range(start, stop):
        count, listed = width, neighbors[node]
        for entry in range(starts[node], starts[node + 1]):
            other, mutual = incoming[entry] // width, 0
            for k in range(width):
                mutual += listed[k] == other
            count += 1 - mutual
        counts[node] = count


@compiled()
def merge_neighbors(
    start: int, stop: int, neighbors: Array, values: Array, starts: Array, incoming: Array,
    indptr: Array, indices: Array, data: Array,
) -> None:  # fmt: skip
    """Write the sorted neighbors of each node start <= i < stop, with the larger value where both list each other."""
    width = neighbors.shape[1]
    for node in range(start, stop):
        begin, end = indptr[node], indptr[node]
        for entry in range(starts[node], starts[node + 1]):  # sorted
            row, k = incoming[entry] // width, incoming[entry] % width
            indices[end], data[end] = row, values[row, k]
            end += 1
        for k in range(width):
            other, value = neighbors[node, k], values[node, k]
            place = end
            while place > begin and indices[place - 1] > other:
                place -= 1
            if place > begin and indices[place - 1] == other:
                data[place - 1] = max(data[place - 1], value)
                continue
            for later in range(end, place, -1):
                indices[later], data[later] = indices[later - 1], data[later - 1]
            indices[place], data[place] = other, value
            end += 1
