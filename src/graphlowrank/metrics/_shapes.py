"""The check that every comparison of two arrays starts with."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backend import Array


def same_shape(truth: Any, other: Any) -> tuple[Array, Array]:
    """Return both as arrays of one shape that hold something, or say that they are not."""
    truth, other = np.asarray(truth), np.asarray(other)
    if truth.shape != other.shape:
        raise ValueError(f"shapes differ: {truth.shape} and {other.shape}.")
    if truth.size == 0:
        raise ValueError(f"nothing to compare: both have shape {truth.shape}.")
    return truth, other
