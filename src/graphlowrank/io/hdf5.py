"""HDF5 files by h5py. Reading happens in the worker process; see :mod:`.worker`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._file_errors import invalid_file
from .contents import as_text, choose, entries_of, is_dataset, read_matrix
from .outputs import placing
from .packages import need
from .worker import FileArray

if TYPE_CHECKING:
    from .rows import Rows

MAX_LEVELS = 3
MAX_ITEMS = 20_000


def read_hdf5(path: Path, key: str | None = None) -> dict[str, Any]:
    """Read an .h5 file: an array, or a group with the parts of a sparse matrix."""
    items = open_items(path)
    key = choose(entries_of(items), key.strip("/") if key else key, path)
    values, shape = read_matrix(items, key, path, as_array)
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


def as_array(item: Any, path: Path) -> Any:
    """Return an array that the worker can send; one that lies uncompressed in the file is mapped."""
    if item.external or item.is_virtual:
        raise invalid_file(path, f"keeps the values of {item.name[1:]!r} in other files, which are not followed.")
    offset = item.id.get_offset() if item.chunks is None else None
    return item if offset is None or not item.size else FileArray(item.shape, item.dtype, offset)


def strings(item: Any, limit: int) -> list[str] | None:
    """Return the strings of a dataset; None if it has none, or more than ``limit``."""
    import h5py

    if not is_dataset(item) or h5py.check_string_dtype(item.dtype) is None or item.ndim != 1 or item.size > limit:
        return None
    return [as_text(value) for value in item[:].tolist()]


def write_hdf5(path: Path, rows: Rows) -> None:
    """Write a matrix as "X", contiguous so that readers can map it; "sample_names" and "feature_names" beside it."""
    import h5py

    with placing(path) as place, h5py.File(place, "x") as file:
        rows.fill(file.create_dataset("X", rows.shape, rows.dtype))
        for name, names in rows.names.items():
            file.create_dataset(name, data=list(names), dtype=h5py.string_dtype())
