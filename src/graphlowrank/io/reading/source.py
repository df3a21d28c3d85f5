"""Any table, by the extension of its file."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .hdf5 import read_hdf5
from .hdf5_kinds import read_h5ad, read_mat73
from .market import read_market
from .matlab import is_hdf5, read_mat
from .npy import read_npy, read_npz
from .parquet import read_parquet
from .pictures import read_pictures
from .table import Table, settle, transposed
from .text import read_text
from .zarr_store import is_zarr, read_zarr


@dataclass(frozen=True)
class _Options:
    key: str | None
    header: bool | None
    index: bool | None
    graph: str | None


def _text(path: Path, options: _Options) -> Table:
    return read_text(path, header=options.header, index=options.index)


def _mat(path: Path, options: _Options) -> Table:
    return read_mat73(path, options.key) if is_hdf5(path) else read_mat(path, options.key)


# Extension: what reads it, and which options it takes.
_READERS: dict[str, tuple[Callable[[Path, _Options], Table], tuple[str, ...]]] = {
    ".csv": (_text, ("header", "index")),
    ".csv.gz": (_text, ("header", "index")),
    ".tsv": (_text, ("header", "index")),
    ".tsv.gz": (_text, ("header", "index")),
    ".parquet": (lambda path, _: read_parquet(path), ()),
    ".npy": (lambda path, _: read_npy(path), ()),
    ".npz": (lambda path, options: read_npz(path, options.key), ("key",)),
    ".mat": (_mat, ("key",)),
    ".h5": (lambda path, options: read_hdf5(path, options.key), ("key",)),
    ".hdf5": (lambda path, options: read_hdf5(path, options.key), ("key",)),
    ".h5ad": (lambda path, options: read_h5ad(path, options.key, options.graph), ("key", "graph")),
    ".zarr": (lambda path, options: read_zarr(path, options.key), ("key",)),
    ".mtx": (lambda path, _: read_market(path), ()),
    ".mtx.gz": (lambda path, _: read_market(path), ()),
    "": (lambda path, _: read_pictures(path), ()),
}
EXTENSIONS = tuple(extension for extension in _READERS if extension)


def read(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    header: bool | None = None,
    index: bool | None = None,
    graph: str | None = None,
    transpose: bool = False,
) -> Table:
    r"""Read a table of numbers, samples by features.

    Parameters
    ----------
    path
        - .csv, .tsv (also .gz): numbers as float64. The delimiter of a .csv file is found among comma, semicolon and
          tab. Empty cells, NA, NaN and nan are missing values, NaN. UTF-8 text.
        - .parquet: the names of samples are pandas' index, or the first column of text.
        - .npy: mapped, not loaded.
        - .npz: numpy's, or a matrix of scipy.sparse.save_npz, which stays sparse.
        - .mat: Matlab's of version 5 and later, 7.3 too; sparse matrices stay sparse.
        - .h5, .hdf5: an array, or a group with data, indices and indptr, which stays sparse. An array that is neither
          packed nor in chunks is mapped; others are loaded, block by block.
        - .zarr: a folder, of version 2 or 3; loaded block by block.
        - .h5ad: AnnData; X, or a layer, as in .h5. Nothing else of the file is read but names.
        - .mtx (also .gz): Matrix Market; what it lists by coordinates stays sparse.
        - a folder of pictures of one size: each is a sample, its pixels in grey are the features.
    key
        Which array of an .npz, .mat, .h5 or .zarr file ("group/array" for those in groups); which layer of an .h5ad
        file, or "raw". Without it: the only table with two axes, or the one called X, data, fea or values.
    header, index
        Whether the first row and the first column of a text file hold names. Without it this is found: the first row
        is a header unless it has numbers, the first column holds names if they are no numbers or the header above it
        is empty.
    graph
        Which graph of an .h5ad file (in ``obsp``) to read, too: for instance "connectivities".
    transpose
        Whether the file has samples in columns, as those of 10x Genomics do.

    Returns
    -------
    Table
        With values that may be NaN or infinite: a file may have them; estimators say what they take.

    Raises
    ------
    ValueError
        One sentence that names the file: it is damaged, no table of numbers, or larger than memory; or an option that
        this kind of file does not have. Sizes are checked before memory is taken. Nothing in a file is executed.
    OSError
        If it is not there, or may not be read.
    ImportError
        If the package that reads this kind of file is missing.

    Notes
    -----
    A mapped file must not change while its values are in use. HDF5 files are opened by a second process, because the
    library that reads them can crash on damaged ones.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "flowers.csv")
    ...     _ = path.write_text("name,length,width\nrose,5.1,3.5\nlily,4.9,NA\n")
    ...     table = read(path)
    >>> table
    Table(shape=(2, 2), dtype=float64, in memory)
    >>> table.sample_names, table.feature_names
    (('rose', 'lily'), ('length', 'width'))
    """
    path = Path(path)
    options = _Options(key, header, index, graph)
    extension = _extension(path)
    reader, takes = _READERS[extension]
    for name in ("key", "header", "index", "graph"):
        if getattr(options, name) is not None and name not in takes:
            raise ValueError(f"{path} takes no {name}: that is for {', '.join(_taking(name))} files.")
    table = settle(reader(path, options), path)
    if transpose and graph is not None:
        raise ValueError(f"{path} is not read transposed with its graph, which is one of samples.")
    return transposed(table) if transpose else table


def _taking(option: str) -> list[str]:
    return [extension for extension, (_, takes) in _READERS.items() if option in takes]


def _extension(path: Path) -> str:
    """Extension as in the table of readers; that of a folder of pictures is empty."""
    if path.is_dir():
        return ".zarr" if is_zarr(path) or path.suffix.lower() == ".zarr" else ""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    extension = "".join(suffixes) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])
    if extension and extension in _READERS:
        return extension
    path.stat()  # a folder that is not there has no extension either
    raise ValueError(f"{path} is not of a known kind: a folder of pictures or a file {', '.join(EXTENSIONS)}.")
