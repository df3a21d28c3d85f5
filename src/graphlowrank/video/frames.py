"""Frames of a video, wherever it is stored, block by block."""

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from itertools import islice, pairwise
from operator import index
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from .._checks import without_mask
from .._typing import Array
from .readers import VIDEOS, ArrayReader, FrameReader, ImageReader, VideoReader, open_npy, open_npz

OPENERS: dict[str, Callable[[Path], FrameReader]] = {
    ".npy": open_npy, ".npz": open_npz, **dict.fromkeys(VIDEOS, VideoReader)
}  # fmt: skip


class Frames:
    """Every ``step``-th frame of a source, downscaled if requested; returned by :func:`open_frames`.

    A context manager. Frame numbers start at 0; those in messages are numbers in the source.

    Attributes
    ----------
    name : str
        Name of the source in messages.
    shape : tuple of int
        Shape of one frame: (height, width) if gray, (height, width, 3) if in color.
    height, width : int
        Size of a frame.
    color : bool
        Whether frames are in color.
    dtype : dtype
        Type of the values: uint8, uint16, or a floating-point type.
    fps : float or None
        Frames per second of the selection: the rate of the source divided by ``step``.
    """

    def __init__(self, reader: FrameReader, start: int, stop: int | None, step: int, scale: float) -> None:
        self._reader, self._numbers = reader, range(start, sys.maxsize if stop is None else stop, step)
        self._downscale = AreaAverage(reader.shape, reader.dtype, scale)
        self._closed = False
        self.name, self.dtype, self.shape = reader.name, reader.dtype, self._downscale.shape
        self.height, self.width = self.shape[:2]
        self.color = len(self.shape) == 3
        self.fps = None if reader.fps is None else reader.fps / step

    @property
    def n_frames(self) -> int | None:
        """Number of selected frames, announced until a video has been read to its end; None if unknown until then."""
        numbers, total = self._numbers, self._reader.n_frames
        return None if total is None else len(range(numbers.start, min(numbers.stop, total), numbers.step))

    def blocks(self, n: int) -> Iterator[Array]:
        """Yield all frames in order, in arrays (m, height, width[, 3]) of m <= n; each call starts from the first."""
        n = _at_least(1, "n", n)
        return self._stacked(self._read(iter(self._numbers)), n)

    def take(self, indices: Iterable[int]) -> Array:
        """Return frames (len(indices), height, width[, 3]) by strictly increasing indices into the selection."""
        chosen = [index(i) for i in indices]
        if any(i < 0 for i in chosen) or any(i >= j for i, j in pairwise(chosen)):
            raise ValueError("indices must be at least 0 and strictly ascending.")
        numbers = [self._numbers[i] for i in chosen if i < len(self._numbers)]
        answer = np.empty((len(chosen), *self.shape), dtype=self.dtype)
        n_read = 0
        for n_read, frame in enumerate(self._read(iter(numbers)), 1):
            answer[n_read - 1] = frame
        if n_read < len(chosen):
            raise ValueError(f"{self.name} has no frame {chosen[n_read]} in the selection.")
        return answer

    def close(self) -> None:
        """Stop reading; passes in progress end with an error."""
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
        with closing(self._reader.read(numbers)) as frames:  # releases its file at once if the pass is abandoned
            for frame in frames:
                yield frame if self.shape == self._reader.shape else self._downscale(frame)
                self._check_open()

    def _stacked(self, frames: Generator[Array], n: int) -> Iterator[Array]:
        with closing(frames):
            while True:
                # Filled in place: a list of frames and its stack would take twice the memory.
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
    """Open a video, wherever it is stored, to read its frames block by block.

    Parameters
    ----------
    source : array or path
        Array (time, height, width) or (time, height, width, 3) of uint8, uint16 or finite floats; or the path of a
        video file, of a folder of images (in natural order of their names), or of an .npy or .npz file of such an
        array. Opacity is dropped. Gray videos and images stay gray, unless a folder has both kinds.
    start, stop, step : int, default=0, None, 1
        Frames to read, as in a slice, but without negative numbers.
    scale : float, default=1.0
        Factor of at most 1 to downscale frames by; a new pixel is the mean over the area that it covers.

    Returns
    -------
    Frames
        Close it, or use it in a ``with`` statement.

    Raises
    ------
    ValueError
        If the source is damaged, which may show only while reading, of an unknown kind or has fewer than two frames.
    OSError, ModuleNotFoundError
        If the file does not exist or may not be read, or the package that reads it is missing.

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
    reader = _open_path(Path(source)) if is_path else ArrayReader(np.asarray(without_mask(source)))
    frames = Frames(reader, start, stop, step, scale)
    chosen = frames.n_frames if stop is None or frames.n_frames is not None else len(range(start, stop, step))
    if chosen is not None and chosen < 2:
        of = "" if reader.n_frames is None else f" of the {reader.n_frames} of {reader.name}"
        raise ValueError(f"at least two frames are needed; the selection has {chosen}{of}.")
    return frames


def _open_path(path: Path) -> FrameReader:
    if path.is_dir():
        return ImageReader(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}.")
    extension = path.suffix.lower()
    if extension not in OPENERS:
        raise ValueError(
            f"{path} is not of a known kind: a folder of images, or a file that ends in {', '.join(OPENERS)}."
        )
    if not path.is_file():
        raise ValueError(f"{path} is neither a file nor a folder.")
    with path.open("rb") as file:  # raises the system's own error if it may not be read
        if not file.read(1):
            raise ValueError(f"{path} is empty.")
    return OPENERS[extension](path)


def _at_least(least: int, name: str, value: int) -> int:
    number = index(value)
    if number < least:
        raise ValueError(f"{name} must be at least {least}; got {number}.")
    return number


class AreaAverage:
    """Downscaling of frames of one shape and type by exact means over areas.

    Pillow's box filter weights source pixels by 0 or 1, which is exact only for integer factors, and it has no 16-bit
    mode.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, scale: float) -> None:
        height, width = (max(1, round(length * scale)) for length in shape[:2])
        self.shape, self.dtype = (height, width, *shape[2:]), dtype
        work = np.result_type(dtype, np.float32)
        self._rows, self._columns = _mean_weights(shape[0], height, work), _mean_weights(shape[1], width, work)

    def __call__(self, frame: Array) -> Array:
        """Downscale one frame."""
        (old_height, old_width), (height, width) = frame.shape[:2], self.shape[:2]
        low = self._rows @ frame.astype(self._rows.dtype).reshape(old_height, -1)
        across = low.reshape(height, old_width, -1).swapaxes(0, 1).reshape(old_width, -1)
        small = (self._columns @ across).reshape(width, height, -1).swapaxes(0, 1).reshape(self.shape)
        return (np.rint(small) if self.dtype.kind == "u" else small).astype(self.dtype)


def _mean_weights(n: int, m: int, dtype: np.dtype) -> Any:
    """Weights (m, n): fraction of the i-th of m equal intervals that the j-th of n equal intervals covers."""
    edges = np.union1d(np.arange(n) * m, np.arange(m) * n)  # in units of 1 / (n m), so exact
    lengths = np.diff(np.append(edges, n * m))
    return sp.csr_array((lengths / n, (edges // n, edges // m)), shape=(m, n), dtype=dtype)
