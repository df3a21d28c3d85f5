"""Sum conductances between the nodes that walks have hit into a symmetric CSR matrix."""

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
    """Write each edge's conductance to the rows of both ends that its walks have hit; return the walks lost.

    Parameters
    ----------
    hits, paths
        (2 m,) node hit from either end of an edge, negative for none, and resistance of the path there.
    weights, unit
        (m,) of the edges, and the unit of weight that resistances are given in.
    position
        (n_nodes,) row of a kept node.
    starts
        (n + 1,) first entry of each row on return.
    columns, entries
        (2 m,) other end and conductance, row after row, in the order of the edges. A walk back to where it came from
        is a self-loop, and no edge; so only the first starts[n] are written.
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
    """Add up entries of the same column in rows start <= i < stop and sort them by column, in place.

    ``lengths[i]`` becomes the number of entries left; they stand at the beginning of the row's place.
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
    """Copy the beginnings of rows start <= i < stop to their places in a CSR matrix, times ``scale``."""
    for row in range(start, stop):
        shift = starts[row] - indptr[row]
        for place in range(indptr[row], indptr[row + 1]):
            indices[place], data[place] = columns[place + shift], entries[place + shift] * scale
