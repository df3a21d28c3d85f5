"""Random numbers that are a function of a counter, so that they do not depend on threads (splitmix64)."""

import numpy as np
from numba import uint64

from .compiling import compiled

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # odd, 2^64 / golden ratio: the step of the counter
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S30, S27, S31, S32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)


@compiled(inline="always")
def mix(z):  # type: ignore[no-untyped-def]
    """Scramble 64 bits (the finalizer of splitmix64)."""
    z = (z ^ (z >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@compiled(inline="always")
def first_state(seed, repeat, stream):  # type: ignore[no-untyped-def]
    """State of the generator of one of many streams: a function of (seed, repeat, stream) alone."""
    return mix(mix(uint64(seed) + GOLDEN * (uint64(repeat) + uint64(1))) + GOLDEN * uint64(stream))
