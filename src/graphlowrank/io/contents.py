"""Which array of a file is the table, and whether it can be one. Loads little: the worker process imports it."""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._files import invalid_file

SPARSE_PARTS = ("data", "indices", "indptr")
USUAL_NAMES = ("X", "data", "fea", "values")  # in order of preference


def need(package: str | None, purpose: str) -> None:
    """Raise ImportError that names what to install unless a package is there; importing it would take time."""
    if package is not None and find_spec(package) is None:
        title, extra = {"PIL": ("Pillow", "io")}.get(package, (package, "dask" if package == "dask" else "io"))
        raise ImportError(f"{purpose} needs {title}: pip install graphlowrank[{extra}]")


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


# --- files with groups (HDF5, zarr) --------------------------------------------------------------------------------
#
# Their items, by name, are datasets, with shape and dtype, and groups; both have attributes.


def is_dataset(item: Any) -> bool:
    """Whether an item is a dataset, not a group or missing."""
    return hasattr(item, "dtype")


def number_type(dtype: np.dtype) -> np.dtype | None:
    """Return the type if it is one of numbers, None for text and records."""
    return dtype if dtype.kind in "buifc" else None


def as_text(value: str | bytes) -> str:
    """Return a string of a file, which h5py hands out as bytes or str."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def entries_of(items: Mapping[str, Any]) -> dict[str, Entry]:
    """Return the arrays and the sparse matrices, which are groups of three arrays."""
    sparse = {name for name in items if all(is_dataset(items.get(f"{name}/{part}")) for part in SPARSE_PARTS)}
    found = {}
    for name, item in items.items():
        if name in sparse:
            shape = _sparse_shape(items, name) or (2, 2)
            found[name] = Entry(shape, number_type(items[f"{name}/data"].dtype))
        elif is_dataset(item) and name.rpartition("/")[0] not in sparse:
            found[name] = Entry((0,) if item.shape is None else item.shape, number_type(item.dtype))
    return found


def read_matrix(
    items: Mapping[str, Any], name: str, path: Path, as_array: Callable[[Any, Path], Any]
) -> tuple[Any, Sequence[int]]:
    """Return the dense array, or the parts of the sparse matrix, of this name, and its shape."""
    if is_dataset(items[name]):
        check_table(items[name].shape or (), number_type(items[name].dtype), path)
        return as_array(items[name], path), items[name].shape
    missing = [part for part in SPARSE_PARTS if not is_dataset(items.get(f"{name}/{part}"))]
    if missing:
        raise invalid_file(path, f"holds no array of numbers called '{name}/{missing[0]}'.")
    shape = _sparse_shape(items, name)
    if shape is None:
        raise invalid_file(path, f"does not say which shape the sparse matrix {name!r} has.")
    kind = items[name].attrs.get("encoding-type", items[name].attrs.get("h5sparse_format"))
    layout = as_text(kind) if kind is not None else "csr" if shape[0] == items[f"{name}/indptr"].size - 1 else "csc"
    parts = {part: as_array(items[f"{name}/{part}"], path) for part in SPARSE_PARTS}
    return {**parts, "axis": "csc" if layout.startswith("csc") else "csr", "shape": shape}, shape


def _sparse_shape(items: Mapping[str, Any], name: str) -> tuple[int, ...] | None:
    """Return the shape of a sparse matrix, where AnnData, 10x Genomics or scipy users store it."""
    attributes = items[name].attrs
    found = attributes.get("shape", attributes.get("h5sparse_shape", items.get(f"{name}/shape")))
    lengths = np.asarray([] if found is None or getattr(found, "size", 2) != 2 else found[:])
    return tuple(lengths.tolist()) if lengths.shape == (2,) and lengths.dtype.kind in "ui" else None
