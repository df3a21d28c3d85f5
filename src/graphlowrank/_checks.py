"""Checks of numbers, and of records that may come from a file: compiled loops trust their shapes and indices."""

import math
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
INDICES = (np.dtype(np.int32), np.dtype(np.int64))
# Between these the largest entry of the data may be: beyond, sums of squares overflow or vanish whatever the unit.
UNITS = {np.dtype(np.float32): (1e-36, 1e36), np.dtype(np.float64): (1e-200, 1e152)}


def without_mask(X: Any) -> Any:
    """Return ``X``, a masked array with NaN for its masked entries: libraries would read what is stored there."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return X.data
    return np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)


def is_number(value: Any) -> bool:
    """Whether a value is a finite real number, and no boolean."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False


def is_count(value: Any) -> bool:
    """Whether a value is an integer of at least 1, and no boolean."""
    return not isinstance(value, bool) and isinstance(value, (int, np.integer)) and bool(value >= 1)


def check_floats(
    value: Any, name: str, shape: tuple[int, ...], *, least: float = -np.inf, most: float = np.inf, finite: bool = True
) -> None:
    """Raise ValueError unless ``value`` is an array of float32 or float64, of this shape and within these limits."""
    if not isinstance(value, np.ndarray) or value.dtype not in FLOATS:
        raise ValueError(f"{name} must be an array of float32 or float64.")
    if value.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {value.shape}.")
    check_range(value, name, least=least, most=most, finite=finite)


def check_range(values: Any, name: str, *, least: float = -np.inf, most: float = np.inf, finite: bool = True) -> None:
    """Raise ValueError unless all entries of an array are finite and within these limits, 0 among them."""
    low, high = float(values.min(initial=0)), float(values.max(initial=0))  # NaN if there is any
    if finite and not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError(f"{name} must not have NaN or infinite entries.")
    if low < least or high > most:
        raise ValueError(f"{name} must be between {least:g} and {most:g}, got {low:g} to {high:g}.")


def largest_entry(values: Any) -> float:
    """Return the largest absolute value, apart from NaN."""
    return float(max(np.fmax.reduce(values, axis=None, initial=0), -np.fmin.reduce(values, axis=None, initial=0)))


def check_unit(largest: float, dtype: Any, *, may_be_small: bool = False) -> None:
    """Raise ValueError if the largest entry of float data is too large, or too small, for squares."""
    least, most = UNITS[dtype]
    if largest > most or 0 < largest < least * (not may_be_small):
        raise ValueError(f"the largest absolute value of X is {largest:.2g} in {dtype}: divide X by it.")


def check_csr(value: Any, name: str, *, least: float = -np.inf) -> None:
    """Raise ValueError unless ``value`` is a csr_array of finite floats from ``least`` on, with indices in range."""
    if not isinstance(value, sp.csr_array) or value.ndim != 2 or value.dtype not in FLOATS:
        held = f"{type(value).__name__} of {getattr(value, 'dtype', 'no numbers')}"
        raise ValueError(f"{name} must be a csr_array of float32 or float64, got {held}.")
    check_compressed(value, name)
    check_range(value.data, name, least=least)


def check_compressed(matrix: Any, name: str) -> None:
    """Raise ValueError unless the parts of a CSR or CSC matrix fit together: compiled loops do not check its indices.

    The method ``check_format`` of scipy misses row pointers whose differences overflow, and all if the last one is 0.
    """
    lines, width = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
    starts, indices = matrix.indptr, matrix.indices
    one_dimensional = starts.ndim == indices.ndim == matrix.data.ndim == 1
    if not one_dimensional or starts.dtype not in INDICES or indices.dtype != starts.dtype:
        raise ValueError(f"{name} must have vectors of indices and row pointers of the same type, int32 or int64.")
    if len(starts) != lines + 1 or starts[0] != 0 or np.any(starts[1:] < starts[:-1]):
        raise ValueError(f"{name} must have {lines + 1} row pointers in increasing order.")
    if not starts[-1] == len(indices) == len(matrix.data):
        raise ValueError(f"{name} must have as many indices and entries as its last row pointer says.")
    if len(indices) and (indices.min() < 0 or indices.max() >= width):
        raise ValueError(f"{name} must have indices from 0 to {width - 1}.")


def check_permutation(value: Any, name: str, n: int) -> None:
    """Raise ValueError unless ``value`` is an array of each of the numbers from 0 to n - 1, once."""
    fits = isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.shape == (n,)
    if not fits or value.min() < 0 or value.max() >= n or not np.bincount(value, minlength=n).all():
        raise ValueError(f"{name} must be a permutation of the numbers from 0 to {n - 1}.")
