"""Frames in arrays, in memory or in .npy and .npz files."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy_format

from ..._backend import Array
from ..._file_errors import reading

MAX_NPZ_BYTES = 2**33  # an array in a zip file must be unpacked to memory, one in an .npy file need not


@dataclass(frozen=True)
class ArrayReader:
    """Frames of an array (time, height, width[, channels]); see :class:`~graphlowrank.video.reading.source.Reader`."""

    frames: Array
    name: str
    fps: float | None = None

    def __post_init__(self) -> None:
        _check_layout(self.frames.shape, self.frames.dtype, self.name)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one frame."""
        return self._view.shape[1:]

    @property
    def dtype(self) -> np.dtype:
        """The array's own, in the byte order of this machine."""
        return self.frames.dtype.newbyteorder("=")

    @property
    def n_frames(self) -> int:
        """How many there are."""
        return len(self.frames)

    def read(self, numbers: Iterator[int]) -> Generator[Array]:
        """Yield views of the frames of these ascending numbers, checked to be finite."""
        frames, dtype = self._view, self.dtype
        for number in numbers:
            if number >= len(frames):
                return
            frame = np.asarray(frames[number], dtype)
            if dtype.kind == "f" and not np.isfinite(frame).all():
                raise ValueError(f"frame {number} of {self.name} has values that are not finite (NaN or infinity).")
            yield frame

    @property
    def _view(self) -> Array:
        """One channel is grey, and a fourth is opacity."""
        if self.frames.ndim == 3:
            return self.frames
        return self.frames[..., 0] if self.frames.shape[3] == 1 else self.frames[..., :3]


def open_array(array: Any) -> ArrayReader:
    """Frames of an array of the caller's."""
    return ArrayReader(np.asarray(array), "the array of frames")


def open_npy(path: Path) -> ArrayReader:
    """Frames of an .npy file, left on the disk until they are read."""
    with reading(path), path.open("rb") as file:
        header = _read_header(file)
    _check_layout(header.shape, header.dtype, str(path))
    with reading(path):
        frames = npy_format.open_memmap(path, mode="r")
    return ArrayReader(frames, str(path))


def open_npz(path: Path) -> ArrayReader:
    """Frames of the one array of an .npz file that can be frames, or of the one named "frames"."""
    with reading(path), zipfile.ZipFile(path) as archive:
        headers = {}
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as member:
                    headers[name.removesuffix(".npy")] = _read_header(member)
    chosen = _choose(headers, path)
    header = headers[chosen]
    _check_layout(header.shape, header.dtype, str(path))
    if header.n_bytes > MAX_NPZ_BYTES:
        raise ValueError(
            f"{path} holds {header.n_bytes / 2**30:.1f} GiB of frames, more than the {MAX_NPZ_BYTES / 2**30:.1f} GiB "
            "that are unpacked to memory; save them with np.save as an .npy file, which is read bit by bit."
        )
    with reading(path), zipfile.ZipFile(path) as archive, archive.open(f"{chosen}.npy") as member:
        frames = npy_format.read_array(member, allow_pickle=False)
        if member.read(1):  # reading on to the end also makes zipfile check its sum
            raise ValueError("it has more bytes than its header says")
    return ArrayReader(frames, str(path))


class _Header(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def _read_header(file: IO[bytes]) -> _Header:
    version = npy_format.read_magic(file)
    readers = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
    if version not in readers:
        raise ValueError("it has an array in an unknown version of numpy's format")
    shape, _, dtype = readers[version](file)
    return _Header(shape, dtype)


def _choose(headers: dict[str, _Header], path: Path) -> str:
    """Name of the array that holds the frames."""
    names = [name for name, header in headers.items() if len(header.shape) in {3, 4}]
    if "frames" in names:
        return "frames"
    if not names:
        raise ValueError(f"{path} holds no array of frames: (time, height, width), or (time, height, width, 3).")
    if len(names) > 1:
        raise ValueError(f"{path} holds several arrays that may be frames: {', '.join(names)}; name one 'frames'.")
    return names[0]


def _check_layout(shape: tuple[int, ...], dtype: np.dtype, name: str) -> None:
    """Raise ValueError unless an array of this shape and dtype is a video."""
    if dtype.hasobject:
        raise ValueError(f"{name} holds Python objects, which are not read; frames are numbers.")
    if dtype.itemsize > {"u": 2, "f": 8}.get(dtype.kind, 0):
        raise ValueError(f"{name} holds values of type {dtype}; frames are uint8, uint16 or floating point.")
    if len(shape) not in {3, 4} or (len(shape) == 4 and shape[3] not in {1, 3, 4}):
        raise ValueError(f"{name} must have the shape (time, height, width) or (time, height, width, 3); got {shape}.")
    if 0 in shape:
        raise ValueError(f"{name} has no {'frames' if shape[0] == 0 else 'pixels'}: its shape is {shape}.")
