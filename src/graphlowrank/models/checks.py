"""What the models ask of their data, for those who call them without an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backend import Array


def as_real(X: Any) -> Array:
    """``X`` as a contiguous matrix of single or double precision, or an error that says what it is instead."""
    X = np.asarray(X)
    if X.ndim != 2 or X.size == 0:
        raise ValueError(f"X must be a matrix with entries, got shape {X.shape}.")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X must hold real numbers, got {X.dtype}.")
    return np.ascontiguousarray(X, dtype=X.dtype if X.dtype in (np.float32, np.float64) else np.float64)


def largest_entry(X: Array) -> float:
    """Largest modulus, or an error if an entry is not finite."""
    largest = float(max(X.max(), -X.min()))
    if not np.isfinite(largest):
        raise ValueError("X contains NaN or infinity.")
    return largest


def check_mask(mask: Any, shape: tuple[int, ...]) -> Array | None:
    """Mask of observed entries as an array of booleans of the given shape; None for all."""
    if mask is None:
        return None
    mask = np.ascontiguousarray(mask)
    if mask.shape != shape or mask.dtype != bool:
        raise ValueError(f"mask must hold booleans of shape {shape}, got {mask.dtype} of shape {mask.shape}.")
    if not mask.any():
        raise ValueError("mask leaves no entry of X: nothing is observed.")
    return mask
