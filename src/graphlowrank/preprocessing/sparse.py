"""Sparse data in other units: centring is carried along as two vectors, so that zeros stay zeros in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._backend import Array

if TYPE_CHECKING:
    from typing_extensions import TypeIs


@dataclass(frozen=True, eq=False)
class ShiftedSparse:
    """``values + rows 1^T + 1 columns^T``, never formed.

    Attributes
    ----------
    values
        (n, p) CSR, indices sorted.
    rows
        (n,) number added to each row; None for zeros.
    columns
        (p,) number added to each column; None for zeros.
    """

    values: sp.csr_array
    rows: Array | None = None
    columns: Array | None = None

    # numpy must hand `array @ X` to us instead of looking for an array in here.
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""
        return int(self.values.shape[0]), int(self.values.shape[1])

    @property
    def size(self) -> int:
        """Entries, zeros included."""
        return self.shape[0] * self.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the entries."""
        return self.values.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> ShiftedSparse:
        """Take some of the rows."""
        return replace(self, values=self.values[rows], rows=None if self.rows is None else self.rows[rows])

    @property
    def T(self) -> ShiftedSparse:  # noqa: N802
        """Columns for rows and rows for columns."""
        return ShiftedSparse(self.values.T.tocsr(), self.columns, self.rows)

    def row_shift(self) -> Array:
        """(n,) what is added to each row."""
        return np.zeros(len(self), dtype=self.dtype) if self.rows is None else self.rows

    def column_shift(self) -> Array:
        """(p,) what is added to each column."""
        return np.zeros(self.shape[1], dtype=self.dtype) if self.columns is None else self.columns

    def to_array(self) -> Array:
        """Every entry, in a dense array: for a few rows."""
        dense = self.values.toarray()
        if self.rows is not None:
            dense += self.rows[:, None]
        if self.columns is not None:
            dense += self.columns
        return dense

    def block(self, columns: Array | slice) -> Array:
        """Take some of the columns, into a dense array."""
        values = self.values if isinstance(columns, slice) and columns == slice(None) else self.values[:, columns]
        return ShiftedSparse(values, self.rows, self.column_shift()[columns]).to_array()

    def mean(self, weights: Array | None = None) -> Array:
        """Mean row (p,), in double precision; ``weights`` (n,) say how much each row counts."""
        if weights is None:
            mean = np.asarray(self.values.sum(axis=0, dtype=np.float64)).ravel() / len(self)
            return mean + self.row_shift().mean(dtype=np.float64) + self.column_shift()
        share = np.asarray(weights, dtype=np.float64) / np.sum(weights)
        return self.values.T @ share + self.row_shift() @ share + self.column_shift()

    def moments(self, axis: int) -> tuple[Array, Array, Array]:
        """Mean, sum of squares around it and largest modulus along an axis, which is kept; for data without shifts."""
        assert self.rows is None
        assert self.columns is None
        entries, n = self.values, self.shape[axis]
        kept = (1, -1) if axis == 0 else (-1, 1)
        mean = np.asarray(entries.sum(axis=axis, dtype=np.float64)).ravel() / n
        owner = entries.indices if axis == 0 else np.repeat(np.arange(len(self)), np.diff(entries.indptr))
        away = np.square(entries.data - mean[owner])
        stored = np.bincount(owner, minlength=len(mean))
        squares = np.bincount(owner, weights=away, minlength=len(mean)) + (n - stored) * mean**2
        largest = np.zeros(len(mean))
        np.maximum.at(largest, owner, np.abs(entries.data))
        return mean.reshape(kept), squares.reshape(kept), largest.reshape(kept)

    def standardised(self, axis: int, moments: tuple[Array, Array]) -> ShiftedSparse:
        """Take the mean off and divide by the deviation, both along an axis; what has no deviation becomes zero."""
        mean, deviation = (along.ravel() for along in moments)
        factor = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
        shift, narrow = (-mean * factor).astype(self.dtype), factor.astype(self.dtype)
        values = self.values.copy()
        if axis == 0:
            values.data *= narrow[values.indices]
            return ShiftedSparse(values, None, shift)
        values.data *= np.repeat(narrow, np.diff(values.indptr))
        return ShiftedSparse(values, shift, None)

    def moved(self, by: Array) -> ShiftedSparse:
        """Add a row (p,) to all rows."""
        return replace(self, columns=self.column_shift() + np.asarray(by, dtype=self.dtype))

    def bound(self) -> float:
        """Return a number that no entry exceeds in modulus, nor by much."""
        parts = (self.values.data, self.row_shift(), self.column_shift())
        return float(sum(np.abs(part).max(initial=0) for part in parts))

    def __truediv__(self, unit: Any) -> ShiftedSparse:
        """``X / unit`` for a number."""
        values = self.values.copy()
        values.data /= self.dtype.type(unit)
        rows, columns = (None if shift is None else shift / unit for shift in (self.rows, self.columns))
        return ShiftedSparse(values, rows, columns)

    def __matmul__(self, B: Array) -> Array:
        """``X B`` for a dense matrix."""
        return self.values @ B + np.outer(self.row_shift(), B.sum(axis=0)) + self.column_shift() @ B

    def __rmatmul__(self, A: Array) -> Array:
        """Return ``A X`` for a dense matrix."""
        shifted = (A @ self.row_shift())[:, None] + np.outer(A.sum(axis=1), self.column_shift())
        return (self.values.T @ A.T).T + shifted


Data = Array | ShiftedSparse
"""Samples as the pipeline takes them; dense ones may have gaps, NaN."""


def as_shifted_sparse(X: Any) -> ShiftedSparse:
    """Wrap a scipy matrix; its rows get sorted indices, in a copy if they have none."""
    values = sp.csr_array(X)
    if not values.has_canonical_format:
        values = values.copy()
        values.sum_duplicates()
    return ShiftedSparse(values)


def dense_rows(X: Data) -> Array:
    """Rows as a dense array, themselves if they are one."""
    return X.to_array() if isinstance(X, ShiftedSparse) else X


def some_rows(width: int, entries: int, *, at_most: int) -> int:
    """Rows of a width that together have about so many entries, at least one."""
    return max(1, min(at_most, entries // max(width, 1)))


def is_sparse(X: object) -> TypeIs[ShiftedSparse]:
    """Whether the data are stored sparse."""
    return isinstance(X, ShiftedSparse)
