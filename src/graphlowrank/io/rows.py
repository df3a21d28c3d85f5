"""A matrix of any kind as blocks of dense rows, to be written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backend import Array
from .table import table_type

BLOCK_BYTES = 2**24


@dataclass(frozen=True)
class Rows:
    """A matrix to be written and its names; build with :meth:`of`."""

    matrix: Any
    shape: tuple[int, int]
    dtype: np.dtype
    sample_names: tuple[str, ...] | None
    feature_names: tuple[str, ...] | None

    @classmethod
    def of(cls, matrix: Any, sample_names: Sequence[str] | None, feature_names: Sequence[str] | None) -> Rows:
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

    def blocks(self) -> Iterator[Array]:
        """Yield dense rows, a few megabytes at a time."""
        step = max(1, BLOCK_BYTES // (self.shape[1] * self.dtype.itemsize))
        for start in range(0, self.shape[0], step):
            yield np.ascontiguousarray(_dense(self.matrix[start : start + step]), self.dtype)

    def fill(self, out: Any) -> Any:
        """Copy all rows to ``out``, an array or what can be assigned to like one, and return it."""
        start = 0
        for block in self.blocks():
            out[start : start + len(block)] = block
            start += len(block)
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
