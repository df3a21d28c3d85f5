"""An output for frames that appears under its name only when it is complete."""

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
KINDS = (*ENCODINGS, *ARRAY_WRITERS)  # extensions of the files that can be written
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
        ValueError, OSError
            If the output cannot hold them; "cannot write <path>: <reason>".
        """
        if not self._entered or self._complete:
            raise ValueError("a sink takes frames only inside its with statement, and until it is complete.")
        frames = np.asarray(frames)
        self._check(frames)
        if frames.dtype == bool and self.kind not in ARRAY_WRITERS:
            frames = frames.astype(np.uint8) * np.uint8(255)
        with naming(self._path):
            if self._writer is None:
                self._writer = self._open_writer(frames)
            self._writer.write(frames)
        self.n_frames += len(frames)

    def complete(self) -> None:
        """Finish the output under a temporary name; it takes no more frames, and must have some."""
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
        shape, dtype, name = frames.shape[1:], frames.dtype, os.fspath(self._path)
        if not (frames.ndim == 3 or (frames.ndim == 4 and frames.shape[3] == 3)) or 0 in shape:
            raise ValueError(
                f"frames must have the shape (n, height, width) or (n, height, width, 3); got {frames.shape}."
            )
        if self._first is not None and (shape, dtype) != self._first:
            before, kind = self._first
            raise ValueError(f"frames must all be alike; got {shape} of {dtype} after {before} of {kind}.")
        self._first = shape, dtype
        if self.kind in ARRAY_WRITERS:
            if dtype.kind not in "buifc":
                raise ValueError(f"{name} can hold numbers; got {dtype}.")
        elif dtype not in (np.uint8, bool) and not (self.kind == FOLDER and dtype == np.uint16):
            more = ", uint16" if self.kind == FOLDER else ""
            raise ValueError(
                f"{name} can hold frames of uint8{more} or booleans; got {dtype}. An .npz file holds any type."
            )

    def _open_writer(self, frames: Array) -> Writer:
        path, shape, dtype = self._temporary, frames.shape[1:], frames.dtype
        if self.kind == FOLDER:
            return ImageWriter(path, shape, dtype)
        if self.kind in ARRAY_WRITERS:
            return ARRAY_WRITERS[self.kind](path, shape, dtype)
        if self.kind == ".gif":
            return GifWriter(path, shape, self._fps)
        return VideoWriter(path, shape, self._fps, ENCODINGS[self.kind])


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
    ValueError, ModuleNotFoundError
        If the extension is unknown, or the encoder or the package that writes this kind of file is missing.
    OSError
        If the output exists and may not be replaced, or "cannot write <path>: <reason>".

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
    return Sink(path, check_sink(path, overwrite=overwrite), float(fps))


def check_sink(path: str | os.PathLike[str], *, overwrite: bool = True) -> str:
    """Raise now what :func:`open_sink` and writing would raise later; return the kind of the output."""
    target, name = Path(path), os.fspath(path)
    kind = FOLDER if name.endswith(("/", os.sep)) or target.is_dir() else target.suffix.lower()
    if kind == FOLDER:
        need("PIL.Image", "writing a folder of images")
        if target.is_file():
            raise FileExistsError(f"{name} is a file, so it cannot be a folder of images.")
        if target.is_dir() and any(target.iterdir()):
            raise FileExistsError(f"the folder {name} is not empty; frames are not mixed with other files.")
    elif kind not in KINDS:
        raise ValueError(
            f"{name} is not of a known kind: a file that ends in {', '.join(KINDS)}, or a folder (a name without "
            "extension, or one that ends in /)."
        )
    elif not overwrite and target.exists():
        raise FileExistsError(f"{name} already exists.")
    if kind in ENCODINGS:
        check_encoder(kind)
    check_writable(path)
    return kind
