"""The formats by extension, and the functions that read and write a matrix in any of them.

A new format is one module, with functions ``read(path, **options)`` and ``write(path, rows)``, and one entry of
``FORMATS``.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from .columns import Choice
from .contents import need
from .table import Rows, Table, checked, from_worker, transposed
from .worker import run_guarded
from .zarr import is_zarr

COLUMN_OPTIONS = ("index", "ignore", "label", "numeric")
PICTURES = ""  # the extension of a folder of images


@dataclass(frozen=True)
class Format:
    """How a kind of file is read and written; functions are named ".module:function" and imported on first use."""

    extensions: tuple[str, ...]  # those that end in .gz are only read
    reader: str | None = None  # reader(path, **options) -> Table, or what run_guarded can send if it is guarded
    writer: str | None = None  # writer(path, Rows)
    label_writer: str | None = None  # label_writer(path, Labels)
    options: tuple[str, ...] = ()  # of ``read`` that the reader takes
    package: str | None = None  # optional package that it needs
    is_guarded: bool = False  # its library can crash or hang on damaged files: read in a child process


FORMATS = [
    Format((".csv", ".csv.gz", ".tsv", ".tsv.gz"), ".text:read_text", ".text:write_text", ".labels:write_text",
           options=("header", *COLUMN_OPTIONS)),
    Format((".parquet",), ".parquet:read_parquet", ".parquet:write_parquet", ".labels:write_parquet",
           options=COLUMN_OPTIONS, package="pyarrow"),
    Format((".json",), label_writer=".labels:write_json"),
    Format((".npy",), ".npy:read_npy", ".npy:write_npy", ".labels:write_npy"),
    Format((".npz",), ".npy:read_npz", ".npy:write_npz", ".labels:write_npz", options=("key",)),
    Format((".mat",), ".scipy_io:read_matlab", ".scipy_io:write_matlab", options=("key",), is_guarded=True),
    Format((".h5", ".hdf5"), ".hdf5:read_hdf5", ".hdf5:write_hdf5", options=("key",), package="h5py", is_guarded=True),
    Format((".h5ad",), ".hdf5:read_h5ad", ".hdf5:write_h5ad", ".hdf5:write_h5ad_labels", options=("key", "graph"),
           package="h5py", is_guarded=True),
    Format((".zarr",), ".zarr:read_zarr", ".zarr:write_zarr", options=("key",), package="zarr", is_guarded=True),
    Format((".mtx", ".mtx.gz"), ".scipy_io:read_market", is_guarded=True),
    Format((PICTURES,), ".images:read_images", ".images:write_images", package="PIL"),
]  # fmt: skip


def read(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    header: bool | None = None,
    index: bool | None = None,
    graph: str | None = None,
    transpose: bool = False,
    ignore: Sequence[str] = (),
    label: str | None = None,
    numeric: Sequence[str] = (),
) -> Table:
    """Read a table of numbers, samples by features; ``FORMATS`` lists the extensions.

    ``key`` is the array of a file that holds several ("group/array" in HDF5), or the layer of an .h5ad file, or "raw";
    by default the only array with two axes, or one of a usual name. ``header`` and ``index`` are detected if None.
    ``graph`` is one in ``obsp`` of an .h5ad file. ``ignore``, ``label`` and ``numeric`` are columns of text and
    .parquet files, by name, or by number from 1 without a header; see :mod:`.columns`. ``transpose`` is for files with
    samples in columns.

    Sparse matrices stay sparse; .npy files and uncompressed HDF5 arrays are mapped, so they must not change while in
    use. Values may be NaN or infinite. Raises ValueError if a file is damaged, no table of numbers or larger than
    memory, which is checked before memory is allocated, or if it is not clear what a column is. Nothing in a file is
    executed.
    """
    path = Path(path)
    extension, found = _format_to_read(path)
    choice = Choice(index, tuple(ignore), label, tuple(numeric), transpose)
    options: dict[str, Any] = {
        "key": key, "header": header, "graph": graph,
        "index": index, "ignore": choice.ignore or None, "label": label, "numeric": choice.numeric or None,
    }  # fmt: skip
    for name, value in options.items():
        if value is not None and name not in found.options:
            taking = [each for other in FORMATS if name in other.options for each in other.extensions]
            raise ValueError(f"{path} takes no {name}: that is for {', '.join(taking)} files.")
    path.stat()
    need(found.package, "Reading a folder of pictures" if extension == PICTURES else f"Reading {extension} files")
    reader = _full_name(str(found.reader))
    options = {name: options[name] for name in found.options if name not in COLUMN_OPTIONS}
    options |= {"choice": choice} if "index" in found.options else {}
    if found.is_guarded:
        table = from_worker(run_guarded(reader, path, **options), path)
    else:
        table = resolve_name(reader)(path, **options)
    table = checked(table, path)
    if transpose and graph is not None:
        raise ValueError(f"{path} is not read transposed with its graph, which is one of samples.")
    return transposed(table) if transpose else table


def write_matrix(
    path: str | os.PathLike[str],
    matrix: Any,
    sample_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    *,
    picture: tuple[int, int] | None = None,
    white: int = 255,
) -> None:
    """Write a matrix, samples by features; an interrupted write leaves no file.

    The matrix is an array, a scipy.sparse matrix, or anything with ``shape`` whose slices ``matrix[a:b]`` are arrays.
    It is decoded block by block and, but for .mat files, never as a whole. Its name in files that hold several arrays
    is X. A path without extension is a folder of PNG files, if samples are images: ``picture`` is their height and
    width, ``white`` their largest value.
    """
    rows = replace(Rows.of(matrix, sample_names, feature_names), picture=picture, white=white)
    find_writer(Path(path), pictures=picture is not None)(Path(path), rows)


def find_writer(path: Path, kind: str = "writer", *, pictures: bool = False) -> Callable[..., None]:
    """Return the function that writes matrices ("writer") or labels ("label_writer"); raise before the work if none.

    ``pictures``: a path without extension is a folder of images.
    """
    known = {each: found for found in FORMATS if getattr(found, kind) for each in found.extensions
             if not each.endswith(".gz") and (pictures or each != PICTURES)}  # fmt: skip
    extension = path.suffix.lower()
    if extension not in known:
        raise ValueError(f"{path} is not of a known kind: {', '.join(filter(None, known))}.")
    need(known[extension].package, f"Writing {extension or 'picture'} files")
    writer: Callable[..., None] = resolve_name(_full_name(getattr(known[extension], kind)))
    return writer


def _format_to_read(path: Path) -> tuple[str, Format]:
    known = {each: found for found in FORMATS if found.reader for each in found.extensions}
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    extension = "".join(suffixes if suffixes[-1:] == [".gz"] else suffixes[-1:])
    if path.is_dir():
        extension = ".zarr" if is_zarr(path) or extension == ".zarr" else PICTURES
    elif extension == PICTURES or extension not in known:
        path.stat()  # a folder that does not exist has no extension either
        files = ", ".join(filter(None, known))
        raise ValueError(f"{path} is not of a known kind: a folder of pictures or a file {files}.")
    return extension, known[extension]


def _full_name(name: str) -> str:
    return f"{__package__}{name}" if name.startswith(".") else name
