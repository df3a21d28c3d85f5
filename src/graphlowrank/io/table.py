"""What is read and written: a table of checked values, and a matrix of any kind as blocks of dense rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from .._files import invalid_file, reading
from .._typing import Array
from ..linalg.blocks import row_blocks
from .columns import ColumnRoles, Plan
from .contents import check_table
from .memory import check_room

BLOCK_BYTES = 2**24  # of the rows that are written at a time


@dataclass(frozen=True, eq=False)
class Table:
    """Numbers of one file, samples by features."""

    values: Any  # array, memmap or csr_array (n_samples, n_features) of float32, float64 or integers
    sample_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    graph: sp.csr_array | None = None  # edge weights of the neighbor graph of an .h5ad file
    picture: tuple[int, int] | None = None  # height and width of samples that are images
    white: int = 255  # of images
    label: tuple[str, ...] | None = None  # of each sample, from a column that is no feature
    columns: ColumnRoles | None = None  # what the columns of a text or .parquet file were read as
    logs: bool = False  # whether the values were replaced by log(1 + x)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        n_samples, n_features = self.values.shape
        return n_samples, n_features

    @property
    def is_sparse(self) -> bool:
        """Whether the values are a sparse matrix."""
        return bool(sp.issparse(self.values))

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else "mapped" if _is_mapped(self.values) else "in memory"
        return f"Table(shape={self.shape}, dtype={self.values.dtype}, {kind})"


def from_worker(found: dict[str, Any], path: Path) -> Table:
    """Return the table that a guarded reader described: arrays, or the parts of sparse matrices, and names."""

    def matrix(part: Any) -> Any:
        return compressed(**part, path=path) if isinstance(part, dict) else part

    samples, features = (found.get(name) and tuple(found[name]) for name in ("sample_names", "feature_names"))
    with reading(path):
        values = matrix(found["values"])
        values = values.T if found.get("transposed") else values
        return Table(values, samples, features, matrix(found.get("graph")))


def table_of(plan: Plan, values: Array, strings: Mapping[int, Sequence[str]], columns: ColumnRoles) -> Table:
    """Return the table of numbers and strings that were read by a plan for columns."""
    samples, label = (None if number is None else tuple(strings[number]) for number in (plan.index, plan.label))
    names = None if plan.names is None else tuple(plan.names[number] for number in plan.features)
    return Table(values, samples, names, label=label, columns=columns)


def table_type(dtype: np.dtype) -> np.dtype:
    """Return the type of values in a table: native byte order; half precision and booleans are widened."""
    widened = {"b1": "u1", "f2": "f4", "f16": "f8", "f12": "f8"}
    return np.dtype(widened.get(f"{dtype.kind}{dtype.itemsize}", dtype.newbyteorder("=")))


def checked(table: Table, path: Path) -> Table:
    """Check a table that was read and convert its values to a type of :func:`table_type`."""
    values = table.values
    check_table(values.shape, values.dtype, path)
    n_samples = values.shape[0]
    dtype = table_type(values.dtype)
    if dtype != values.dtype:
        check_room(values.size * dtype.itemsize, path)
        values = values.astype(dtype)
    for names, length in zip((table.sample_names, table.feature_names), values.shape, strict=True):
        if names is not None and len(names) != length:
            raise invalid_file(path, f"holds {len(names)} names for {length} rows or columns; it is damaged.")
    if table.graph is not None and table.graph.shape != (n_samples, n_samples):
        raise invalid_file(path, f"holds a graph of shape {table.graph.shape} for {n_samples} samples; it is damaged.")
    return replace(table, values=values)


def transposed(table: Table) -> Table:
    """Return the table with features as rows; a view unless it is sparse."""
    values = table.values.T.tocsr() if table.is_sparse else table.values.T
    return Table(values, table.feature_names, table.sample_names, columns=table.columns)


def compressed(data: Array, indices: Array, indptr: Array, shape: Sequence[int], axis: str, path: Path) -> sp.csr_array:
    """Return a sparse matrix from the arrays of a "csr" or "csc" matrix, after a check of all indices.

    scipy does not check them and would read out of bounds.
    """
    shape = tuple(int(length) for length in shape)
    check_table(shape, data.dtype, path)
    major, minor = shape if axis == "csr" else shape[::-1]
    if indices.dtype.kind not in "ui" or indptr.dtype.kind not in "ui":
        raise invalid_file(path, "is damaged: its sparse matrix has indices that are not whole numbers.")
    indices, indptr = np.asarray(indices).astype(np.int64, copy=False), np.asarray(indptr).astype(np.int64, copy=False)
    fits = indptr.shape == (major + 1,) and data.shape == indices.shape and data.ndim == 1
    if not fits or indptr[0] != 0 or indptr[-1] != len(data) or np.any(np.diff(indptr) < 0):
        raise invalid_file(path, "is damaged: the parts of its sparse matrix do not fit each other.")
    if len(indices) and (indices.min() < 0 or indices.max() >= minor):
        raise invalid_file(path, "is damaged: its sparse matrix has indices outside its shape.")
    check_room(8 * (minor + 1), path)  # row pointers, if it is stored by columns
    parts = (np.asarray(data).astype(table_type(data.dtype), copy=False), indices, indptr)
    matrix = sp.csr_array(parts, shape=shape) if axis == "csr" else sp.csc_array(parts, shape=shape).tocsr()
    matrix.sum_duplicates()  # sorts the indices, too
    return matrix


def _is_mapped(values: Any) -> bool:
    while values is not None and not isinstance(values, np.memmap):
        values = getattr(values, "base", None)
    return values is not None


@dataclass(frozen=True)
class Rows:
    """A matrix to be written and its names; build with :meth:`of`."""

    matrix: Any
    shape: tuple[int, int]
    dtype: np.dtype
    sample_names: tuple[str, ...] | None
    feature_names: tuple[str, ...] | None
    picture: tuple[int, int] | None = None
    white: int = 255
    block_bytes: int = BLOCK_BYTES

    @classmethod
    def of(cls, matrix: Any, sample_names: Sequence[str] | None, feature_names: Sequence[str] | None) -> Self:
        """Check that it is a matrix of real numbers, with as many names as rows and columns."""
        if not hasattr(matrix, "shape"):
            matrix = np.asarray(matrix)
        shape = tuple(matrix.shape)
        if len(shape) != 2 or min(shape) < 1:
            raise ValueError(f"matrix must have two axes and at least one entry; got the shape {shape}.")
        dtype = np.dtype(matrix.dtype) if hasattr(matrix, "dtype") else _dense(matrix[:1]).dtype
        if dtype.kind not in "buif":
            raise ValueError(f"matrix must hold real numbers; got {dtype}.")
        samples = checked_names(sample_names, shape[0], "sample_names")
        features = checked_names(feature_names, shape[1], "feature_names")
        matrix = sp.csr_array(matrix) if sp.issparse(matrix) else matrix
        return cls(matrix, (shape[0], shape[1]), table_type(dtype), samples, features)

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Sample and feature names, those that are given."""
        names = {"sample_names": self.sample_names, "feature_names": self.feature_names}
        return {name: found for name, found in names.items() if found is not None}

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield a few megabytes of rows at a time: which they are, and their values as a dense array."""
        for part in row_blocks(*self.shape, entries=self.block_bytes // self.dtype.itemsize):
            yield part, np.ascontiguousarray(_dense(self.matrix[part]), self.dtype)

    def fill(self, out: Any) -> Any:
        """Copy all rows to ``out``, an array or what can be assigned to like one, and return it."""
        for part, block in self.blocks():
            out[part] = block
        return out


def checked_names(names: Sequence[str] | None, length: int, what: str) -> tuple[str, ...] | None:
    """Return names as strings; ValueError unless there are ``length`` of them."""
    if names is None:
        return None
    if len(names) != length:
        raise ValueError(f"{what} must have {length} names; got {len(names)}.")
    return tuple(map(str, names))


def _dense(block: Any) -> Array:
    return block.toarray() if sp.issparse(block) else np.asarray(block)
