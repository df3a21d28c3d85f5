"""Outputs for frames that appear under their names only when they are complete: videos, images and arrays."""

import errno
import math
import os
import shutil
import tempfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.lib import format as npy_format

from .._files import check_writable, naming, sync, target_of, temporary_beside
from .._files import replace as move
from .._typing import Array
from .encodings import CONTAINERS, find_encoding
from .readers import need

ARRAYS = (".npz", ".npy")  # kinds of files that hold any numbers
FOLDER = ""  # the kind of a folder of images
MAX_GIF_FPS = 50  # browsers show faster gifs at ten frames per second


class Sink(ABC):
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

    def __init__(self, path: str | os.PathLike[str], kind: str, fps: float, codec: str | None = None) -> None:
        self._path, self.kind, self._fps, self._codec = path, kind, fps, codec
        self._target = self._temporary = Path(path)
        self._shape: tuple[int, ...] = ()  # shape and type of the frames, once started
        self._dtype = np.dtype(np.uint8)
        self._entered = self._started = self._complete = False
        self._stack = ExitStack()  # holds the temporary folder
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
        if frames.dtype == bool and self.kind not in ARRAYS:
            frames = frames.astype(np.uint8) * np.uint8(255)
        with naming(self._path):
            if not self._started:
                self._start()
                self._started = True
            self._append(frames)
        self.n_frames += len(frames)

    def complete(self) -> None:
        """Finish the output under a temporary name; it takes no more frames, and must have some."""
        if self._complete:
            return
        if self.n_frames == 0:
            raise ValueError(f"no frames were written to {os.fspath(self._path)}.")
        with naming(self._path):
            self._finish()
        self._complete = True

    def __enter__(self) -> Self:
        with naming(self._path):
            self._target = target_of(self._path)
            self._temporary = self._stack.enter_context(temporary_beside(self._target))
        self._entered = True
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._entered = renamed = False
        try:
            if kind is None:
                self.complete()
                with naming(self._path):
                    if self.kind == FOLDER and self._target.is_dir() and any(self._target.iterdir()):
                        raise FileExistsError(errno.ENOTEMPTY, "files have been added since")  # not mixed with ours
                    move(self._temporary, self._target)
                renamed = True
        finally:
            if not renamed:
                with suppress(Exception):
                    self._abandon()
            self._stack.close()

    def _check(self, frames: Array) -> None:
        shape, dtype, name = frames.shape[1:], frames.dtype, os.fspath(self._path)
        if not (frames.ndim == 3 or (frames.ndim == 4 and frames.shape[3] == 3)) or 0 in shape:
            raise ValueError(
                f"frames must have the shape (n, height, width) or (n, height, width, 3); got {frames.shape}."
            )
        if self._shape and (shape, dtype) != (self._shape, self._dtype):
            before = f"{self._shape} of {self._dtype}"
            raise ValueError(f"frames must all be alike; got {shape} of {dtype} after {before}.")
        if self.kind in ARRAYS:
            if dtype.kind not in "buifc":
                raise ValueError(f"{name} can hold numbers; got {dtype}.")
        elif dtype not in (np.uint8, bool) and not (self.kind == FOLDER and dtype == np.uint16):
            more = ", uint16" if self.kind == FOLDER else ""
            raise ValueError(
                f"{name} can hold frames of uint8{more} or booleans; got {dtype}. An .npz file holds any type."
            )
        self._shape, self._dtype = shape, dtype

    @abstractmethod
    def _start(self) -> None:
        """Open the temporary output, at which nothing exists yet."""

    @abstractmethod
    def _append(self, frames: Array) -> None:
        """Write frames of one shape and type."""

    def _finish(self) -> None:  # noqa: B027
        """Complete the output and flush it to the disk."""

    def _abandon(self) -> None:  # noqa: B027
        """Release the output, which is removed next."""


class NpySink(Sink):
    """An .npy file; its header, which holds the number of frames, is written again at the end."""

    def _start(self) -> None:
        self._file = self._open()
        self._write_header()

    def _open(self) -> Any:
        return self._temporary.open("xb")

    def _append(self, frames: Array) -> None:
        self._file.write(np.ascontiguousarray(frames).data)

    def _finish(self) -> None:
        self._write_header()
        self._file.close()
        sync(self._temporary)

    def _abandon(self) -> None:
        self._file.close()

    def _write_header(self) -> None:
        """Write the header, which numpy pads to the same length for any number of frames."""
        self._file.seek(0)
        shape, descr = (self.n_frames, *self._shape), npy_format.dtype_to_descr(self._dtype)
        npy_format.write_array_header_1_0(self._file, {"descr": descr, "fortran_order": False, "shape": shape})


class NpzSink(NpySink):
    """An .npz file with the array "frames", which is collected in an unnamed .npy file: its header comes first."""

    def _open(self) -> Any:
        return tempfile.TemporaryFile(dir=self._temporary.parent)

    def _finish(self) -> None:
        self._write_header()
        self._file.seek(0)
        # Level 1: higher ones hardly compress noise further and take several times longer.
        with (
            zipfile.ZipFile(self._temporary, "x", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
            archive.open("frames.npy", "w", force_zip64=True) as member,
        ):
            shutil.copyfileobj(self._file, member, 2**20)
        sync(self._temporary)
        self._file.close()


class ImageSink(Sink):
    """A folder of files frame_00000.png and so on."""

    def _start(self) -> None:
        if self._dtype == np.uint16 and len(self._shape) == 3:
            raise ValueError("PNG files are not written with 16-bit colors; choose a file that ends in .npy or .npz.")
        self._temporary.mkdir()

    def _append(self, frames: Array) -> None:
        pillow = need("PIL.Image", "writing a folder of images")
        for number, frame in enumerate(frames, self.n_frames):
            image = pillow.fromarray(np.ascontiguousarray(frame))
            # Level 1 is several times as fast, for slightly larger files.
            image.save(self._temporary / f"frame_{number:05d}.png", compress_level=1)


class VideoSink(Sink):
    """A video file, encoded by PyAV."""

    def _start(self) -> None:
        self._av, encoding = need("av", "writing a video"), find_encoding(self.kind, self._codec)
        self._encoding, container = encoding, CONTAINERS[self.kind]
        height, width = self._shape[:2]
        self._padding = (height % 2, width % 2) if encoding.even else (0, 0)
        name, largest = f"file:{self._temporary}", min(1001, encoding.max_ticks // math.ceil(self._fps))
        with self._one_sentence():
            self._container = self._av.open(name, "w", format=container.format, options=container.options)
            rate = Fraction(self._fps).limit_denominator(largest)
            self._stream = self._container.add_stream(encoding.encoder, rate=rate)
        self._stream.height, self._stream.width = height + self._padding[0], width + self._padding[1]
        self._stream.pix_fmt = "gray" if self.kind == ".gif" and len(self._shape) == 2 else encoding.pixels
        self._stream.codec_context.options = dict(encoding.options)

    def _append(self, frames: Array) -> None:
        """Encode frames; odd sizes are padded by the last row and column where the codec needs even ones."""
        more = [0, *self._padding, 0][: frames.ndim]
        for number, pixels in enumerate(np.pad(frames, [(0, n) for n in more], mode="edge"), self.n_frames):
            with self._one_sentence():
                frame = self._frame(np.ascontiguousarray(pixels))
                frame.pts = number
                self._container.mux(self._stream.encode(frame))

    def _finish(self) -> None:
        with self._one_sentence():
            self._container.mux(self._stream.encode(None))
            self._container.close()
        sync(self._temporary)

    def _abandon(self) -> None:
        self._container.close()

    def _frame(self, pixels: Array) -> Any:
        frame = self._av.VideoFrame.from_ndarray(pixels, format="gray" if pixels.ndim == 2 else "rgb24")
        return frame.reformat(format=self._encoding.pixels, dst_colorspace="ITU601")

    @contextmanager
    def _one_sentence(self) -> Iterator[None]:
        """Turn errors of the encoder into one sentence; errors of the system stay as they are."""
        try:
            yield
        except self._av.error.FFmpegError as error:
            if isinstance(error, OSError):
                raise
            reason = f"{error.strerror or error}".rstrip(".")
            raise ValueError(f"the encoder {self._encoding.encoder} cannot write these frames: {reason}.") from error


class GifSink(VideoSink):
    """A gif file: grays are exact, colors are quantized to 256 for each frame."""

    def _frame(self, pixels: Array) -> Any:
        if pixels.ndim == 2:
            return self._av.VideoFrame.from_ndarray(pixels, format="gray")
        pillow = need("PIL.Image", "writing .gif files")
        image = pillow.fromarray(pixels).quantize(256, method=pillow.Quantize.FASTOCTREE)
        colors = np.array(image.getpalette("RGB"), dtype=np.uint8).reshape(-1, 3)
        palette = np.full((256, 4), 255, dtype=np.uint8)  # alpha, red, green, blue
        palette[: len(colors), 1:] = colors
        return self._av.VideoFrame.from_ndarray((np.asarray(image), palette), format="pal8")


SINKS: dict[str, type[Sink]] = {
    **dict.fromkeys(CONTAINERS, VideoSink), ".gif": GifSink, ".npz": NpzSink, ".npy": NpySink, FOLDER: ImageSink
}  # fmt: skip
KINDS = tuple(filter(None, SINKS))  # extensions of the files that can be written


def open_sink(
    path: str | os.PathLike[str], *, fps: float = 25.0, codec: str | None = None, overwrite: bool = True
) -> Sink:
    """Open an output for frames.

    Parameters
    ----------
    path : path
        A video (.mp4, .m4v, .mov, .mkv, .webm, .avi, .gif), an .npy file, or an .npz file with the array "frames"; or
        a folder for PNG images: an empty one, a name without extension, or one that ends in "/". Missing parent folders
        are created, links are followed.
    fps : float, default=25.0
        Frames per second of a video; at most 50 in gif files.
    codec : {"h264", "vp9", "mpeg4", "mjpeg", "gif"} or None, default=None
        Codec of a video. None for "h264", "vp9" in .webm, "mjpeg" in .avi and "gif" in .gif files; .mp4, .m4v and .mkv
        files also take "vp9" and "mpeg4", .mov and .avi files "mpeg4". The encoder of "h264" is under the GPL.
    overwrite : bool, default=True
        Replace an existing file. A folder that is not empty is never replaced.

    Returns
    -------
    Sink
        To be used in a ``with`` statement.

    Raises
    ------
    ValueError, ModuleNotFoundError
        If the extension is unknown or does not go with the codec, or the encoder or the package that writes this kind
        of file is missing.
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
    kind = check_sink(path, codec=codec, overwrite=overwrite)
    return SINKS[kind](path, kind, min(float(fps), MAX_GIF_FPS) if kind == ".gif" else float(fps), codec)


def check_sink(path: str | os.PathLike[str], *, codec: str | None = None, overwrite: bool = True) -> str:
    """Raise now what :func:`open_sink` and writing would raise later; return the kind of the output."""
    target, name = Path(path), os.fspath(path)
    kind = FOLDER if name.endswith(("/", os.sep)) or target.is_dir() else target.suffix.lower()
    if kind == FOLDER:
        need("PIL.Image", "writing a folder of images")
        if target.exists() and not target.is_dir():
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
    if kind in CONTAINERS:
        find_encoding(kind, codec)
    check_writable(path)
    return kind
