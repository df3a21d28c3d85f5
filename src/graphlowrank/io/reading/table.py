"""What every reader returns, and the checks that all of them share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._backend import Array
from ..._reading import refusal
from ..memory import check_room

FAVOURITES = ("X", "data", "fea", "values")


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers of one file, samples by features.

    Attributes
    ----------
    values
        (n_samples, n_features) numpy array, memory map or ``scipy.sparse.csr_array``: float32, float64 or integers.
    sample_names, feature_names
        Names of rows and columns, or None if the file has none.
    graph
        (n_samples, n_samples) weights of the neighbour graph of an .h5ad file, if it was asked for.
    picture
        (height, width) if the samples are pictures.
    """

    values: Any
    sample_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    graph: sp.csr_array | None = None
    picture: tuple[int, int] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self.values.shape

    @property
    def is_sparse(self) -> bool:
        """Whether only what is not zero is held."""
        return bool(sp.issparse(self.values))

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else "mapped" if _is_mapped(self.values) else "in memory"
        return f"Table(shape={self.shape}, dtype={self.values.dtype}, {kind})"


class Entry(NamedTuple):
    """An array of a file that holds several; no dtype if it does not hold numbers."""

    shape: tuple[int, ...]
    dtype: np.dtype | None


def choose(entries: Mapping[str, Entry], key: str | None, path: Path) -> str:
    """Name of the table among the arrays of a file: the one asked for, the only one, or one of a usual name."""
    listed = ", ".join(f"{name} {entry.shape}" for name, entry in list(entries.items())[:20]) or "nothing"
    if key is not None:
        if key not in entries:
            raise refusal(path, f"holds no {key!r}; it holds {listed}.")
        return key
    tables = [
        name for name, entry in entries.items() if len(entry.shape) == 2 and entry.dtype and entry.dtype.kind in "buif"
    ]
    wide = [name for name in tables if min(entries[name].shape) > 1]
    tables = wide or tables  # Matlab's numbers and vectors have two axes, too
    if not tables:
        raise refusal(path, f"holds no table of numbers with two axes; it holds {listed}.")
    usual = [name for name in FAVOURITES if name in tables]
    if len(tables) > 1 and not usual:
        raise refusal(path, f"holds several tables: {', '.join(tables[:20])}; choose one by key.")
    return tables[0] if len(tables) == 1 else usual[0]


def check_layout(shape: Sequence[int], dtype: np.dtype | None, path: Path) -> None:
    """Raise ValueError unless an array of this shape and type is a table of numbers with something in it."""
    if dtype is None or dtype.kind not in "buif":
        kinds = {"c": "complex numbers; save their real parts or moduli", "O": "Python objects, which are not read"}
        found = kinds.get(dtype.kind if dtype is not None else "", "text or records; a table is of numbers")
        raise refusal(path, f"holds {found}.")
    if len(shape) != 2:
        raise refusal(path, f"holds an array of shape {tuple(shape)}; a table has two axes, samples and features.")
    if min(shape) < 1:
        raise refusal(path, f"has no {'rows' if shape[0] < 1 else 'columns'}: its shape is {tuple(shape)}.")


def table_type(dtype: np.dtype) -> np.dtype:
    """Type in which values are handed on: their own in this machine's byte order; halves and booleans widened."""
    widened = {"b1": "u1", "f2": "f4", "f16": "f8", "f12": "f8"}
    return np.dtype(widened.get(f"{dtype.kind}{dtype.itemsize}", dtype.newbyteorder("=")))


def settle(table: Table, path: Path) -> Table:
    """Check a table that was read; give its values a type that the library works with."""
    values = table.values
    check_layout(values.shape, values.dtype, path)
    dtype = table_type(values.dtype)
    if dtype != values.dtype:
        check_room(values.size * dtype.itemsize, path)
        values = values.astype(dtype)
    for names, length in zip((table.sample_names, table.feature_names), values.shape, strict=True):
        if names is not None and len(names) != length:
            raise refusal(path, f"holds {len(names)} names for {length} rows or columns; it is damaged.")
    if table.graph is not None and table.graph.shape != (len_of(values), len_of(values)):
        raise refusal(path, f"holds a graph of shape {table.graph.shape} for {len_of(values)} samples; it is damaged.")
    return replace(table, values=values)


def transposed(table: Table) -> Table:
    """Return the same numbers with features as rows; a view unless they are sparse."""
    values = table.values.T.tocsr() if table.is_sparse else table.values.T
    return Table(values, table.feature_names, table.sample_names)


def compressed(data: Array, indices: Array, indptr: Array, shape: Sequence[int], axis: str, path: Path) -> sp.csr_array:
    """Sparse matrix of arrays from a file, every index checked: scipy would follow a wrong one out of its memory.

    Parameters
    ----------
    data, indices, indptr
        As scipy has them.
    shape
        Of the matrix.
    axis
        "csr" or "csc".
    path
        Named in errors.
    """
    shape = tuple(int(length) for length in shape)
    check_layout(shape, data.dtype, path)
    major, minor = shape if axis == "csr" else shape[::-1]
    indices, indptr = (_whole(array, path) for array in (indices, indptr))
    fits = indptr.shape == (major + 1,) and data.shape == indices.shape and data.ndim == 1
    if not fits or indptr[0] != 0 or indptr[-1] != len(data) or np.any(np.diff(indptr) < 0):
        raise refusal(path, "is damaged: the parts of its sparse matrix do not fit each other.")
    if len(indices) and (indices.min() < 0 or indices.max() >= minor):
        raise refusal(path, "is damaged: its sparse matrix has indices outside its shape.")
    check_room(8 * (minor + 1), path)  # the ends of its rows, where it comes by columns
    small = max(major, minor, len(data)) < 2**31
    parts = (data.astype(table_type(data.dtype), copy=False), *(
        array.astype(np.int32 if small else np.int64, copy=False) for array in (indices, indptr)
    ))  # fmt: skip
    matrix = sp.csr_array(parts, shape=shape) if axis == "csr" else sp.csc_array(parts, shape=shape).tocsr()
    matrix.sum_duplicates()  # and sorts
    return matrix


def _whole(array: Array, path: Path) -> Array:
    if array.dtype.kind not in "ui":
        raise refusal(path, "is damaged: its sparse matrix has indices that are not whole numbers.")
    return array.astype(np.int64, copy=False)


def len_of(values: Any) -> int:
    """Return the number of samples; sparse arrays have no len."""
    return int(values.shape[0])


def _is_mapped(values: Any) -> bool:
    while values is not None and not isinstance(values, np.memmap):
        values = getattr(values, "base", None)
    return values is not None
