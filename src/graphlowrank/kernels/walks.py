"""Random walks that stop at kept nodes: the inner loop of the sparse Kron reduction.

Steps are drawn from alias tables (Walker 1977, Vose 1991): one random number and one table entry for any degree. A
thread moves several walkers in turn, which hides the latency of memory.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from .._backend import Array
from .compiling import compiled

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S30, S27, S31, S32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)
LOW_32 = np.uint64(0xFFFFFFFF)
TWO_32, LARGEST_32 = 4294967296.0, 4294967295.0

TRUNCATED = -1
LANES = 16  # walkers moved in turn; 8 hide the latency of the L3 cache, 16 that of memory

STEP = np.dtype(
    [
        ("threshold", np.uint32),  # take `own` if the random 32 bits are below, else `other`
        ("own", np.int32),
        ("other", np.int32),
        ("own_resistance", np.float32),
        ("other_resistance", np.float32),
    ]
)
"""Slot of an alias table: two neighbors and the resistances of the edges to them, 20 bytes."""


@compiled()
def alias_tables(
    start: int, stop: int, indptr: Array, indices: Array, weights: Array, unit: float, slots: Array
) -> None:
    """Fill the slots of nodes start <= i < stop, one per edge: steps are proportional to edge weights (Vose).

    Probabilities are multiples of 2^-32 / degree; edges below that share of their node are never walked. Resistances
    are ``unit / weight``, which keeps them in the range of single precision.
    """
    largest = 0
    for node in range(start, stop):
        largest = max(largest, indptr[node + 1] - indptr[node])
    share, small, large = np.empty(largest), np.empty(largest, np.int64), np.empty(largest, np.int64)
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
def count_upper(start: int, stop: int, indptr: Array, indices: Array, counts: Array) -> None:
    """``counts[i + 1]``: number of entries of row i of a CSR matrix right of the diagonal, start <= i < stop."""
    for i in range(start, stop):
        count = 0
        for entry in range(indptr[i], indptr[i + 1]):
            count += indices[entry] > i
        counts[i + 1] = count


@compiled()
def copy_upper(
    start: int, stop: int, indptr: Array, indices: Array, data: Array, starts: Array, edges: Array, values: Array
) -> None:
    """Write these entries of rows start <= i < stop, as pairs of row and column, to ``starts[i]`` and after."""
    for i in range(start, stop):
        place = starts[i]
        for entry in range(indptr[i], indptr[i + 1]):
            if indices[entry] > i:
                edges[place, 0], edges[place, 1], values[place] = i, indices[entry], data[entry]
                place += 1


@compiled(inline="always")
def _mix(z):  # type: ignore[no-untyped-def]
    """Scramble 64 bits (the finalizer of splitmix64)."""
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@compiled(inline="always")
def _first_state(seed, repeat, walker):  # type: ignore[no-untyped-def]
    """State of a walker's random number generator: a function of (seed, repeat, walker) alone."""
    return _mix(_mix(uint64(seed) + GOLDEN * (uint64(repeat) + uint64(1))) + GOLDEN * uint64(walker))


@compiled()
def walk_to_kept(
    start: int,
    stop: int,
    nodes: Array,
    tables: Array,
    slots: Array,
    max_steps: int,
    seed: int,
    repeat: int,
    hits: Array,
    resistances: Array,
) -> None:
    """Walk from ``nodes[w]`` to a kept node for each walker start <= w < stop.

    Parameters
    ----------
    start, stop
        Range of walkers.
    nodes
        (n_walkers,) start nodes.
    tables
        (n_nodes, 2) first slot and number of slots of each node; 0 slots for a kept node.
    slots
        Alias tables, see :func:`alias_tables`.
    max_steps, seed, repeat
        Steps allowed, and the seed of the random numbers.
    hits, resistances
        (n_walkers,) outputs: the node hit, or TRUNCATED, and the resistance of the path; ``hits`` may be ``nodes``.
    """
    walker, node = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    n_steps, path = np.empty(LANES, np.int64), np.empty(LANES, np.float64)
    state, chosen = np.empty(LANES, np.uint64), np.empty(LANES, np.int64)
    n_lanes, following = 0, start
    while n_lanes > 0 or following < stop:
        while n_lanes < LANES and following < stop:  # fill free lanes
            walker[n_lanes], node[n_lanes], n_steps[n_lanes], path[n_lanes] = following, nodes[following], 0, 0.0
            state[n_lanes] = _first_state(seed, repeat, following)
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
            bits = _mix(state[lane])
            chosen[lane] = first + np.int64(((bits >> S32) * uint64(degree)) >> S32)
            lane += 1
        for lane in range(n_lanes):
            slot = slots[chosen[lane]]
            if (_mix(state[lane]) & LOW_32) < slot.threshold:
                node[lane] = slot.own
                path[lane] += slot.own_resistance
            else:
                node[lane] = slot.other
                path[lane] += slot.other_resistance
            n_steps[lane] += 1
