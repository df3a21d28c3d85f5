"""Readers of the file formats that data sets come in.

Every reader says in one ValueError which file is damaged or not what it should be. Sizes are checked before memory is
taken for them, nothing is unpacked to disk, and nothing stored as Python objects is read.
"""

from __future__ import annotations

import gzip
import io
import math
import re
import zipfile
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.lib import format as npy_format
from scipy.io import loadmat

from .._backend import Array
from .._file_errors import reading

MAX_BYTES = 2**31  # of one array; the largest here has 161 MB
MAX_PICTURE_BYTES = 2**24


def expect(condition: object, path: Path, what: str) -> None:
    """Raise ValueError unless the file holds what it should."""
    if not condition:
        raise ValueError(f"{path} is not the file expected: it should hold {what}.")


def read_idx(path: Path) -> Array:
    """Array of a gzipped idx file: magic (0, 0, type, ndim), big-endian sizes, bytes."""
    with reading(path), gzip.open(path) as file:
        magic = file.read(4)
        if len(magic) < 4 or magic[:3] != b"\x00\x00\x08":
            raise ValueError("it is not an idx file of bytes")
        shape = tuple(int(size) for size in np.frombuffer(file.read(4 * magic[3]), ">u4"))
        due = _size(shape)
        raw = file.read(due)
        if len(raw) < due:
            raise ValueError(f"it is truncated: {len(raw)} bytes where {due} are due")
        if file.read(1):  # reading on to the end also makes gzip check its sum
            raise ValueError(f"it has more than the {due} bytes that are due")
        return np.frombuffer(raw, np.uint8).reshape(shape)


def read_npz(path: Path, *names: str) -> list[Array]:
    """Arrays of an npz file by their names."""
    with reading(path), zipfile.ZipFile(path) as archive:
        return [_npy(read_member(archive, f"{name}.npy", MAX_BYTES)) for name in names]


def _npy(raw: bytes) -> Array:
    """Array of an npy file; one of Python objects is refused, and a header cannot claim more than the file has."""
    file = io.BytesIO(raw)
    if npy_format.read_magic(file) != (1, 0):
        raise ValueError("it has an array in an unknown version of numpy's format")
    shape, by_columns, dtype = npy_format.read_array_header_1_0(file)
    flat = np.frombuffer(raw, dtype, offset=file.tell())
    return flat.reshape(shape, order="F" if by_columns else "C").copy(order="C")


def read_member(archive: zipfile.ZipFile, name: str, at_most: int) -> bytes:
    """Bytes of one member of a zip file, its sum checked; refused if it says it is larger than ``at_most``."""
    if name not in archive.NameToInfo:
        raise ValueError(f"it holds no {name}")
    size = archive.NameToInfo[name].file_size
    if size > at_most:
        raise ValueError(f"{name} claims {size} bytes, more than the {at_most} allowed")
    with archive.open(name) as member:
        raw = member.read(size)  # never more than it claims, whatever is packed in it
    if len(raw) < size:
        raise ValueError(f"{name} is truncated")
    return raw


def read_mat(path: Path, *names: str) -> list[Array]:
    """Arrays of a Matlab file (up to version 7.2) by their names."""
    with reading(path):
        found = loadmat(path, variable_names=names)
        missing = [name for name in names if name not in found]
        if missing:
            raise ValueError(f"it holds no {missing[0]}")
        return [found[name] for name in names]


def read_pictures(path: Path, mode: Literal["L", "RGB"] = "L") -> tuple[Array, Array]:
    """Pictures of a zip file of numbered JPEG files, all of one size.

    Parameters
    ----------
    path
        Zip file.
    mode
        "L" for grey, "RGB" for colour.

    Returns
    -------
    pictures
        (n, height, width) bytes, or (n, height, width, 3), by number.
    numbers
        (n,) the last number in the name of each.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("Reading JPEG pictures needs Pillow: pip install graphlowrank[data]") from error

    with reading(path), zipfile.ZipFile(path) as archive:
        names = sorted(archive.namelist(), key=_number)
        numbers = np.array([_number(name) for name in names], dtype=int)
        if len(np.unique(numbers)) < max(len(names), 1):
            raise ValueError("it holds no pictures, or two of the same number")
        pictures = np.empty((0,), dtype=np.uint8)
        for row, name in enumerate(names):
            raw = io.BytesIO(read_member(archive, name, MAX_PICTURE_BYTES))
            with Image.open(raw, formats=["JPEG"]) as picture:
                shape = picture.size[::-1] + ((3,) if mode == "RGB" else ())
                if row == 0:
                    _size((len(names), *shape))
                    pictures = np.empty((len(names), *shape), dtype=np.uint8)
                if shape != pictures.shape[1:]:  # known before a single pixel is decoded
                    raise ValueError(f"{name} is {picture.size[0]} x {picture.size[1]} pixels, unlike the first")
                pictures[row] = np.asarray(picture.convert(mode))
    return pictures, numbers


def _number(name: str) -> int:
    found = re.search(r"(\d{1,9})\.jpe?g$", name, re.IGNORECASE)
    if found is None:
        raise ValueError(f"{name!r} is not the name of a numbered JPEG file")
    return int(found[1])


def _size(shape: tuple[int, ...]) -> int:
    """Bytes of an array of bytes; an error if absurdly many."""
    size = math.prod(shape)
    if size > MAX_BYTES:
        raise ValueError(f"an array of shape {shape} is larger than the {MAX_BYTES} bytes allowed")
    return size
