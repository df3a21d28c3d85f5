"""A dask array of the rows of any source: dask collections, files, and arrays of zarr, h5py and numpy."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..io.contents import need
from ..io.lazy import open_rows
from ..preprocessing.rows import fixed_blocks


@dataclass(frozen=True, eq=False)
class Source:
    """Rows of a dask array (n_samples, n_features), all features in a chunk, and their name in messages."""

    array: Any
    name: str

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        n, p = self.array.shape
        return int(n), int(p)


def is_lazy(X: Any) -> bool:
    """Whether X is a source, a path, or an array or a table of dask, zarr or h5py."""
    if isinstance(X, Source | str | os.PathLike):
        return True
    package = type(X).__module__.partition(".")[0]
    return package in ("dask", "dask_expr", "zarr", "h5py") and hasattr(X, "shape")


def is_mapped(X: Any) -> bool:
    """Whether X is a numpy array on disk."""
    return isinstance(X, np.memmap)


def open_source(X: Any, key: str | None = None) -> Source:
    """Return the rows of X: a dask array or table, a path, or an array of zarr, h5py or numpy.

    ``key`` is the name of the array in an HDF5 or zarr file that holds several.
    """
    if isinstance(X, Source):
        return X
    need("dask", "Fitting data that are not in memory")
    import dask.array as da

    name = "X"
    if isinstance(X, str | os.PathLike):
        rows = open_rows(Path(X), key)
        array, name = da.from_array(rows, chunks=_chunks(rows.shape, rows.chunk)), str(X)
    elif type(X).__module__.partition(".")[0] == "h5py":
        return open_source(X.file.filename, X.name)
    elif type(X).__module__.partition(".")[0] == "zarr":
        array = da.from_zarr(X)
    elif is_mapped(X):
        array = da.from_array(X, chunks=_chunks(X.shape))
    else:
        array = X.to_dask_array(lengths=True) if hasattr(X, "to_dask_array") else X
    if array.ndim != 2:
        raise ValueError(f"{name} must have two axes, samples and features; its shape is {array.shape}.")
    if array.dtype.kind not in "buif":
        raise ValueError(f"{name} must hold real numbers, not values of type {array.dtype}.")
    if any(np.isnan(length) for length in array.shape):
        array = array.compute_chunk_sizes()
    if min(array.shape) < 1:
        raise ValueError(f"{name} has no {'samples' if array.shape[0] < 1 else 'features'}.")
    return Source(array.rechunk({1: -1}), name)


def open_in_blocks(path: Path, key: str | None = None) -> Source:
    """Return the rows of a file in the fixed blocks: what is computed of them is computed block by block, too."""
    need("dask", "Fitting data that are not in memory")
    import dask.array as da

    rows = open_rows(path, key)
    lengths = tuple(block.stop - block.start for block in fixed_blocks(rows.shape))
    return Source(da.from_array(rows, chunks=(lengths, -1)), str(path))


def _chunks(shape: Sequence[int], stored: int = 0) -> tuple[int, int]:
    """Chunks of about a fixed block, in whole chunks of the file."""
    block = fixed_blocks(shape)[0]
    rows = block.stop - block.start
    return rows if stored < 1 else max(rows // stored, 1) * stored, int(shape[1])
