"""Matlab's .mat files and Matrix Market files (.mtx), by scipy.io; version 7.3 of .mat is HDF5. Read in the worker."""

import gzip
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._files import writing
from .contents import Entry, check_table, choose, is_dataset, number_type
from .memory import check_room

if TYPE_CHECKING:
    from .table import Rows

MAX_BYTES = 2**31  # of one variable in version 5
_CLASSES = {"double": "f8", "single": "f4", "logical": "?", "sparse": "f8"} | {
    f"{sign}int{bits}": f"{sign or 'i'}{bits // 8}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_HDF5 = b"\x89HDF\r\n\x1a\n"
_FRACTIONAL_INDEX = re.compile(rb"^[ \t]*\d+(?:[ \t]+\d+)?[.eE]", re.MULTILINE)


def read_matlab(path: Path, key: str | None = None) -> dict[str, Any]:
    """Read a .mat file of any version."""
    with path.open("rb") as file:
        start = file.read(520)
    return _read_hdf5(path, key) if _HDF5 in (start[:8], start[512:]) else _read_scipy(path, key)


def _read_scipy(path: Path, key: str | None) -> dict[str, Any]:
    import scipy.io
    import scipy.sparse as sp

    found = {name: (shape, kind) for name, shape, kind in scipy.io.whosmat(path)}
    types = {name: np.dtype(_CLASSES[kind]) if kind in _CLASSES else None for name, (_, kind) in found.items()}
    key = choose({name: Entry(shape, types[name]) for name, (shape, _) in found.items()}, key, path)
    (shape, kind), dtype = found[key], types[key]
    check_table(shape, dtype, path)
    if kind not in {"sparse", "logical"}:  # a sparse matrix of logicals has the class "logical", too
        check_room(math.prod(shape) * np.dtype(dtype).itemsize, path)
    names = {name: length for name, length in zip(("sample_names", "feature_names"), shape, strict=True)
             if name in found and found[name][1] == "cell" and math.prod(found[name][0]) == length}  # fmt: skip
    variables = scipy.io.loadmat(path, variable_names=[key, *names])
    values: Any = variables[key]
    if sp.issparse(values):
        values = values.tocsc()  # those of version 4 are lists of coordinates
        # Matlab stores integers in the smallest type that holds them, but all of its sparse numbers are double.
        values = values if values.dtype.kind in "fc" else values.astype(float)
    elif values.dtype.kind in "buif":
        values = values.astype(dtype, copy=False)
    return {"values": values, **{name: _strings(variables[name]) for name in names}}


def _strings(cells: Any) -> list[str] | None:
    found = [cell for cell in cells.ravel() if getattr(cell, "dtype", None) is not None and cell.dtype.kind == "U"]
    return ["".join(cell.ravel().tolist()) for cell in found] if len(found) == cells.size else None


def _read_hdf5(path: Path, key: str | None) -> dict[str, Any]:
    """Read version 7.3, where every array is stored transposed."""
    from .hdf5 import as_array, open_items

    items = open_items(path)
    names = [name for name in items if name and "/" not in name and not name.startswith("#")]  # #refs#: Matlab's own
    entries = {name: _entry(items, name) for name in names}
    key = choose(entries, key, path)
    check_table(*entries[key], path)
    if is_dataset(items[key]):
        return {"values": as_array(items[key], path), "transposed": True}
    data, rows, ends = (as_array(items[f"{key}/{part}"], path) for part in ("data", "ir", "jc"))
    return {"values": {"data": data, "indices": rows, "indptr": ends, "shape": entries[key].shape, "axis": "csc"}}


def _entry(items: dict[str, Any], name: str) -> Entry:
    attributes = items[name].attrs
    if "MATLAB_sparse" in attributes and all(f"{name}/{part}" in items for part in ("data", "ir", "jc")):
        shape = (int(attributes["MATLAB_sparse"]), items[f"{name}/jc"].size - 1)
        return Entry(shape, number_type(items[f"{name}/data"].dtype))
    if not is_dataset(items[name]) or attributes.get("MATLAB_class") in {b"char", b"cell", b"struct"}:
        return Entry((getattr(items[name], "shape", None) or ())[::-1], None)
    return Entry((items[name].shape or ())[::-1], number_type(items[name].dtype))


def write_matlab(path: Path, rows: "Rows", *, max_bytes: int = MAX_BYTES) -> None:
    """Write a matrix as "X" in version 5, with its names as cells."""
    from scipy.io import savemat

    size = math.prod(rows.shape) * rows.dtype.itemsize
    if size >= max_bytes or max(rows.shape) >= 2**31:
        raise ValueError(f"{path} cannot hold 2 GiB or more, as .mat files of version 5; write an .h5 file.")
    with writing(path) as file:
        cells = {name: np.array(names, dtype=object) for name, names in rows.names.items()}
        savemat(file, {**cells, "X": rows.fill(np.empty(rows.shape, rows.dtype, order="F"))})


# --- Matrix Market ---


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
    return {"values": scipy.io.mmread(path).tocsr()}


def _check_indices(path: Path) -> None:
    """Raise if a row or column index is not an integer: scipy reads ``1 1.5 1`` as another entry."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        while lines := file.readlines(2**24):
            if _FRACTIONAL_INDEX.search(b"".join(lines)):
                raise ValueError("an index is not an integer")
