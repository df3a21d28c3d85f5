"""Matrix Market files (.mtx, .mtx.gz), by scipy in the worker process."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np

from .contents import check_table
from .memory import check_room

FRACTIONAL_INDEX = re.compile(rb"^[ \t]*\d+(?:[ \t]+\d+)?[.eE]", re.MULTILINE)
BLOCK_BYTES = 2**24


def read_market(path: Path) -> dict[str, Any]:
    """Read a Matrix Market file: sparse if it lists entries, dense if it lists all values."""
    import scipy.io

    n_rows, n_columns, n_entries, layout, field, symmetry = scipy.io.mminfo(path)
    check_table((n_rows, n_columns), np.dtype(complex if field == "complex" else float), path)
    if symmetry != "general" and n_rows != n_columns:
        raise ValueError(f"it is {symmetry} but of shape {n_rows, n_columns}")
    check_room(8 * n_entries if layout == "array" else 24 * n_entries + 8 * n_rows, path)
    if layout == "array":
        return {"values": scipy.io.mmread(path)}
    _check_indices(path)
    matrix = scipy.io.mmread(path).tocsr()
    return {"values": {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr,
                       "shape": matrix.shape, "axis": "csr"}}  # fmt: skip


def _check_indices(path: Path) -> None:
    """Raise if a row or column index is not an integer: scipy reads ``1 1.5 1`` as another entry."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        while lines := file.readlines(BLOCK_BYTES):
            if FRACTIONAL_INDEX.search(b"".join(lines)):
                raise ValueError("an index is not an integer")
