"""Rows of a matrix on disk, in blocks that can be read again: what stands for an array that does not fit in memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.lib import format as npy_format

from .._typing import Array
from ..linalg.blocks import row_blocks

BLOCK_ENTRIES, MIN_BLOCK_ROWS = 2**22, 2**8

Step = Callable[[Any], Any]  # of rows (m, p); it treats each row by itself, and can be pickled


def fixed_blocks(shape: Sequence[int]) -> list[slice]:
    """Blocks of rows that depend on the shape alone.

    Products may round a row differently by its place in a block. In these blocks an answer depends neither on how the
    rows are stored nor on who computes it. The number of rows is a power of two, as that of chunks often is.
    """
    n_rows, n_columns = shape
    rows = max(2 ** int(np.log2(max(BLOCK_ENTRIES // max(n_columns, 1), 1))), MIN_BLOCK_ROWS)
    return list(row_blocks(n_rows, 1, entries=rows))


@dataclass(frozen=True)
class BlockRows:
    """Rows of an .npy file of floats after ``steps``, such as a scaling.

    ``X[indices]`` is an array. Only the blocks that are read are in memory. It can be pickled, and read by other
    processes that see the file.
    """

    path: Path
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    has_missing: bool = False
    steps: tuple[Step, ...] = ()

    ndim = 2

    @cached_property
    def blocks(self) -> list[slice]:
        """Rows of each block."""
        return fixed_blocks(self.shape)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.shape[1]

    @property
    def n_bytes(self) -> int:
        """Bytes of all rows."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, block: int) -> Array:
        """Return the rows of a block."""
        return self._after_steps(np.array(self._stored()[self.blocks[block]]))

    def __getitem__(self, indices: Array) -> Array:
        """Return rows by their numbers."""
        return self._after_steps(np.array(self._stored()[indices]))

    def after(self, *steps: Step) -> Self:
        """Return the rows after more steps."""
        return replace(self, steps=(*self.steps, *steps))

    def to_array(self) -> Array:
        """Return all rows."""
        found = np.empty(self.shape, dtype=self.dtype)
        for number, rows in enumerate(self.blocks):
            found[rows] = self.read(number)
        return found

    def _stored(self) -> Array:
        return npy_format.open_memmap(self.path, mode="r")

    def _after_steps(self, rows: Array) -> Array:
        for step in self.steps:
            rows = step(rows)
        return rows.astype(self.dtype, copy=False)


def create_rows(path: Path, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
    """Create an .npy file of so many rows, which are written later."""
    with path.open("xb") as file:
        header = {"descr": npy_format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        npy_format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + shape[0] * shape[1] * dtype.itemsize)


def write_rows(path: Path, start: int, rows: Array) -> None:
    """Write rows from number ``start`` on; not through a map, which ends the process when the disk is full."""
    with path.open("r+b") as file:
        npy_format.read_magic(file)
        npy_format.read_array_header_1_0(file)
        file.seek(start * rows[:1].nbytes, 1)
        file.write(np.ascontiguousarray(rows).data)
