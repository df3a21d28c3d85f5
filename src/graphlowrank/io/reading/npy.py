"""Arrays of .npy and .npz files; never by pickle."""

from __future__ import annotations

import math
import os
import zipfile
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.lib import format as npy_format

from ..._backend import Array
from ..._reading import refusal, refusing
from ..memory import check_room
from .table import Entry, Table, check_layout, choose, compressed

_SPARSE_PARTS = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col")}


class _Header(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype
    by_columns: bool

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read_npy(path: Path) -> Table:
    """Table of an .npy file, mapped: only what is looked at is read."""
    with refusing(path), path.open("rb") as file:
        header = _read_header(file, path)
        check_layout(header.shape, header.dtype, path)
        start, size = file.tell(), file.seek(0, os.SEEK_END)
        if header.n_bytes > size - start:
            raise refusal(path, f"is truncated: {size - start} bytes where {header.n_bytes} are due.")
        return Table(np.memmap(path, header.dtype, "r", start, header.shape, "F" if header.by_columns else "C"))


def read_npz(path: Path, key: str | None) -> Table:
    """Table of an .npz file; dense, or sparse as scipy.sparse.save_npz writes it."""
    with refusing(path), zipfile.ZipFile(path) as archive:
        headers = {}
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as member:
                    headers[name.removesuffix(".npy")] = _read_header(member, path, known_objects=True)
        if {"format", "shape", "data"} <= set(headers) and key is None:
            return Table(_read_sparse(archive, headers, path))
        key = choose({name: Entry(header.shape, header.dtype) for name, header in headers.items()}, key, path)
        check_layout(headers[key].shape, headers[key].dtype, path)
        samples, features = (_read_names(archive, headers, name, path) for name in ("sample_names", "feature_names"))
        return Table(_read_array(archive, headers, key, path), samples, features)


def _read_header(file: IO[bytes], path: Path, *, known_objects: bool = False) -> _Header:
    # Later versions are for types with very many or odd names of fields, and take headers of any length.
    if npy_format.read_magic(file) != (1, 0):
        raise ValueError("it has an array in another version of numpy's format than numbers are saved in")
    shape, by_columns, dtype = npy_format.read_array_header_1_0(file)
    if min(shape, default=0) < 0:
        raise ValueError(f"it claims the shape {shape}")
    if dtype.hasobject and not known_objects:
        raise refusal(path, "holds Python objects, which are not read.")
    return _Header(shape, dtype, by_columns)


def _read_array(archive: zipfile.ZipFile, headers: dict[str, _Header], name: str, path: Path) -> Array:
    if name not in headers:
        raise ValueError(f"it holds no {name}")
    if headers[name].dtype.hasobject:
        raise refusal(path, "holds Python objects, which are not read.")
    check_room(headers[name].n_bytes, path)
    with archive.open(f"{name}.npy") as member:
        if archive.NameToInfo[f"{name}.npy"].file_size < headers[name].n_bytes:
            raise ValueError(f"{name} is truncated")
        array = npy_format.read_array(member, allow_pickle=False)
        if member.read(1):  # reading on to the end also makes zipfile check its sum
            raise ValueError(f"{name} has more bytes than its header says")
    return array


def _read_names(archive: zipfile.ZipFile, headers: dict[str, _Header], name: str, path: Path) -> tuple[str, ...] | None:
    if name not in headers or headers[name].dtype.kind != "U" or len(headers[name].shape) != 1:
        return None
    return tuple(_read_array(archive, headers, name, path).tolist())


def _read_sparse(archive: zipfile.ZipFile, headers: dict[str, _Header], path: Path) -> Array:
    label = _read_array(archive, headers, "format", path)
    if label.size != 1 or label.dtype.kind not in "SU":
        raise ValueError("its sparse matrix has no format")
    kind = label.item().decode("latin-1") if label.dtype.kind == "S" else label.item()
    if kind not in _SPARSE_PARTS:
        raise refusal(path, f"holds a sparse matrix of format {kind!r}; save it as csr.")
    names = ("shape", "data", *_SPARSE_PARTS[kind])
    shape, data, first, second = (_read_array(archive, headers, name, path) for name in names)
    if shape.shape != (2,) or shape.dtype.kind not in "ui":
        raise refusal(path, "is damaged: its sparse matrix has no two lengths.")
    if kind == "coo":
        return from_triplets(data, first, second, (int(shape[0]), int(shape[1])), path)
    return compressed(data, first, second, shape.tolist(), kind, path)


def from_triplets(data: Array, rows: Array, columns: Array, shape: tuple[int, int], path: Path) -> Array:
    """Sparse matrix of values at rows and columns, which are checked; entries of one place are added."""
    check_layout(shape, data.dtype, path)
    check_room(8 * (shape[0] + 1), path)  # the ends of its rows
    alike = data.shape == rows.shape == columns.shape and data.ndim == 1 and rows.dtype.kind in "ui"
    if not alike or (rows.size and (rows.min() < 0 or rows.max() >= shape[0])):
        raise refusal(path, "is damaged: the parts of its sparse matrix do not fit each other.")
    order = np.argsort(rows, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows.astype(np.int64), minlength=shape[0]))])
    return compressed(data[order], columns[order], ends, shape, "csr", path)
