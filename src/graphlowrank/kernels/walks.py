"""Random walks that stop at kept nodes, and the sum of their conductances: the loops of the sparse Kron reduction.

Steps are drawn from alias tables (Walker 1977, Vose 1991): one random number and one table entry for any degree. A
thread moves several walkers in turn, which hides the latency of memory.
"""

import numpy as np
from numba import uint64

from .._typing import Array
from .compiling import compiled
from .random_bits import GOLDEN, S32, first_state, mix

LOW_32 = np.uint64(0xFFFFFFFF)
TWO_32, LARGEST_32 = 4294967296.0, 4294967295.0

TRUNCATED = -1
LANES = 16  # walkers moved in turn; 8 hide the latency of the L3 cache, 16 that of memory

# Slot of an alias table, 20 bytes: two neighbors and the resistances of the edges to them. A walk goes to `own` if 32
# random bits are below the threshold, else to `other`.
STEP = np.dtype(
    {
        "names": ["threshold", "own", "other", "own_resistance", "other_resistance"],
        "formats": [np.uint32, np.int32, np.int32, np.float32, np.float32],
    }
)


def alias_tables(
    start: int, stop: int, indptr: Array, indices: Array, weights: Array, unit: float, slots: Array
) -> None:
    """Fill the slots of nodes start <= i < stop, one per edge: steps are proportional to edge weights (Vose).

    Probabilities are multiples of 2^-32 / degree; edges below that share of their node are never walked. Resistances
    are ``unit / weight``, which keeps them in the range of single precision.
    """
    largest = int(np.diff(indptr[start : stop + 1]).max(initial=0))
    scratch = np.empty(largest), np.empty(largest, np.int64), np.empty(largest, np.int64)
    _alias_tables(start, stop, indptr, indices, weights, unit, slots, *scratch)


@compiled()
def _alias_tables(
    start: int, stop: int, indptr: Array, indices: Array, weights: Array, unit: float, slots: Array,
    share: Array, small: Array, large: Array,
) -> None:  # fmt: skip
    for node in range(start, stop):
        first, degree = indptr[node], indptr[node + 1] - indptr[node]
        total = 0.0
        for k in range(degree):
            total += weights[first + k]
        n_small, n_large = 0, 0
        for k in range(degree):
            slot = slots[first + k]
            slot.own = slot.other = indices[first + k]
            slot.own_resistance = slot.other_resistance = unit / weights[first + k]
            slot.threshold = np.uint32(LARGEST_32)
            share[k] = weights[first + k] * (degree / total)
            if share[k] < 1:
                small[n_small] = k
                n_small += 1
            else:
                large[n_large] = k
                n_large += 1
        while n_small > 0 and n_large > 0:
            n_small -= 1
            under, over = small[n_small], large[n_large - 1]
            slot, donor = slots[first + under], slots[first + over]
            slot.threshold = np.uint32(min(share[under] * TWO_32, LARGEST_32))
            slot.other, slot.other_resistance = donor.own, donor.own_resistance
            share[over] -= 1 - share[under]
            if share[over] < 1:
                n_large -= 1
                small[n_small] = over
                n_small += 1


@compiled()
def walk_to_kept(
    start: int,
    stop: int,
    nodes: Array,  # (n_walkers,) start nodes
    tables: Array,  # (n_nodes, 2) first slot and number of slots of each node; 0 slots for a kept node
    slots: Array,  # see alias_tables
    max_steps: int,
    seed: int,
    repeat: int,
    hits: Array,  # (n_walkers,) output: the node hit, or TRUNCATED; may be `nodes`
    resistances: Array,  # (n_walkers,) output: resistance of the path
) -> None:
    """Walk from ``nodes[w]`` to a kept node for each walker start <= w < stop."""
    walker, node = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    n_steps, path = np.empty(LANES, np.int64), np.empty(LANES, np.float64)
    state, chosen = np.empty(LANES, np.uint64), np.empty(LANES, np.int64)
    n_lanes, following = 0, start
    while n_lanes > 0 or following < stop:
        while n_lanes < LANES and following < stop:  # fill free lanes
            walker[n_lanes], node[n_lanes], n_steps[n_lanes], path[n_lanes] = following, nodes[following], 0, 0.0
            state[n_lanes] = first_state(seed, repeat, following)
            n_lanes += 1
            following += 1
        # Two short loops instead of a long one: the processor then loads the memory of more lanes at a time.
        lane = 0
        while lane < n_lanes:
            first, degree = tables[node[lane], 0], tables[node[lane], 1]
            if degree == 0 or n_steps[lane] == max_steps:
                hits[walker[lane]] = node[lane] if degree == 0 else TRUNCATED
                resistances[walker[lane]] = path[lane]
                n_lanes -= 1  # the last lane takes this place
                walker[lane], node[lane], n_steps[lane] = walker[n_lanes], node[n_lanes], n_steps[n_lanes]
                path[lane], state[lane] = path[n_lanes], state[n_lanes]
                continue
            state[lane] += GOLDEN
            bits = mix(state[lane])
            chosen[lane] = first + np.int64(((bits >> S32) * uint64(degree)) >> S32)
            lane += 1
        for lane in range(n_lanes):
            slot = slots[chosen[lane]]
            if (mix(state[lane]) & LOW_32) < slot.threshold:
                node[lane] = slot.own
                path[lane] += slot.own_resistance
            else:
                node[lane] = slot.other
                path[lane] += slot.other_resistance
            n_steps[lane] += 1


def scatter_walks(
    hits: Array,  # (2 m,) node hit from either end of an edge; negative for none
    paths: Array,  # (2 m,) resistance of the path there
    weights: Array,  # (m,) edge weights
    unit: float,  # of weight, which resistances refer to
    position: Array,  # (n_nodes,) row of a kept node
    starts: Array,  # (n + 1,) output: first entry of each row
    columns: Array,  # (2 m,) output: other node, row by row; self-loops are dropped, so only starts[n] are written
    entries: Array,  # (2 m,) output: conductance, in the order of the edges
) -> int:
    """Write the conductance of each edge to the rows of the two nodes that its walks hit; return the number lost."""
    starts.fill(0)
    return int(_scatter(hits, paths, weights, unit, position, starts, np.empty_like(starts), columns, entries))


@compiled()
def _scatter(
    hits: Array, paths: Array, weights: Array, unit: float, position: Array, starts: Array, following: Array,
    columns: Array, entries: Array,
) -> int:  # fmt: skip
    lost = 0
    for edge in range(weights.shape[0]):
        a, b = hits[2 * edge], hits[2 * edge + 1]
        if a < 0 or b < 0:
            lost += 1
        elif a != b:
            starts[position[a] + 1] += 1
            starts[position[b] + 1] += 1
    for row in range(starts.shape[0] - 1):
        following[row] = starts[row]
        starts[row + 1] += starts[row]
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


def merge_rows(start: int, stop: int, starts: Array, columns: Array, entries: Array, lengths: Array) -> None:
    """Sum duplicate entries of rows start <= i < stop and sort them by column, in place; ``lengths[i]`` are left."""
    n = len(starts) - 1
    _merge(start, stop, starts, columns, entries, lengths, np.empty(n), np.full(n, -1, np.int32))


@compiled(inline="always")
def _sort_columns(first, last, columns):  # type: ignore[no-untyped-def]
    """Sort ``columns[first:last]`` in place (Shell's method: numba takes a second to compile numpy's)."""
    gap = 1
    while 4 * gap < last - first:
        gap = 3 * gap + 1
    while gap > 0:
        for entry in range(first + gap, last):
            column = columns[entry]
            place = entry
            while place >= first + gap and columns[place - gap] > column:
                columns[place] = columns[place - gap]
                place -= gap
            columns[place] = column
        gap //= 3


@compiled()
def _merge(
    start: int, stop: int, starts: Array, columns: Array, entries: Array, lengths: Array, sums: Array, last_seen: Array
) -> None:
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
        _sort_columns(first, first + found, columns)
        for place in range(first, first + found):
            entries[place] = sums[columns[place]]
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
