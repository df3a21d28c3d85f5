"""Sum the conductances of walks between kept nodes into a symmetric CSR matrix."""

from __future__ import annotations

import numpy as np

from .._backend import Array
from .compiling import compiled


@compiled()
def scatter_walks(
    hits: Array,
    paths: Array,
    weights: Array,
    unit: float,
    position: Array,
    starts: Array,
    columns: Array,
    entries: Array,
) -> int:
    """Write the conductance of each edge to the rows of the two nodes that its walks hit; return the number lost.

    Parameters
    ----------
    hits, paths
        (2 m,) node hit from either end of an edge, negative for none, and resistance of the path there.
    weights, unit
        (m,) edge weights, and the unit of weight that resistances refer to.
    position
        (n_nodes,) row of a kept node.
    starts
        (n + 1,) output: first entry of each row.
    columns, entries
        (2 m,) outputs: other node and conductance, row by row, in the order of the edges. Self-loops are dropped, so
        only the first starts[n] are written.
    """
    starts[:] = 0
    lost = 0
    for edge in range(weights.shape[0]):
        a, b = hits[2 * edge], hits[2 * edge + 1]
        if a < 0 or b < 0:
            lost += 1
        elif a != b:
            starts[position[a] + 1] += 1
            starts[position[b] + 1] += 1
    for row in range(starts.shape[0] - 1):
        starts[row + 1] += starts[row]
    following = starts[:-1].copy()
    for edge in range(weights.shape[0]):
        a, b = hits[2 * edge], hits[2 * edge + 1]
        if a >= 0 and b >= 0 and a != b:
            row_a, row_b = position[a], position[b]
            conductance = unit / (unit / weights[edge] + paths[2 * edge] + paths[2 * edge + 1])
            columns[following[row_a]], entries[following[row_a]] = row_b, conductance
            columns[following[row_b]], entries[following[row_b]] = row_a, conductance
            following[row_a] += 1
            following[row_b] += 1
    return lost


@compiled()
def merge_rows(start: int, stop: int, starts: Array, columns: Array, entries: Array, lengths: Array) -> None:
    """Sum duplicate entries of rows start <= i < stop and sort them by column, in place.

    ``lengths[i]`` becomes the number of entries left, at the beginning of the row.
    """
    n = starts.shape[0] - 1
    sums, last_seen = np.empty(n), np.full(n, -1, np.int32)
    for row in range(start, stop):
        first, found = starts[row], 0
        for entry in range(first, starts[row + 1]):
            column = columns[entry]
            if last_seen[column] == row:
                sums[column] += entries[entry]
            else:
                last_seen[column], sums[column] = row, entries[entry]
                columns[first + found] = column
                found += 1
        columns[first : first + found].sort()
        for k in range(found):
            entries[first + k] = sums[columns[first + k]]
        lengths[row] = found


@compiled()
def copy_rows(
    start: int,
    stop: int,
    starts: Array,
    columns: Array,
    entries: Array,
    scale: float,
    indptr: Array,
    indices: Array,
    data: Array,
) -> None:
    """Copy these entries of rows start <= i < stop, times ``scale``, to a CSR matrix."""
    for row in range(start, stop):
        shift = starts[row] - indptr[row]
        for place in range(indptr[row], indptr[row + 1]):
            indices[place], data[place] = columns[place + shift], entries[place + shift] * scale
