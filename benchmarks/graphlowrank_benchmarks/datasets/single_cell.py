"""Loaders of single-cell gene expression: one cell per row, labels from 0."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ..internals import Array, reading
from .files import Folder, find_file
from .formats import expect, read_npz

if TYPE_CHECKING:
    import h5py

BLOCK_ROWS = 128
MAX_ENTRIES = 2**31
WORM_FILE, PBMC_FILE = "scrna/worm_neuron_cell.h5", "scrna/pbmc68k_reduced.npz"


def load_worm_neurons(*, folder: Folder = None) -> tuple[sp.csr_array, Array]:
    """Neurons of the worm C. elegans: raw gene counts (Cao et al. 2017).

    Needs h5py (``pip install graphlowrank[io]``). The matrix is never dense in memory.

    Parameters
    ----------
    folder : path or None, default=None
        Folder with ``scrna/worm_neuron_cell.h5``; None searches ``$GRAPHLOWRANK_DATA`` and the user's cache.

    Returns
    -------
    X : float32 csr_array of shape (4186, 13488)
        Counts of genes in cells, 1.4 % of them nonzero.
    y : ndarray of shape (4186,)
        Clusters 0 to 9 of the original study, which have no names.
    """
    path = find_file(WORM_FILE, folder)
    try:
        import h5py
    except ImportError as error:
        raise ImportError("Reading the worm neurons needs h5py: pip install graphlowrank[io]") from error

    with reading(path), h5py.File(path, "r") as file:
        counts, labels = _dataset(file, "X", 2), _dataset(file, "Y", 1)
        X = sp.vstack([sp.csr_array(block.astype(np.float32)) for block in _blocks(counts)], format="csr")
        y = np.asarray(labels[:])
    expect(len(y) == X.shape[0] and np.all(y == np.rint(y)) and y.min() >= 1, path, "labels 1, 2, ... of the cells")
    expect(np.all(X.data > 0) and np.all(np.isfinite(X.data)), path, "counts")
    return X, y.astype(int) - 1


def _dataset(file: h5py.File, name: str, ndim: int) -> h5py.Dataset:
    if name not in file:
        raise ValueError(f"it holds no {name}")
    dataset = file[name]
    shape = getattr(dataset, "shape", ())
    if len(shape) != ndim or 0 in shape or dataset.dtype.kind not in "uif":
        raise ValueError(f"{name} is not an array of numbers with {ndim} axes")
    if dataset.size > MAX_ENTRIES:
        raise ValueError(f"{name} claims the absurd shape {shape}")
    return dataset


def _blocks(dataset: h5py.Dataset) -> Iterator[Array]:
    """Blocks of rows of an HDF5 table."""
    one_filter = dataset.id.get_create_plist().get_nfilters() == 1
    if one_filter and dataset.chunks == dataset.shape and dataset.compression == "gzip":
        yield from _inflated_blocks(dataset)
        return
    step = max(BLOCK_ROWS, dataset.chunks[0] if dataset.chunks else 0)
    for start in range(0, len(dataset), step):
        yield dataset[start : start + step]


def _inflated_blocks(dataset: h5py.Dataset) -> Iterator[Array]:
    """Blocks of rows of a table that is one compressed chunk, which HDF5 would inflate whole for any of its rows."""
    unfiltered, packed = dataset.id.read_direct_chunk((0, 0))
    if unfiltered:
        raise ValueError("X is not compressed as its header says")
    inflate = zlib.decompressobj()
    n_rows, n_columns = dataset.shape
    for start in range(0, n_rows, BLOCK_ROWS):
        rows = min(BLOCK_ROWS, n_rows - start)
        size = rows * n_columns * dataset.dtype.itemsize
        raw = inflate.decompress(packed, size)
        packed = inflate.unconsumed_tail
        if len(raw) < size:
            raise ValueError("X is truncated")
        yield np.frombuffer(raw, dataset.dtype).reshape(rows, n_columns)
    if inflate.decompress(packed, 1) or not inflate.eof:  # the end of the stream has its checksum
        raise ValueError("X has more entries than its shape")


def load_pbmc(*, folder: Folder = None) -> tuple[Array, Array]:
    """White blood cells, 700 of the 68000 of Zheng et al. 2017: log-normalized gene counts.

    Parameters
    ----------
    folder : path or None, default=None
        Folder with ``scrna/pbmc68k_reduced.npz``; None searches ``$GRAPHLOWRANK_DATA`` and the user's cache.

    Returns
    -------
    X : float32 ndarray of shape (700, 765)
        Logarithm of one plus the normalized counts of genes.
    y : ndarray of shape (700,)
        Cell types 0 to 9, of 8 to 240 cells each; :func:`pbmc_names` has their names.
    """
    path = find_file(PBMC_FILE, folder)
    X, y = read_npz(path, "lognorm", "labels")
    expect(X.ndim == 2 and len(X) and X.dtype.kind == "f", path, "a table of numbers")
    expect(y.shape == (len(X),) and y.dtype.kind in "ui" and y.min() >= 0, path, "one label for each cell")
    return np.ascontiguousarray(X, dtype=np.float32), y.astype(int)


def pbmc_names(*, folder: Folder = None) -> tuple[list[str], list[str]]:
    """Names of the cell types (by label) and of the genes (by column) of :func:`load_pbmc`."""
    path = find_file(PBMC_FILE, folder)
    types, genes = read_npz(path, "label_names", "genes")
    expect(types.dtype.kind == genes.dtype.kind == "U" and types.ndim == genes.ndim == 1, path, "two lists of names")
    return types.tolist(), genes.tolist()
