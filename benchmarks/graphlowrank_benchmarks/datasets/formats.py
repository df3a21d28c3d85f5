"""Readers of the file formats of the real data sets.

A damaged or foreign file raises one ValueError that names it. Sizes are checked before memory is allocated, nothing is
unpacked to disk, and nothing is unpickled.
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

from ..internals import Array, reading

MAX_BYTES = 2**31  # of one array; the largest of these data sets has 161 MB
MAX_IMAGE_BYTES = 2**24  # of one compressed image


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
        size = _checked_size(shape)
        raw = file.read(size)
        if len(raw) < size:
            raise ValueError(f"it is truncated: {len(raw)} of {size} bytes")
        if file.read(1):  # reading to the end also verifies the checksum of gzip
            raise ValueError(f"it has more than the {size} bytes of its shape")
        return np.frombuffer(raw, np.uint8).reshape(shape)


def read_npz(path: Path, *names: str) -> list[Array]:
    """Arrays of an npz file by name, C-contiguous."""
    with reading(path), zipfile.ZipFile(path) as archive:
        raw = [io.BytesIO(read_member(archive, f"{name}.npy", MAX_BYTES)) for name in names]
        return [np.ascontiguousarray(npy_format.read_array(file, allow_pickle=False)) for file in raw]


def read_member(archive: zipfile.ZipFile, name: str, max_bytes: int) -> bytes:
    """Bytes of one member of a zip file, with verified checksum; refused if larger than ``max_bytes``."""
    if name not in archive.NameToInfo:
        raise ValueError(f"it holds no {name}")
    size = archive.NameToInfo[name].file_size
    if size > max_bytes:
        raise ValueError(f"{name} claims {size} bytes, more than the {max_bytes} allowed")
    with archive.open(name) as member:
        raw = member.read(size)  # never more than it claims, whatever it unpacks to
    if len(raw) < size:
        raise ValueError(f"{name} is truncated")
    return raw


def read_mat(path: Path, *names: str) -> list[Array]:
    """Arrays of a Matlab file (up to version 7.2) by name."""
    with reading(path):
        found = loadmat(path, variable_names=names)
        missing = [name for name in names if name not in found]
        if missing:
            raise ValueError(f"it holds no {missing[0]}")
        return [found[name] for name in names]


def read_jpegs(path: Path, mode: Literal["L", "RGB"] = "L", *, max_bytes: int = MAX_BYTES) -> tuple[Array, Array]:
    """Images (n, height, width[, 3]) of a zip file of numbered JPEG files of one size, and their numbers (n,)."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("Reading JPEG images needs Pillow: pip install graphlowrank[io]") from error

    with reading(path), zipfile.ZipFile(path) as archive:
        names = sorted(archive.namelist(), key=_number)
        numbers = np.array([_number(name) for name in names], dtype=int)
        if len(np.unique(numbers)) < max(len(names), 1):
            raise ValueError("it holds no images, or two of the same number")
        images = np.empty((0,), dtype=np.uint8)
        for row, name in enumerate(names):
            raw = io.BytesIO(read_member(archive, name, MAX_IMAGE_BYTES))
            with Image.open(raw, formats=["JPEG"]) as image:
                shape = image.size[::-1] + ((3,) if mode == "RGB" else ())
                if row == 0:
                    _checked_size((len(names), *shape), max_bytes)
                    images = np.empty((len(names), *shape), dtype=np.uint8)
                if shape != images.shape[1:]:  # known from the header, before a pixel is decoded
                    raise ValueError(f"{name} is {image.size[0]} x {image.size[1]} pixels, unlike the first")
                images[row] = np.asarray(image.convert(mode))
    return images, numbers


def _number(name: str) -> int:
    found = re.search(r"(\d{1,9})\.jpe?g$", name, re.IGNORECASE)
    if found is None:
        raise ValueError(f"{name!r} is not the name of a numbered JPEG file")
    return int(found[1])


def _checked_size(shape: tuple[int, ...], max_bytes: int = MAX_BYTES) -> int:
    """Size of an array of bytes; ValueError if too large."""
    size = math.prod(shape)
    if size > max_bytes:
        raise ValueError(f"an array of shape {shape} is larger than the {max_bytes} bytes allowed")
    return size
