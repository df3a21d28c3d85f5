"""Rows of files that are read when they are needed: .npy, .parquet, HDF5 and zarr.

Shape and type are read, and checked, before; those of HDF5 and zarr in the guarded process. Values are read in the
process that needs them.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from .._files import invalid_file, reading
from .._typing import Array
from .contents import check_table, choose, entries_of, is_dataset, need
from .worker import run_guarded
from .zarr import MAX_CHUNKS, checked_array, is_zarr


@dataclass(frozen=True)
class FileRows:
    """An array (n_samples, n_features) in a file: slices of it are read from the disk. It can be pickled."""

    path: Path
    key: str  # of the array in the file
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    chunk: int  # rows that the file stores together; 0 if it has no chunks
    reader: str  # "module:function" of (path, key, rows)

    ndim = 2

    def __getitem__(self, index: Any) -> Array:
        """Read a slice of the rows, and of these a slice of the columns."""
        rows, columns = index if isinstance(index, tuple) else (index, slice(None))
        read: Callable[[Path, str, slice], Array] = resolve_name(self.reader)
        try:
            found = read(self.path, self.key, slice(*rows.indices(self.shape[0])))
        except (ValueError, TypeError, OSError, RuntimeError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise ValueError(f"{self.path} cannot be read: {error}") from error
        if found.dtype != self.dtype:
            raise ValueError(f"{self.path} has changed: it held {self.dtype}, and now {found.dtype}.")
        return found[:, columns]


def open_rows(path: Path, key: str | None = None) -> FileRows:
    """Return the rows of a file, or of a folder of zarr; ``key`` as for :func:`graphlowrank.io.read`."""
    path.stat()
    extension = ".zarr" if path.is_dir() and is_zarr(path) else path.suffix.lower()
    if extension not in _OPENERS:
        raise ValueError(
            f"{path} is not read in parts; use one of {', '.join(_OPENERS)}, or read it whole and pass the array."
        )
    package, opener = _OPENERS[extension]
    need(package, f"Reading {extension} files")
    rows = opener(path, key)
    check_table(rows.shape, rows.dtype, path)
    return rows


def _open_npy(path: Path, key: str | None) -> FileRows:
    if key is not None:
        raise ValueError(f"{path} takes no key: it holds one array.")
    with reading(path):
        mapped = npy_format.open_memmap(path, mode="r")
    if mapped.ndim == 2 and mapped.flags.f_contiguous and not mapped.flags.c_contiguous:
        raise invalid_file(path, "stores features one after the other; save np.ascontiguousarray(X) instead.")
    return _rows(path, "", mapped.shape, mapped.dtype, 0, "read_npy")


def read_npy(path: Path, _: str, rows: slice) -> Array:
    """Read rows of an .npy file."""
    return np.array(npy_format.open_memmap(path, mode="r")[rows])


def _open_zarr(path: Path, key: str | None) -> FileRows:
    return _described(path, key, "describe_zarr", "read_zarr")


def describe_zarr(path: Path, key: str | None = None) -> dict[str, Any]:
    """Return what is needed to read a zarr array, after a check of it; called in the guarded process."""
    import zarr

    root: Any = zarr.open(store=str(path), mode="r")
    if isinstance(root, zarr.Array):
        if key is not None:
            raise invalid_file(path, f"is a single array, so it holds no {key!r}.")
        key, array = "", root
    else:
        items = dict(sorted(root.members(max_depth=1)))
        key = choose(entries_of(items), key.strip("/") if key else key, path)
        array = items[key]
        if not is_dataset(array):
            raise invalid_file(path, f"holds a sparse matrix as {key!r}, which is not read in parts.")
    checked_array(array, path / array.path, path, MAX_CHUNKS)
    return {"key": key, "shape": list(array.shape), "dtype": array.dtype.str, "chunk": array.chunks[0]}


def read_zarr(path: Path, key: str, rows: slice) -> Array:
    """Read rows of a zarr array."""
    import zarr

    root: Any = zarr.open(store=str(path), mode="r")
    return np.asarray((root[key] if key else root)[rows])


def _open_hdf5(path: Path, key: str | None) -> FileRows:
    return _described(path, key, "describe_hdf5", "read_hdf5")


def describe_hdf5(path: Path, key: str | None = None) -> dict[str, Any]:
    """Return what is needed to read a dataset, after a check of it; called in the guarded process."""
    from .hdf5 import as_array, open_items

    items = open_items(path)
    key = choose(entries_of(items), key.strip("/") if key else key, path)
    if not is_dataset(items[key]):
        raise invalid_file(path, f"holds a sparse matrix as {key!r}, which is not read in parts.")
    as_array(items[key], path)
    array = items[key]
    return {"key": key, "shape": list(array.shape), "dtype": array.dtype.str, "chunk": (array.chunks or (0,))[0]}


def read_hdf5(path: Path, key: str, rows: slice) -> Array:
    """Read rows of a dataset."""
    import h5py

    with h5py.File(path, "r") as file:
        return np.asarray(file[key][rows])


def _open_parquet(path: Path, key: str | None) -> FileRows:
    import pyarrow.parquet as pq

    from .parquet import number_type

    if key is not None:
        raise ValueError(f"{path} takes no key: it holds one table.")
    with reading(path), pq.ParquetFile(path, memory_map=True) as file:
        schema, about = file.schema_arrow, file.metadata
        types = [number_type(kind) for kind in schema.types]
        other = [name for name, kind in zip(schema.names, types, strict=True) if kind is None]
        if other:
            raise invalid_file(
                path,
                f"has columns that are no numbers ({', '.join(map(repr, other[:5]))}), which are not left out in "
                "silence: write the file without them, or pass a dask array of the others.",
            )
        dtype = np.result_type(*{kind for kind in types if kind is not None})
        groups = [about.row_group(number) for number in range(about.num_row_groups)]
        found = [group.column(place).statistics for group in groups for place in range(about.num_columns)]
        whole = all(one is not None and one.null_count == 0 for one in found)
        chunk = about.row_group(0).num_rows if about.num_row_groups else 0
    dtype = dtype if dtype.kind == "f" or whole else np.dtype(float)  # integers cannot be missing
    return _rows(path, dtype.str, (about.num_rows, len(types)), dtype, chunk, "read_parquet")


def read_parquet(path: Path, dtype: str, rows: slice) -> Array:
    """Read rows of a table as numbers of one type; missing ones are NaN."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, memory_map=True) as file:
        about = file.metadata
        ends = np.cumsum([about.row_group(number).num_rows for number in range(about.num_row_groups)]).tolist()
        first, last = bisect_right(ends, rows.start), bisect_right(ends, max(rows.stop - 1, rows.start))
        table = file.read_row_groups(list(range(first, min(last + 1, len(ends)))))
    begin = rows.start - (ends[first - 1] if first else 0)
    part = table.slice(begin, rows.stop - rows.start)
    columns = [column.to_numpy().astype(dtype) for column in part.columns]
    return np.stack(columns, axis=1) if columns else np.empty((0, 0), dtype)


def _described(path: Path, key: str | None, describe: str, reader: str) -> FileRows:
    found = run_guarded(f"{__name__}:{describe}", path, key=key)
    return _rows(path, found["key"], found["shape"], np.dtype(found["dtype"]), found["chunk"], reader)


def _rows(path: Path, key: str, shape: Any, dtype: np.dtype[Any], chunk: int, reader: str) -> FileRows:
    check_table(shape, dtype, path)
    return FileRows(path.resolve(), key, (int(shape[0]), int(shape[1])), dtype, int(chunk), f"{__name__}:{reader}")


_OPENERS: dict[str, tuple[str | None, Callable[[Path, str | None], FileRows]]] = {
    ".npy": (None, _open_npy),
    ".zarr": ("zarr", _open_zarr),
    ".h5": ("h5py", _open_hdf5),
    ".hdf5": ("h5py", _open_hdf5),
    ".parquet": ("pyarrow", _open_parquet),
}
