"""Sparse data with row and column shifts, and the functions that work on dense and sparse data alike.

Centering would fill a sparse matrix. :class:`ShiftedSparse` keeps the shifts as two vectors, so zeros stay zeros in
memory. Code elsewhere calls the functions below instead of asking which kind of matrix it has.
"""

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._checks import check_csr, check_floats
from .._typing import Array
from ..linalg.blocks import transposed_copy

if TYPE_CHECKING:
    from typing_extensions import TypeIs

DISTINCT_BLOCK = 64  # samples that are made dense at a time


@dataclass(frozen=True, eq=False)
class ShiftedSparse:
    """``values + rows 1^T + 1 columns^T``, never formed."""

    values: sp.csr_array  # (n, p) stored entries, indices sorted
    rows: Array | None = None  # (n,) number added to each row; None for zeros
    columns: Array | None = None  # (p,) number added to each column

    # numpy must hand `array @ X` to us instead of looking for an array in here.
    __array_ufunc__ = None

    def check(self) -> None:
        """Raise ValueError unless the parts fit together, and are finite."""
        check_csr(self.values, "values")
        if not self.values.has_canonical_format:
            raise ValueError("values must have sorted indices without duplicates.")
        check_floats(self.row_shift(), "rows", self.shape[:1])
        check_floats(self.column_shift(), "columns", self.shape[1:])

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""
        return int(self.values.shape[0]), int(self.values.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the entries."""
        return self.values.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> "ShiftedSparse":
        """Select rows."""
        return replace(self, values=self.values[rows], rows=None if self.rows is None else self.rows[rows])

    @property
    def T(self) -> "ShiftedSparse":  # noqa: N802
        """Transpose."""
        return ShiftedSparse(self.values.T.tocsr(), self.columns, self.rows)

    def row_shift(self) -> Array:
        """(n,) shift of each row."""
        return np.zeros(len(self), dtype=self.dtype) if self.rows is None else self.rows

    def column_shift(self) -> Array:
        """(p,) shift of each column."""
        return np.zeros(self.shape[1], dtype=self.dtype) if self.columns is None else self.columns

    def to_array(self) -> Array:
        """Return a dense array; for a few rows."""
        dense = self.values.toarray()
        if self.rows is not None:
            dense += self.rows[:, None]
        if self.columns is not None:
            dense += self.columns
        return dense

    def block(self, columns: Array | slice) -> Array:
        """Return some columns as a dense array."""
        values = self.values if isinstance(columns, slice) and columns == slice(None) else self.values[:, columns]
        return ShiftedSparse(values, self.rows, self.column_shift()[columns]).to_array()

    def mean(self, weights: Array | None = None) -> Array:
        """Mean row (p,) in double precision, with sample weights (n,) if given."""
        if weights is None:
            mean = np.asarray(self.values.sum(axis=0, dtype=np.float64)).ravel() / len(self)
            return mean + self.row_shift().mean(dtype=np.float64) + self.column_shift()
        share = np.asarray(weights, dtype=np.float64) / np.sum(weights)
        return self.values.T @ share + self.row_shift() @ share + self.column_shift()

    def moments(self, axis: int) -> tuple[Array, Array, Array]:
        """Mean, standard deviation and largest modulus along an axis, which is kept; for data without shifts."""
        assert self.rows is None
        assert self.columns is None
        entries, n = self.values, self.shape[axis]
        kept = (1, -1) if axis == 0 else (-1, 1)
        mean = np.asarray(entries.sum(axis=axis, dtype=np.float64)).ravel() / n
        owner = entries.indices if axis == 0 else np.repeat(np.arange(len(self)), np.diff(entries.indptr))
        largest = np.zeros(len(mean))
        np.maximum.at(largest, owner, np.abs(entries.data))
        unit = power_of_two(largest)
        squared = np.square((entries.data - mean[owner]) / unit[owner])
        stored = np.bincount(owner, minlength=len(mean))
        squares = np.bincount(owner, weights=squared, minlength=len(mean)) + (n - stored) * (mean / unit) ** 2
        return mean.reshape(kept), (unit * np.sqrt(squares / n)).reshape(kept), largest.reshape(kept)

    def standardized(self, axis: int, mean: Array, std: Array) -> "ShiftedSparse":
        """``(X - mean) / std`` along an axis; 0 where the standard deviation is 0."""
        mean, std = mean.ravel(), std.ravel()
        factor = np.divide(1.0, std, out=np.zeros_like(std), where=std > 0)
        shift, narrow = (-mean * factor).astype(self.dtype), factor.astype(self.dtype)
        values = self.values.copy()
        if axis == 0:
            values.data *= narrow[values.indices]
            return ShiftedSparse(values, None, shift)
        values.data *= np.repeat(narrow, np.diff(values.indptr))
        return ShiftedSparse(values, shift, None)

    def moved(self, by: Array) -> "ShiftedSparse":
        """Add a row (p,) to all rows."""
        return replace(self, columns=self.column_shift() + np.asarray(by, dtype=self.dtype))

    def bound(self) -> float:
        """Upper bound of the largest modulus."""
        parts = (self.values.data, self.row_shift(), self.column_shift())
        return float(sum(np.abs(part).max(initial=0) for part in parts))

    def __truediv__(self, divisor: Any) -> "ShiftedSparse":
        """``X / divisor`` for a number."""
        values = self.values.copy()
        values.data /= self.dtype.type(divisor)
        rows, columns = (None if shift is None else shift / divisor for shift in (self.rows, self.columns))
        return ShiftedSparse(values, rows, columns)

    def __matmul__(self, B: Array) -> Array:
        """``X B`` for a dense matrix."""
        return self.values @ B + np.outer(self.row_shift(), B.sum(axis=0)) + self.column_shift() @ B

    def __rmatmul__(self, A: Array) -> Array:
        """Return ``A X`` for a dense matrix."""
        shifted = (A @ self.row_shift())[:, None] + np.outer(A.sum(axis=1), self.column_shift())
        return (self.values.T @ A.T).T + shifted


Data = Array | ShiftedSparse
"""Samples as the pipeline takes them: dense, with NaN for missing values, or sparse."""


def power_of_two(largest: Array | float) -> Array:
    """Return a unit for numbers up to ``largest``: divided by it, they can be squared, and no bit of them changes."""
    return np.ldexp(1.0, np.clip(np.frexp(largest)[1], -1000, 1000))


def as_shifted_sparse(X: Any) -> "ShiftedSparse":
    """Wrap a scipy sparse matrix."""
    return ShiftedSparse(canonical_csr(X))


def canonical_csr(X: Any) -> sp.csr_array:
    """Sparse matrix with sorted indices and without duplicate entries; a copy if ``X`` has them otherwise."""
    values = sp.csr_array(X)
    if not values.has_canonical_format:
        values = values.copy()
        values.sum_duplicates()
    return values


def like(X: Data, reference: Data) -> Data:
    """``X`` stored as ``reference`` is, sparse or dense."""
    if is_sparse(reference):
        return X if is_sparse(X) else as_shifted_sparse(X)
    return dense_rows(X)


def dense_rows(X: Data) -> Array:
    """``X`` as a dense array; itself if it is one."""
    return X.to_array() if isinstance(X, ShiftedSparse) else X


def transposed(X: Data) -> Data:
    """Features as rows: a view of sparse data, a C-contiguous copy of dense data, which searches would copy anyway."""
    return X.T if isinstance(X, ShiftedSparse) else transposed_copy(X)


def dense_block(X: Data, rows: Array | slice, columns: Array | slice) -> Array:
    """``X[rows][:, columns]`` as a dense array."""
    if isinstance(X, ShiftedSparse):
        return X[rows].block(columns)
    # A slice of columns first: it copies nothing, while the rows may be many.
    return X[:, columns][rows] if isinstance(columns, slice) else X[rows][:, columns]


def is_sparse(X: object) -> "TypeIs[ShiftedSparse]":
    """Whether the data are stored sparse."""
    return isinstance(X, ShiftedSparse)


def count_distinct(X: Data, at_most: int) -> int:
    """Count samples that differ; stop at ``at_most``, which most data reach after as many samples."""
    seen: set[bytes] = set()
    for start in range(0, len(X), DISTINCT_BLOCK):
        for row in dense_rows(X[start : start + DISTINCT_BLOCK]) + X.dtype.type(0):  # -0 becomes 0
            seen.add(blake2b(row.tobytes(), digest_size=16).digest())
            if len(seen) >= at_most:
                return at_most
    return len(seen)


def own_copy(X: Data, given: Any) -> Data:
    """``X``, copied if it shares memory with what a caller gave and may write to.

    A file that is mapped read-only is not copied.
    """
    if isinstance(given, (list, tuple)):
        return X
    mine, theirs = (_parts(part) for part in (X, given))
    if not any(_may_change(one) and np.may_share_memory(one, other) for one in mine for other in theirs):
        return X
    return replace(X, values=X.values.copy()) if is_sparse(X) else X.copy()


def _parts(X: Any) -> tuple[Array, ...]:
    """Arrays of data; sparse formats other than CSR are converted, which copies them."""
    values = X.values if is_sparse(X) else X
    if sp.issparse(values):
        return (values.data, values.indices, values.indptr) if values.format == "csr" else ()
    return (np.asarray(values),)


def _may_change(array: Any) -> bool:
    """Whether an array, or one that it is a view of, may be written to."""
    return isinstance(array, np.ndarray) and (array.flags.writeable or _may_change(array.base))
