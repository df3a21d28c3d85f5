"""Validation of the models' arguments, for callers without an estimator."""

from typing import Any

import numpy as np

from .._checks import without_mask
from .._typing import Array

SAFE_RANGE = (1e-6, 1e6)  # of the largest entry; fourth powers stay within single precision


def as_real(X: Any) -> Array:
    """Return ``X`` as a contiguous matrix of single or double precision."""
    X = np.asarray(without_mask(X))
    return np.ascontiguousarray(X, dtype=precision_of(X))


def precision_of(X: Any) -> Any:
    """Single or double; raises unless ``X``, dense or sparse, is a non-empty matrix of real numbers."""
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X must be a matrix with entries, got shape {X.shape}.")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X must hold real numbers, got {X.dtype}.")
    return X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)


def largest_entry(X: Array) -> float:
    """Largest absolute value; raises if an entry is not finite."""
    largest = float(max(X.max(), -X.min()))
    if not np.isfinite(largest):
        raise ValueError("X contains NaN or infinity.")
    return largest


def safe_unit(largest: float) -> float:
    """Return a unit in which data with this largest entry can be squared twice in single precision, 1 if possible."""
    return 1.0 if SAFE_RANGE[0] <= largest <= SAFE_RANGE[1] or largest == 0 else largest


def check_mask(mask: Any, shape: tuple[int, ...]) -> Array | None:
    """Return the mask of observed entries as a boolean array of the given shape; None for all."""
    if mask is None:
        return None
    mask = np.ascontiguousarray(without_mask(mask))
    if mask.shape != shape or mask.dtype != bool:
        raise ValueError(f"mask must hold booleans of shape {shape}, got {mask.dtype} of shape {mask.shape}.")
    if not mask.any():
        raise ValueError("mask leaves no entry of X: nothing is observed.")
    return mask


def check_laplacian(L: Any, n_samples: int) -> None:
    """Raise unless ``L`` is a square matrix of the samples."""
    if L.shape != (n_samples, n_samples):
        raise ValueError(f"L_samples must have shape {(n_samples, n_samples)}, got {L.shape}.")


def check_gamma(gamma: float) -> None:
    """Raise unless ``gamma`` is finite and >= 0."""
    if not 0 <= gamma < np.inf:
        raise ValueError(f"gamma must be a number >= 0, got {gamma}.")


def strongest_gamma(*arrays: Any, power: float = 0.5) -> float:
    """Largest gamma for ``I + gamma L`` in the precision of these arrays, L among them: 1 / eps to this power.

    The answer of a stronger graph term, constant on each component, differs from that of this one by about 1 / gamma.
    Its rounding errors are gamma eps: the rows of L sum to 0 only up to the rounding of its own precision, which may be
    single. A power of 1/2 balances both.
    """
    return float(max(np.finfo(precision_of(array)).eps for array in arrays) ** -power)
