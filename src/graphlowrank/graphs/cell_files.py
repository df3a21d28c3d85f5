"""Files in which rows are kept cell by cell, one set for each block of rows.

Every file is written by one task, under another name first, so a task may be repeated or killed at any moment. Plain
writes report a full disk as OSError; memory maps would end the process.
"""

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .._typing import Array


@dataclass(frozen=True)
class CellFiles:
    """Arrays of rows in a folder, sorted by cell within each block."""

    folder: Path
    n_blocks: int
    columns: dict[str, tuple[np.dtype, tuple[int, ...]]]  # name -> dtype and shape of a row

    def write(self, block: int, cells: Array, n_cells: int, arrays: dict[str, Array]) -> int:
        """Write the arrays of a block, sorted by the ``cells`` (n,) of its rows; return the number of bytes."""
        order = np.argsort(cells, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=n_cells))])
        written = write_array(self._path(block, "starts"), starts)
        return written + sum(write_array(self._path(block, name), array[order]) for name, array in arrays.items())

    def read(self, cells: Array, names: Sequence[str]) -> tuple[dict[str, Array], int]:
        """Read the rows of ``cells``, which ascend: cell by cell, and within a cell in the order of the rows."""
        begins, ends = self._bounds(cells)
        sizes = ends - begins  # (n_blocks, n_cells)
        firsts = np.cumsum(sizes.sum(axis=0)) - sizes.sum(axis=0) + np.cumsum(sizes, axis=0) - sizes
        total = int(sizes.sum())
        arrays = {name: np.empty((total, *self.columns[name][1]), dtype=self.columns[name][0]) for name in names}
        new_run = np.flatnonzero(np.diff(cells, prepend=-2) != 1)
        for block in range(self.n_blocks):
            at = np.cumsum(sizes[block]) - sizes[block]
            places = np.arange(int(sizes[block].sum())) + np.repeat(firsts[block] - at, sizes[block])
            lasts = np.append(new_run[1:], len(cells)) - 1
            runs = np.column_stack([begins[block, new_run], ends[block, lasts]])
            for name, array in arrays.items():
                dtype, shape = self.columns[name]
                array[places] = read_runs(self._path(block, name), runs, dtype, shape)
        return arrays, sum(array.nbytes for array in arrays.values())

    def read_block(self, block: int, name: str) -> Array:
        """All rows of a block."""
        dtype, shape = self.columns[name]
        size = self._path(block, name).stat().st_size // (dtype.itemsize * int(np.prod(shape)))
        return read_runs(self._path(block, name), np.array([[0, size]]), dtype, shape)

    def _bounds(self, cells: Array) -> tuple[Array, Array]:
        """First and last row (n_blocks, n_cells) of cells in the files."""
        starts = [np.fromfile(self._path(block, "starts"), dtype=np.int64) for block in range(self.n_blocks)]
        return np.array([one[cells] for one in starts]), np.array([one[cells + 1] for one in starts])

    def _path(self, block: int, name: str) -> Path:
        return self.folder / f"block-{block}-{name}"


def write_array(path: Path, array: Array) -> int:
    """Write an array without a header; the file has its name once it is complete. Returns the number of bytes."""
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with temporary.open("wb") as file:
        file.write(np.ascontiguousarray(array).data)
    os.replace(temporary, path)  # noqa: PTH105
    return array.nbytes


def write_range(path: Path, offset: int, array: Array) -> int:
    """Write an array into a file from a byte on; return the number of bytes."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(np.ascontiguousarray(array).data)
    return array.nbytes


def read_runs(path: Path, runs: Array, dtype: np.dtype, shape: tuple[int, ...]) -> Array:
    """Rows first <= i < last of a file for each of the ``runs`` (n_runs, 2), one after the other."""
    sizes = runs[:, 1] - runs[:, 0]
    array = np.empty((int(sizes.sum()), *shape), dtype=dtype)
    width = dtype.itemsize * int(np.prod(shape))
    target = array.reshape(-1).view(np.uint8)
    place = 0
    with path.open("rb") as file:
        for first, size in zip(runs[:, 0], sizes, strict=True):
            if size:
                file.seek(int(first) * width)
                if file.readinto(target[place : place + int(size) * width].data) != int(size) * width:
                    raise OSError(f"{path} is shorter than it was written")
                place += int(size) * width
    return array
