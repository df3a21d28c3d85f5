"""A matrix to any of the formats, some rows at a time."""

from __future__ import annotations

import csv
import io
import os
import struct
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from scipy.io.matlab import savemat

from ..._files import writing
from ..packages import need
from .hdf5 import write_h5, write_h5ad
from .places import placing
from .rows import Rows

_MAT_LIMIT = 2**31  # bytes of one variable of version 5
_MAT_CLASSES = {"f8": (6, 9), "f4": (7, 7), "i1": (8, 1), "u1": (9, 2), "i2": (10, 3), "u2": (11, 4), "i4": (12, 5),
                "u4": (13, 6), "i8": (14, 12), "u8": (15, 13)}  # fmt: skip


def write_matrix(
    path: str | os.PathLike[str],
    matrix: Any,
    sample_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
) -> None:
    r"""Write a matrix, samples by features; the file is whole or not there.

    Parameters
    ----------
    path
        A file .csv, .tsv, .parquet, .npy, .npz, .mat (version 5), .h5, .hdf5 or .h5ad, or a folder .zarr. Older ones
        are replaced. In .npz, .mat, .h5, .zarr and .h5ad files the matrix is called X. An .npy file holds no names.
    matrix
        Real numbers: an array, a scipy.sparse matrix, a :class:`~graphlowrank.LowRankMatrix`, or anything with
        ``shape`` whose slices ``matrix[a:b]`` are arrays. It is decoded block by block, never as a whole; for .mat
        files by ``matrix[:, a:b]``, as Matlab has it. Half precision and booleans are widened.
    sample_names, feature_names
        Names of rows and columns.

    Raises
    ------
    ValueError
        If the extension is not known, or what is to be written is no matrix of real numbers.
    OSError
        "cannot write <path>: <reason>".
    ImportError
        If the package that writes this kind of file is missing.

    Examples
    --------
    >>> import tempfile
    >>> from graphlowrank.tables import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "clean.csv")
    ...     write_matrix(path, np.eye(2), ["a", "b"], ["x", "y"])
    ...     path.read_text()
    ',x,y\na,1.0,0.0\nb,0.0,1.0\n'
    """
    rows = Rows.of(matrix, sample_names, feature_names)
    extension = Path(path).suffix.lower()
    if extension not in WRITERS:
        raise ValueError(f"{os.fspath(path)} is not of a known kind: {', '.join(WRITERS)}.")
    WRITERS[extension](Path(path), rows)


def _write_text(path: Path, rows: Rows) -> None:
    with writing(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
        out = csv.writer(text, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", lineterminator="\n")
        names = iter(rows.sample_names or ())
        features = rows.feature_names
        if rows.sample_names is not None:  # an empty cell above them tells a reader what they are
            features = ("", *(features or map(str, range(rows.shape[1]))))
        if features is not None:
            out.writerow(features)
        for block in rows.blocks():
            # Single precision as numpy writes it, which is shorter; Python knows only double.
            lines = map(list, block) if block.dtype == np.float32 else block.tolist()
            out.writerows([next(names), *line] for line in lines) if rows.sample_names else out.writerows(lines)
        text.detach()


def _write_parquet(path: Path, rows: Rows) -> None:
    parquet = need("pyarrow.parquet", "Writing parquet files")
    import pyarrow as pa

    features = rows.feature_names or tuple(map(str, range(rows.shape[1])))
    kind = pa.from_numpy_dtype(rows.dtype)
    index = "sample"
    while index in features:  # two columns of one name could not be read back
        index += "_"
    first = [pa.field(index, pa.string())] if rows.sample_names else []
    schema = pa.schema([*first, *(pa.field(name, kind) for name in features)])
    with writing(path) as file, parquet.ParquetWriter(file, schema) as out:
        start = 0
        for block in rows.blocks():
            names = [pa.array(rows.sample_names[start : start + len(block)])] if rows.sample_names else []
            columns = [pa.array(column) for column in np.ascontiguousarray(block.T)]
            out.write_batch(pa.RecordBatch.from_arrays([*names, *columns], schema=schema))
            start += len(block)


def _write_npy(path: Path, rows: Rows) -> None:
    with writing(path) as file:
        _npy(file, rows)


def _npy(file: IO[bytes], rows: Rows) -> None:
    header = {"descr": npy_format.dtype_to_descr(rows.dtype), "fortran_order": False, "shape": rows.shape}
    npy_format.write_array_header_1_0(file, header)
    for block in rows.blocks():
        file.write(block.data)


def _write_npz(path: Path, rows: Rows) -> None:
    with writing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("X.npy", "w", force_zip64=True) as member:
            _npy(member, rows)
        for name, names in {"sample_names": rows.sample_names, "feature_names": rows.feature_names}.items():
            if names is not None:
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    npy_format.write_array(member, np.array(names, dtype=str), allow_pickle=False)


def _write_mat(path: Path, rows: Rows) -> None:
    """Matlab's version 5: the values as one element, column after column; the names as scipy writes cells."""
    size = rows.shape[0] * rows.shape[1] * rows.dtype.itemsize
    if size >= _MAT_LIMIT or max(rows.shape) >= 2**31:
        raise ValueError(f"{path} cannot hold 2 GiB or more, as .mat files of version 5; write an .h5 file.")
    with writing(path) as file:
        names = {"sample_names": rows.sample_names, "feature_names": rows.feature_names}
        cells = {name: np.array(found, dtype=object) for name, found in names.items() if found is not None}
        savemat(file, cells)  # also the head of the file
        kind, stored = _MAT_CLASSES[rows.dtype.str[1:]]
        head = struct.pack("<IIIIIIiiIII", 6, 8, kind, 0, 5, 8, *rows.shape, (1 << 16) | 1, ord("X"), stored)
        file.write(struct.pack("<II", 14, len(head) + 4 + size + -size % 8) + head + struct.pack("<I", size))
        for block in rows.column_blocks():
            file.write(block.astype(rows.dtype.newbyteorder("<"), copy=False).data)
        file.write(bytes(-size % 8))


def _write_zarr(path: Path, rows: Rows) -> None:
    zarr = need("zarr", "Writing zarr folders")
    names = {"sample_names": rows.sample_names, "feature_names": rows.feature_names}
    with placing(path) as place:
        group = zarr.open_group(
            store=str(place), mode="w", attributes={name: list(found) for name, found in names.items() if found}
        )
        start = 0
        out = None
        for block in rows.blocks():
            if out is None:
                out = group.create_array("X", shape=rows.shape, dtype=rows.dtype, chunks=block.shape)
            out[start : start + len(block)] = block
            start += len(block)


WRITERS: dict[str, Callable[[Path, Rows], None]] = {
    ".csv": _write_text,
    ".tsv": _write_text,
    ".parquet": _write_parquet,
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".mat": _write_mat,
    ".h5": write_h5,
    ".hdf5": write_h5,
    ".h5ad": write_h5ad,
    ".zarr": _write_zarr,
}
