"""Checks of rows that are read block by block: those of :mod:`graphlowrank.estimators` for data in memory."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import check_unit, largest_entry
from .._typing import Array
from ..linalg.blocks import map_row_blocks


@dataclass(frozen=True)
class Contents:
    """What :func:`check_block` found in rows."""

    largest: float
    observed: Array  # (p,) booleans: features with a value
    has_missing: bool


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Type that numbers are computed in: that of the data if it is a float of 32 or 64 bits."""
    return np.dtype(dtype if dtype in (np.float32, np.float64) else np.float64)


def check_block(block: Any, name: str, start: int, shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
    """Return a block of rows as floats; ValueError if it is of another shape, or has infinite entries or empty rows."""
    found = np.asarray(block)
    if found.shape != shape:
        raise ValueError(f"{name} have the shape {found.shape}, but should have {shape}.")
    if found.dtype.kind not in "buif":
        raise ValueError(f"{name} hold values of type {found.dtype}, which are no real numbers.")
    with np.errstate(over="ignore"):
        found = np.ascontiguousarray(found, dtype=dtype)
    for kind, bad in (("is infinite", np.isinf(found)), ("has no value", None)):
        rows = np.isnan(found).all(axis=1) if bad is None else bad.any(axis=1)
        if rows.any():
            raise ValueError(
                f"{name}: row {start + int(rows.argmax())} {kind if bad is None else 'has an infinite value'}."
            )
    return found


def contents_of(rows: Array) -> Contents:
    """Count what is checked for all rows together."""
    missing = np.isnan(rows)
    return Contents(max(map_row_blocks(largest_entry, rows)), np.asarray(~missing.all(axis=0)), bool(missing.any()))


def check_contents(found: list[Contents], dtype: np.dtype[Any]) -> bool:
    """Raise ValueError if a feature has no value, or values are out of range; return whether some are missing."""
    check_unit(max(one.largest for one in found), dtype)
    empty = np.flatnonzero(~np.any([one.observed for one in found], axis=0))
    if len(empty):
        raise ValueError(f"feature {empty[0]} has no observed value in any sample; remove it.")
    return any(one.has_missing for one in found)
