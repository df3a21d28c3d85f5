"""Matrix Market files (.mtx, .mtx.gz), by scipy in the worker process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .contents import check_table
from .memory import check_room


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
    matrix = scipy.io.mmread(path).tocsr()
    return {"values": {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr,
                       "shape": matrix.shape, "axis": "csr"}}  # fmt: skip
