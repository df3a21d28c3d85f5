"""Which array of a file is the table, and whether it can be one. Loads little: the worker process imports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._file_errors import invalid_file

USUAL_NAMES = ("X", "data", "fea", "values")  # in order of preference


class Entry(NamedTuple):
    """An array of a file that holds several; dtype is None if it does not hold numbers."""

    shape: tuple[int, ...]
    dtype: np.dtype | None


def choose(entries: Mapping[str, Entry], key: str | None, path: Path) -> str:
    """Return the name of the table: ``key``, the only array with two axes, or one of a usual name."""
    listed = ", ".join(f"{name} {entry.shape}" for name, entry in list(entries.items())[:20]) or "nothing"
    if key is not None:
        if key not in entries:
            raise invalid_file(path, f"holds no {key!r}; it holds {listed}.")
        return key
    tables = [
        name for name, entry in entries.items() if len(entry.shape) == 2 and entry.dtype and entry.dtype.kind in "buif"
    ]
    tables = [name for name in tables if min(entries[name].shape) > 1] or tables  # Matlab's vectors have two axes, too
    if not tables:
        raise invalid_file(path, f"holds no table of numbers with two axes; it holds {listed}.")
    usual = [name for name in USUAL_NAMES if name in tables]
    if len(tables) > 1 and not usual:
        raise invalid_file(path, f"holds several tables: {', '.join(tables[:20])}; choose one by key.")
    return tables[0] if len(tables) == 1 else usual[0]


def check_table(shape: Sequence[int], dtype: np.dtype | None, path: Path) -> None:
    """Raise ValueError unless an array of this shape and type is a table of numbers that is not empty."""
    if dtype is None or dtype.kind not in "buif":
        kinds = {"c": "complex numbers; save their real parts or moduli", "O": "Python objects, which are not read"}
        found = kinds.get(dtype.kind if dtype is not None else "", "text or records; a table is of numbers")
        raise invalid_file(path, f"holds {found}.")
    if len(shape) != 2:
        raise invalid_file(path, f"holds an array of shape {tuple(shape)}; a table has two axes, samples and features.")
    if min(shape) < 1:
        raise invalid_file(path, f"has no {'rows' if shape[0] < 1 else 'columns'}: its shape is {tuple(shape)}.")


def number_type(dtype: np.dtype) -> np.dtype | None:
    """Return the type if it is one of numbers, None for text and records."""
    return dtype if dtype.kind in "buifc" else None
