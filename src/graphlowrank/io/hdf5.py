"""HDF5 files by h5py. Reading happens in the worker process; see :mod:`.worker`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._file_errors import invalid_file
from .contents import Entry, check_table, choose, number_type
from .outputs import placing
from .packages import need
from .worker import FileArray

if TYPE_CHECKING:
    from .rows import Rows

MAX_LEVELS = 3
MAX_ITEMS = 20_000
_PARTS = ("data", "indices", "indptr")


def read_hdf5(path: Path, key: str | None = None) -> dict[str, Any]:
    """Read an .h5 file: an array, or a group with the parts of a sparse matrix."""
    items = open_items(path)
    key = choose(_tables(items), key.strip("/") if key else key, path)
    values, shape = read_matrix(items, key, path)
    folder = key.rpartition("/")[0]
    samples, features = (
        strings(items.get(f"{folder}/{name}".strip("/")), length)
        for name, length in zip(("sample_names", "feature_names"), shape, strict=True)
    )
    return {"values": values, "sample_names": samples, "feature_names": features}


def open_items(path: Path) -> dict[str, Any]:
    """Return the datasets and groups of a file by name, the root as ""; links to other files are not followed."""
    h5py = need("h5py", f"Reading {path.suffix} files")

    def walk(group: Any, prefix: str, level: int) -> Iterator[tuple[str, Any]]:
        for name in group:
            if isinstance(group.get(name, getlink=True), h5py.HardLink):
                item = group[name]
                if isinstance(item, h5py.Dataset | h5py.Group):
                    yield f"{prefix}{name}", item
                if isinstance(item, h5py.Group) and level < MAX_LEVELS:
                    yield from walk(item, f"{prefix}{name}/", level + 1)

    file = h5py.File(path, "r")
    items = {"": file}
    for name, item in walk(file, "", 1):
        items[name] = item
        if len(items) >= MAX_ITEMS:
            break
    return items


def read_matrix(items: dict[str, Any], name: str, path: Path) -> tuple[Any, Sequence[int]]:
    """Return the dense array, or the parts of the sparse matrix, of this name, and its shape."""
    if is_dataset(items[name]):
        check_table(items[name].shape or (), number_type(items[name].dtype), path)
        return as_array(items[name], path), items[name].shape
    missing = [part for part in _PARTS if not is_dataset(items.get(f"{name}/{part}"))]
    if missing:
        raise invalid_file(path, f"holds no array of numbers called '{name}/{missing[0]}'.")
    parts = {part: as_array(items[f"{name}/{part}"], path) for part in _PARTS}
    axis, shape = _sparse_layout(items, name, path)
    return {**parts, "axis": axis, "shape": shape}, shape


def as_array(item: Any, path: Path) -> Any:
    """Return an array that the worker can send; one that lies uncompressed in the file is mapped."""
    if item.external or item.is_virtual:
        raise invalid_file(path, f"keeps the values of {item.name[1:]!r} in other files, which are not followed.")
    offset = item.id.get_offset() if item.chunks is None else None
    return item if offset is None or not item.size else FileArray(item.shape, item.dtype, offset)


def strings(item: Any, limit: int) -> list[str] | None:
    """Return the strings of a dataset; None if it has none, or more than ``limit``."""
    h5py = need("h5py", "Reading HDF5 files")
    if not is_dataset(item) or h5py.check_string_dtype(item.dtype) is None or item.ndim != 1 or item.size > limit:
        return None
    return [as_text(value) for value in item[:].tolist()]


def as_text(value: str | bytes) -> str:
    """Return a string of a file, which h5py hands out as bytes or str."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def is_dataset(item: Any) -> bool:
    """Whether an item is a dataset, not a group or missing."""
    return hasattr(item, "dtype")


def _sparse_layout(items: dict[str, Any], name: str, path: Path) -> tuple[str, list[int]]:
    """Return axis and shape of a sparse matrix, as AnnData, 10x Genomics and scipy users store them."""
    attributes = items[name].attrs
    kind = attributes.get("encoding-type", attributes.get("h5sparse_format"))
    found = attributes.get("shape", attributes.get("h5sparse_shape", items.get(f"{name}/shape")))
    shape = found[:].tolist() if found is not None and getattr(found, "shape", None) == (2,) else None
    if shape is None or not all(isinstance(length, int) for length in shape):
        raise invalid_file(path, f"does not say which shape the sparse matrix {name!r} has.")
    if kind is not None:
        return ("csc" if as_text(kind).startswith("csc") else "csr"), shape
    return ("csr" if shape[0] == items[f"{name}/indptr"].size - 1 else "csc"), shape


def _tables(items: dict[str, Any]) -> dict[str, Entry]:
    """Return the arrays and sparse matrices of a file."""
    groups = [name for name, item in items.items() if not is_dataset(item)]
    sparse = {name for name in groups if all(is_dataset(items.get(f"{name}/{part}")) for part in _PARTS)}
    found = {}
    for name, item in items.items():
        if name in sparse:
            shape = item.attrs.get("shape", item.attrs.get("h5sparse_shape", (2, 2)))
            found[name] = Entry(tuple(shape) if len(shape) == 2 else (2, 2), number_type(items[f"{name}/data"].dtype))
        elif is_dataset(item) and name.rpartition("/")[0] not in sparse:
            found[name] = Entry(item.shape if item.shape is not None else (0,), number_type(item.dtype))
    return found


def write_hdf5(path: Path, rows: Rows) -> None:
    """Write a matrix as "X", contiguous so that readers can map it; "sample_names" and "feature_names" beside it."""
    h5py = need("h5py", f"Writing {path.suffix} files")
    with placing(path) as place, h5py.File(place, "x") as file:
        rows.fill(file.create_dataset("X", rows.shape, rows.dtype))
        for name, names in rows.names.items():
            file.create_dataset(name, data=list(names), dtype=h5py.string_dtype())
