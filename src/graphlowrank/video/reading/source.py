"""Frames from wherever they are: arrays, .npy and .npz files, folders of pictures, video files.

.. autosummary::
    open_frames   open any of them
    Frames        what comes back: blocks of frames, one after the other
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from itertools import count, islice, pairwise
from operator import index
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from ..._backend import Array
from .arrays import open_array, open_npy, open_npz
from .images import open_images
from .scale import Shrinking
from .video import VIDEOS, VideoReader


class Reader(Protocol):
    """Frames of one source by their numbers, whole and as they are stored."""

    @property
    def name(self) -> str:
        """How messages call it."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one frame: (height, width), or (height, width, 3)."""
        ...

    @property
    def dtype(self) -> np.dtype:
        """Type of every value."""
        ...

    @property
    def n_frames(self) -> int | None:
        """How many there are, if that is known."""
        ...

    @property
    def fps(self) -> float | None:
        """Frames a second, if that is known."""
        ...

    def read(self, numbers: Iterator[int]) -> Generator[Array]:
        """Yield the frames of these strictly ascending numbers; end where the source ends."""
        ...


class Frames:
    """Every ``step``-th frame of a source, made smaller if asked; returned by :func:`open_frames`.

    A context manager. Frames are counted from 0, and the numbers in messages are those of the source.

    Attributes
    ----------
    name
        How messages call the source.
    shape
        Shape of one frame: (height, width) if grey, (height, width, 3) if in colour.
    height, width, colour
        The same, one by one.
    dtype
        Type of the values: uint8, uint16, or a floating-point type.
    n_frames
        How many frames there are, or None if that is not known until all have been read. For a video it is what the
        file announces; once the file has been read to its end it is what there was.
    fps
        Frames a second in the selection, the source's divided by ``step``; None if the source has none.
    """

    def __init__(self, reader: Reader, start: int, stop: int | None, step: int, scale: float) -> None:
        self._reader, self._start, self._stop, self._step = reader, start, stop, step
        self._shrinking = Shrinking.of(reader.shape, reader.dtype, scale)
        self._closed = False
        self.name = reader.name
        self.dtype = reader.dtype
        self.shape = reader.shape if self._shrinking is None else self._shrinking.shape
        self.height, self.width = self.shape[:2]
        self.colour = len(self.shape) == 3
        self.fps = None if reader.fps is None else reader.fps / step

    @property
    def n_frames(self) -> int | None:
        """How many frames the selection has, if that is known."""
        total = self._reader.n_frames
        if total is None:
            return None
        stop = total if self._stop is None else min(self._stop, total)
        return len(range(self._start, stop, self._step))

    def blocks(self, n: int) -> Iterator[Array]:
        """Yield all frames in order, in arrays of at most ``n``; every call starts again from the first.

        Parameters
        ----------
        n
            Frames in a block; the last block may have fewer. Memory is taken for about one block at a time.

        Returns
        -------
        Iterator of Array
            (m, height, width) or (m, height, width, 3) each, of type :attr:`dtype`.
        """
        n = _at_least(1, "n", n)
        stop = self._stop
        numbers = count(self._start, self._step) if stop is None else iter(range(self._start, stop, self._step))
        return self._stacked(self._read(numbers), n)

    def take(self, indices: Iterable[int]) -> Array:
        """Return chosen frames, read in one pass that ends at the last of them.

        Parameters
        ----------
        indices
            Places in the selection, from 0, strictly ascending.

        Returns
        -------
        Array
            (len(indices), height, width) or (len(indices), height, width, 3).
        """
        chosen = [index(i) for i in indices]
        if any(i < 0 for i in chosen) or any(i >= j for i, j in pairwise(chosen)):
            raise ValueError("indices must be at least 0 and strictly ascending.")
        numbers = [self._start + i * self._step for i in chosen]
        within = [number for number in numbers if self._stop is None or number < self._stop]
        answer = np.empty((len(chosen), *self.shape), dtype=self.dtype)
        n_read = 0
        for n_read, frame in enumerate(self._read(iter(within)), 1):
            answer[n_read - 1] = frame
        if n_read < len(chosen):
            raise ValueError(f"{self.name} has no frame {chosen[n_read]} in the part that was asked for.")
        return answer

    def close(self) -> None:
        """Refuse to read any further; what is being read ends with an error."""
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        size = " x ".join(map(str, self.shape))
        return f"<Frames of {self.name}: {self.n_frames or 'an unknown number'} of {size} {self.dtype}>"

    def _read(self, numbers: Iterator[int]) -> Generator[Array]:
        self._check_open()
        with closing(self._reader.read(numbers)) as frames:  # left half-way, it lets go of its file at once
            for frame in frames:
                yield frame if self._shrinking is None else self._shrinking(frame)
                self._check_open()

    def _stacked(self, frames: Generator[Array], n: int) -> Iterator[Array]:
        with closing(frames):
            while True:
                # Filled one by one: a list of frames beside their stack would take twice the memory.
                block, m = np.empty((n, *self.shape), self.dtype), 0
                for m, frame in enumerate(islice(frames, n), 1):
                    block[m - 1] = frame
                if m == 0:
                    return
                yield block[:m]

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError(f"{self.name} is closed.")


def open_frames(source: Any, *, start: int = 0, stop: int | None = None, step: int = 1, scale: float = 1.0) -> Frames:
    """Open a video, wherever it is, to read its frames block by block.

    Parameters
    ----------
    source
        An array (time, height, width), or (time, height, width, 3) in colour, of uint8, uint16 or finite floats; or
        the path of a video file, of a folder of pictures (in the order of their names, frame2 before frame10), or of
        an .npy or .npz file of such an array. Opacity is dropped. Grey videos and pictures stay grey, unless a folder
        has both kinds.
    start, stop, step
        Frames to read, as in a slice; None is the end. Negative numbers are refused.
    scale
        Shrink every frame by this factor, at most 1; each new pixel is the average of the area that it covers.

    Returns
    -------
    Frames
        Close it, or use it in a ``with`` statement.

    Raises
    ------
    ValueError
        If the source is damaged, of an unknown kind or has fewer than two frames. What only shows while reading is
        raised then.
    OSError
        If the file is not there or may not be read.
    ModuleNotFoundError
        If the package that reads it is missing.

    Examples
    --------
    >>> with open_frames(np.zeros((7, 4, 6), dtype=np.uint8), start=1, step=2) as frames:
    ...     frames.n_frames, [block.shape for block in frames.blocks(2)]
    (3, [(2, 4, 6), (1, 4, 6)])
    """
    start, step = _at_least(0, "start", start), _at_least(1, "step", step)
    stop = None if stop is None else _at_least(0, "stop", stop)
    if not 0 < scale <= 1:
        raise ValueError(f"scale must be more than 0 and at most 1; got {scale}.")
    is_path = isinstance(source, str | os.PathLike)
    reader = _open_path(Path(source)) if is_path else open_array(source)
    frames = Frames(reader, start, stop, step, scale)
    chosen = frames.n_frames if stop is None or frames.n_frames is not None else len(range(start, stop, step))
    if chosen is not None and chosen < 2:
        of = "" if reader.n_frames is None else f" of the {reader.n_frames} of {reader.name}"
        raise ValueError(f"at least two frames are needed; the selection has {chosen}{of}.")
    return frames


def _open_path(path: Path) -> Reader:
    if path.is_dir():
        return open_images(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}.")
    openers: dict[str, Callable[[Path], Reader]] = {
        ".npy": open_npy,
        ".npz": open_npz,
        **dict.fromkeys(VIDEOS, VideoReader),
    }
    extension = path.suffix.lower()
    if extension not in openers:
        known = ", ".join(openers)
        raise ValueError(f"{path} is not of a known kind: a folder of pictures, or a file that ends in {known}.")
    if not path.is_file():
        raise ValueError(f"{path} is neither a file nor a folder.")
    with path.open("rb") as file:  # the system's own error if it may not be read
        if not file.read(1):
            raise ValueError(f"{path} is empty.")
    return openers[extension](path)


def _at_least(least: int, name: str, value: int) -> int:
    number = index(value)
    if number < least:
        raise ValueError(f"{name} must be at least {least}; got {number}.")
    return number
