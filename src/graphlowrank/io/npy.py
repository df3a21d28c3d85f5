"""numpy's .npy and .npz files, never by pickle."""

import math
import zipfile
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy_format

from .._files import invalid_file, reading, writing
from .._typing import Array
from .contents import Entry, check_table, choose
from .memory import check_room
from .table import Rows, Table, compressed, table_type

_SPARSE_PARTS = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col")}


def read_npy(path: Path) -> Table:
    """Map an .npy file: values are read from the disk when they are used."""
    with reading(path):
        return Table(npy_format.open_memmap(path, mode="r"))


def read_npz(path: Path, key: str | None = None) -> Table:
    """Read an .npz file: a dense array, or a sparse matrix of scipy.sparse.save_npz."""
    with reading(path), zipfile.ZipFile(path) as archive:
        file = _Archive(path, archive, {})
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as member:
                    file.headers[name.removesuffix(".npy")] = _read_header(member)
        if {"format", "shape", "data"} <= set(file.headers) and key is None:
            return Table(_read_sparse(file))
        key = choose(file.headers, key, path)
        check_table(*file.headers[key], path)
        return Table(file.array(key), file.names("sample_names"), file.names("feature_names"))


class _Archive(NamedTuple):
    path: Path
    archive: zipfile.ZipFile
    headers: dict[str, Entry]

    def array(self, name: str) -> Array:
        if name not in self.headers:
            raise ValueError(f"it holds no {name}")
        entry = self.headers[name]
        if entry.dtype is None or entry.dtype.hasobject:
            raise invalid_file(self.path, "holds Python objects, which are not read.")
        check_room(math.prod(entry.shape) * entry.dtype.itemsize, self.path)
        with self.archive.open(f"{name}.npy") as member:
            array = npy_format.read_array(member, allow_pickle=False)
            if member.read(1):  # reading to the end also makes zipfile check the CRC
                raise ValueError(f"{name} has more bytes than its header claims")
        return array

    def names(self, name: str) -> tuple[str, ...] | None:
        entry = self.headers.get(name, Entry((), None))
        is_list = entry.dtype is not None and entry.dtype.kind == "U" and len(entry.shape) == 1
        return tuple(self.array(name).tolist()) if is_list else None


def _read_header(file: IO[bytes]) -> Entry:
    # Later versions of the format are for records, and allow headers of any length.
    if npy_format.read_magic(file) != (1, 0):
        raise ValueError("its array is not in version 1.0 of numpy's format, which is that of numbers")
    shape, _, dtype = npy_format.read_array_header_1_0(file)
    if min(shape, default=0) < 0:
        raise ValueError(f"it claims the shape {shape}")
    return Entry(shape, dtype)


def _read_sparse(file: _Archive) -> sp.csr_array:
    path, label = file.path, file.array("format")
    if label.size != 1 or label.dtype.kind not in "SU":
        raise ValueError("its sparse matrix has no format")
    kind = label.item().decode("latin-1") if label.dtype.kind == "S" else label.item()
    if kind not in _SPARSE_PARTS:
        raise invalid_file(path, f"holds a sparse matrix of format {kind!r}; save it as csr.")
    shape, data, first, second = (file.array(name) for name in ("shape", "data", *_SPARSE_PARTS[kind]))
    if shape.shape != (2,) or shape.dtype.kind not in "ui":
        raise invalid_file(path, "is damaged: its sparse matrix has no two lengths.")
    if kind != "coo":
        return compressed(data, first, second, shape.tolist(), kind, path)
    check_table(shape.tolist(), data.dtype, path)
    check_room(8 * (int(shape[0]) + 1), path)  # row pointers
    if first.dtype.kind not in "ui" or second.dtype.kind not in "ui":
        raise invalid_file(path, "is damaged: its sparse matrix has indices that are not whole numbers.")
    # Unlike those of compressed matrices, scipy checks all of these indices.
    return sp.coo_array((data.astype(table_type(data.dtype)), (first, second)), shape=tuple(shape.tolist())).tocsr()


def write_npy(path: Path, rows: Rows) -> None:
    """Write a matrix as .npy; names are not written."""
    with writing(path) as file:
        _write_rows(file, rows)


def write_npz(path: Path, rows: Rows) -> None:
    """Write a matrix as "X", with its names, as .npz."""
    with writing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("X.npy", "w", force_zip64=True) as member:
            _write_rows(member, rows)
        for name, names in rows.names.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy_format.write_array(member, np.array(names, dtype=str), allow_pickle=False)


def _write_rows(file: IO[bytes], rows: Rows) -> None:
    header = {"descr": npy_format.dtype_to_descr(rows.dtype), "fortran_order": False, "shape": rows.shape}
    npy_format.write_array_header_1_0(file, header)
    for _, block in rows.blocks():
        file.write(block.data)
