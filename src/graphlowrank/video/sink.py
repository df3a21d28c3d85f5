"""An output for frames that appears under its name only when it is complete.

.. autosummary::
    open_sink    open a video file, an .npy or .npz file, or a folder of PNG images
    check_sink   raise before any work what would fail later
    Sink         the opened output
"""

from __future__ import annotations

import math
import os
import shutil
from pathlib import Path
from typing import Self

import numpy as np

from .._backend import Array
from .._files import check_writable, naming, target_of, temporary_beside
from .readers import need
from .writers import ENCODINGS, GifWriter, ImageWriter, NpyWriter, NpzWriter, VideoWriter, Writer, check_encoder

ARRAY_WRITERS = {".npz": NpzWriter, ".npy": NpyWriter}
KINDS = (*ENCODINGS, *ARRAY_WRITERS)
"""Extensions of the files that can be written."""
FOLDER = ""  # the kind of a folder of images


class Sink:
    """Output for frames, block by block, inside a ``with`` statement; returned by :func:`open_sink`.

    When the statement ends, the complete output appears under its name. If it ends by an exception, Ctrl-C included,
    nothing is left of it, and an older file of that name is unchanged. To make several outputs appear together or not
    at all, call :meth:`complete` on each of them inside their statements: only the renaming is left then.

    Attributes
    ----------
    kind : str
        Extension of the file, in lower case; empty for a folder of images.
    n_frames : int
        Frames written so far.
    """

    def __init__(self, path: str | os.PathLike[str], kind: str, fps: float) -> None:
        self._path, self.kind, self._fps = path, kind, fps
        self._target = self._temporary = Path(path)
        self._writer: Writer | None = None
        self._first: tuple[tuple[int, ...], np.dtype] | None = None
        self._entered = self._complete = False
        self.n_frames = 0

    def write(self, frames: Array) -> None:
        """Append frames.

        Parameters
        ----------
        frames : array (m, height, width[, 3])
            Of the same size and type in every call. Videos and images take uint8 and booleans, where True is white;
            images take gray uint16, too; .npy and .npz files take any numbers.

        Raises
        ------
        ValueError
            If the frames are unlike the first ones, or the output cannot hold them.
        OSError
            "cannot write <path>: <reason>".
        """
        if not self._entered or self._complete:
            raise ValueError("a sink takes frames only inside its with statement, and until it is complete.")
        frames = np.asarray(frames)
        self._check(frames)
        if frames.dtype == bool and self.kind not in ARRAY_WRITERS:
            frames = frames.astype(np.uint8) * np.uint8(255)
        with naming(self._path):
            if self._writer is None:
                self._writer = _open_writer(self.kind, self._temporary, frames, self._fps)
            self._writer.write(frames)
        self.n_frames += len(frames)

    def complete(self) -> None:
        """Finish the output under a temporary name; it takes no more frames.

        Raises
        ------
        ValueError
            If there were no frames.
        OSError
            "cannot write <path>: <reason>".
        """
        if self._complete:
            return
        if self._writer is None or self.n_frames == 0:
            raise ValueError(f"no frames were written to {os.fspath(self._path)}.")
        with naming(self._path):
            self._writer.finish()
        self._complete = True

    def __enter__(self) -> Self:
        with naming(self._path):
            self._target = target_of(self._path)
        self._temporary = temporary_beside(self._target)
        self._entered = True
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._entered = renamed = False
        try:
            if kind is None:
                self.complete()
                with naming(self._path):
                    if self.kind == FOLDER and self._target.is_dir():
                        self._target.rmdir()  # fails if files have been added since: they are not mixed with ours
                    self._temporary.replace(self._target)
                renamed = True
        finally:
            if not renamed:
                self._remove()

    def _remove(self) -> None:
        if self._writer is not None:
            self._writer.abandon()
        if self._temporary.is_dir():
            shutil.rmtree(self._temporary, ignore_errors=True)
        else:
            self._temporary.unlink(missing_ok=True)

    def _check(self, frames: Array) -> None:
        shape, dtype = frames.shape[1:], frames.dtype
        if not (frames.ndim == 3 or (frames.ndim == 4 and frames.shape[3] == 3)) or 0 in shape:
            raise ValueError(
                f"frames must have the shape (n, height, width) or (n, height, width, 3); got {frames.shape}."
            )
        if self._first is None:
            _check_type(self.kind, dtype, os.fspath(self._path))
            self._first = shape, dtype
        elif (shape, dtype) != self._first:
            before, kind = self._first
            raise ValueError(f"frames must all be alike; got {shape} of {dtype} after {before} of {kind}.")


def open_sink(path: str | os.PathLike[str], *, fps: float = 25.0, overwrite: bool = True) -> Sink:
    """Open an output for frames.

    Parameters
    ----------
    path : path
        A video (.mp4, .m4v, .mov, .mkv, .webm, .avi, .gif), an .npy file, or an .npz file with the array "frames"; or
        a folder for PNG images: an empty one, a name without extension, or one that ends in "/". Missing parent folders
        are created, links are followed.
    fps : float, default=25.0
        Frames per second of a video; at most 50 in gif files.
    overwrite : bool, default=True
        Replace an existing file. A folder that is not empty is never replaced.

    Returns
    -------
    Sink
        To be used in a ``with`` statement.

    Raises
    ------
    ValueError, OSError, ModuleNotFoundError
        As :func:`check_sink` does.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "frames.npy")
    ...     with open_sink(path) as sink:
    ...         sink.write(np.zeros((2, 4, 6), dtype=np.uint8))
    ...         sink.write(np.ones((1, 4, 6), dtype=np.uint8))
    ...     np.load(path).shape
    (3, 4, 6)
    """
    if not (math.isfinite(fps) and 0.01 <= fps <= 1000):
        raise ValueError(f"fps must be from 0.01 to 1000; got {fps}.")
    check_sink(path, overwrite=overwrite)
    return Sink(path, _kind(path), float(fps))


def check_sink(path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Raise now what :func:`open_sink` and writing would raise later.

    Raises
    ------
    ValueError
        If the extension is unknown, or the encoder is missing.
    FileExistsError
        If the folder is not empty, or the file exists and may not be replaced.
    OSError
        "cannot write <path>: <reason>".
    ModuleNotFoundError
        If the package that writes this kind of file is missing.
    """
    kind, name = _kind(path), os.fspath(path)
    target = Path(path)
    if kind == FOLDER:
        need("PIL.Image", "writing a folder of images")
        if target.is_file():
            raise FileExistsError(f"{name} is a file, so it cannot be a folder of images.")
        if target.is_dir() and any(target.iterdir()):
            raise FileExistsError(f"the folder {name} is not empty; frames are not mixed with other files.")
    elif not overwrite and target.exists():
        raise FileExistsError(f"{name} already exists.")
    if kind in ENCODINGS:
        check_encoder(kind)
    check_writable(path)


def _kind(path: str | os.PathLike[str]) -> str:
    """Extension of the file to write; empty for a folder."""
    name = os.fspath(path)
    extension = Path(path).suffix.lower()
    if name.endswith(("/", os.sep)) or not extension or Path(path).is_dir():
        return FOLDER
    if extension not in KINDS:
        raise ValueError(
            f"{name} is not of a known kind: a file that ends in {', '.join(KINDS)}, or a folder (a name without "
            "extension, or one that ends in /)."
        )
    return extension


def _check_type(kind: str, dtype: np.dtype, name: str) -> None:
    if kind in ARRAY_WRITERS:
        if dtype.kind not in "buifc":
            raise ValueError(f"{name} can hold numbers; got {dtype}.")
    elif dtype not in (np.uint8, bool) and not (kind == FOLDER and dtype == np.uint16):
        more = ", uint16" if kind == FOLDER else ""
        raise ValueError(
            f"{name} can hold frames of uint8{more} or booleans; got {dtype}. An .npz file holds any type."
        )


def _open_writer(kind: str, path: Path, frames: Array, fps: float) -> Writer:
    shape, dtype = frames.shape[1:], frames.dtype
    if kind == FOLDER:
        return ImageWriter(path, shape, dtype)
    if kind in ARRAY_WRITERS:
        return ARRAY_WRITERS[kind](path, shape, dtype)
    return GifWriter(path, shape, fps) if kind == ".gif" else VideoWriter(path, shape, fps, ENCODINGS[kind])
