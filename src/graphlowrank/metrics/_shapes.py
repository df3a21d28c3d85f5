"""Validation of pairs of arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._backend import Array


def same_shape(truth: ArrayLike, other: ArrayLike) -> tuple[Array, Array]:
    """Return both as arrays; ValueError unless they have the same, non-empty shape."""
    a, b = np.asarray(truth), np.asarray(other)
    if a.shape != b.shape:
        raise ValueError(f"shapes differ: {a.shape} and {b.shape}.")
    if a.size == 0:
        raise ValueError(f"nothing to compare: both have shape {a.shape}.")
    return a, b
