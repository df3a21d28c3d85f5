"""Random walks that stop at kept nodes: the inner loop of the sparse Kron reduction."""

from __future__ import annotations

import numpy as np
from numba import uint64

from .._backend import Array
from .compiling import compiled

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S30, S27, S31, S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
TO_UNIT = 2.0**-53

TRUNCATED = -1


@compiled(inline="always")
def _mix(z):  # type: ignore[no-untyped-def]
    """Scramble 64 bits (the finaliser of splitmix64)."""
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@compiled()
def _walk_to_kept(node, kept, indptr, indices, cumulative, weights, max_steps, state):  # type: ignore[no-untyped-def]
    """Step by edge weight until a kept node; return (node or TRUNCATED, resistance of the path, state)."""
    resistance = 0.0
    for _ in range(max_steps):
        if kept[node]:
            return node, resistance, state
        state = state + GOLDEN
        uniform = float(_mix(state) >> S11) * TO_UNIT
        low, high = indptr[node], indptr[node + 1] - 1
        target = uniform * cumulative[high]
        while low < high:
            middle = (low + high) // 2
            if cumulative[middle] > target:
                high = middle
            else:
                low = middle + 1
        resistance += 1.0 / weights[low]
        node = indices[low]
    if kept[node]:
        return node, resistance, state
    return TRUNCATED, resistance, state


@compiled()
def join_kept_nodes(
    start: int,
    stop: int,
    edges: Array,
    edge_weights: Array,
    kept: Array,
    indptr: Array,
    indices: Array,
    cumulative: Array,
    weights: Array,
    max_steps: int,
    seed: int,
    repeat: int,
    ends: Array,
    conductances: Array,
) -> None:
    """For each edge of the range, walk from both ends to kept nodes and record the path's conductance.

    The random numbers of a walk are a function of (seed, repeat, edge) alone.
    """
    for edge in range(start, stop):
        state = _mix(_mix(uint64(seed) + GOLDEN * (uint64(repeat) + uint64(1))) + GOLDEN * uint64(edge))
        u, r_u, state = _walk_to_kept(edges[edge, 0], kept, indptr, indices, cumulative, weights, max_steps, state)
        v, r_v = u, 0.0
        if u != TRUNCATED:
            v, r_v, state = _walk_to_kept(edges[edge, 1], kept, indptr, indices, cumulative, weights, max_steps, state)
        if TRUNCATED in (u, v):
            ends[edge, 0] = TRUNCATED
            ends[edge, 1] = TRUNCATED
            conductances[edge] = 0.0
        else:
            ends[edge, 0] = u
            ends[edge, 1] = v
            conductances[edge] = 1.0 / (1.0 / edge_weights[edge] + r_u + r_v)
