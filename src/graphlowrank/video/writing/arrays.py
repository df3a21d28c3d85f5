"""Frames written to .npy and .npz files, block by block."""

from __future__ import annotations

import os
import shutil
import struct
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy_format

from ..._backend import Array

_HEADER_BYTES = 256  # a multiple of 64, as numpy's format asks, with room for any shape of frames


class NpyWriter:
    """An .npy file whose length is filled in at the end; see :class:`~graphlowrank.video.writing.sink.Writer`."""

    def __init__(self, place: Path, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self._file = place.open("xb")
        self._array = _NpyStream(self._file, shape, dtype)

    def write(self, frames: Array) -> None:
        """Append frames."""
        self._array.write(frames)

    def finish(self) -> None:
        """Write what is open, to the disk."""
        self._array.finish()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def abandon(self) -> None:
        """Close the file as it is."""
        with suppress(OSError):
            self._file.close()


class NpzWriter:
    """An .npz file with the array "frames"; see :class:`~graphlowrank.video.writing.sink.Writer`.

    The length of the array stands before its packed values, so the values wait in a file without a name.
    """

    def __init__(self, place: Path, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self._place = place
        self._file = tempfile.TemporaryFile(dir=place.parent)  # noqa: SIM115 (closed by finish or abandon)
        self._array = _NpyStream(self._file, shape, dtype)

    def write(self, frames: Array) -> None:
        """Append frames."""
        self._array.write(frames)

    def finish(self) -> None:
        """Pack the array into the zip file, and that to the disk."""
        self._array.finish()
        self._file.seek(0)
        with self._place.open("xb") as packed:
            # The lowest level: noise hardly gets smaller at the higher ones, which take several times longer.
            with (
                zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
                archive.open("frames.npy", "w", force_zip64=True) as member,
            ):
                shutil.copyfileobj(self._file, member, 2**20)
            packed.flush()
            os.fsync(packed.fileno())
        self._file.close()

    def abandon(self) -> None:
        """Let the file without a name go."""
        with suppress(OSError):
            self._file.close()


class _NpyStream:
    """Numpy's format with a header of fixed length, so that it can be written again when the length is known."""

    def __init__(self, file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype) -> None:
        self._file, self._shape, self._dtype = file, shape, dtype
        self._n_frames = 0
        file.write(self._header())

    def write(self, frames: Array) -> None:
        self._file.write(np.ascontiguousarray(frames).data)
        self._n_frames += len(frames)

    def finish(self) -> None:
        self._file.seek(0)
        self._file.write(self._header())

    def _header(self) -> bytes:
        shape = (self._n_frames, *self._shape)
        entries = {"descr": npy_format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": shape}
        start = npy_format.magic(1, 0) + struct.pack("<H", _HEADER_BYTES - 10)
        return (start + repr(entries).encode("latin1")).ljust(_HEADER_BYTES - 1) + b"\n"
