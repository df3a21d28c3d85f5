"""Writers of frames: .npy and .npz files, folders of PNG images, and video files."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from .._backend import Array
from .readers import need

MAX_GIF_FPS = 50  # browsers show faster gifs at ten frames per second


class Writer(ABC):
    """Writes frames of one shape and type, block by block, to a path at which nothing exists yet."""

    @abstractmethod
    def write(self, frames: Array) -> None:
        """Append frames."""

    def finish(self) -> None:  # noqa: B027
        """Complete the output and flush it to the disk."""

    def abandon(self) -> None:  # noqa: B027
        """Release the output, which the caller removes; raise nothing."""


class NpyWriter(Writer):
    """An .npy file; its header, which holds the number of frames, is written again at the end."""

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self._path, self._shape, self._dtype, self._n_frames = path, shape, dtype, 0
        self._file = self._open()
        self._write_header()

    def _open(self) -> Any:
        return self._path.open("xb")

    def write(self, frames: Array) -> None:
        """Append frames."""
        self._file.write(np.ascontiguousarray(frames).data)
        self._n_frames += len(frames)

    def finish(self) -> None:
        """Write the final header, and flush."""
        self._write_header()
        _sync(self._file)
        self._file.close()

    def abandon(self) -> None:
        """Close the file."""
        with suppress(OSError):
            self._file.close()

    def _write_header(self) -> None:
        """Write the header, which numpy pads to the same length for any number of frames."""
        self._file.seek(0)
        shape, descr = (self._n_frames, *self._shape), npy_format.dtype_to_descr(self._dtype)
        header = {"descr": descr, "fortran_order": False, "shape": shape}
        npy_format.write_array_header_1_0(self._file, header)


class NpzWriter(NpyWriter):
    """An .npz file with the array "frames", which is collected in an unnamed .npy file: its header comes first."""

    def _open(self) -> Any:
        return tempfile.TemporaryFile(dir=self._path.parent)

    def finish(self) -> None:
        """Compress the array into the zip file, and flush."""
        self._write_header()
        self._file.seek(0)
        with self._path.open("xb") as packed:
            # Level 1: higher ones hardly compress noise further and take several times longer.
            with (
                zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
                archive.open("frames.npy", "w", force_zip64=True) as member,
            ):
                shutil.copyfileobj(self._file, member, 2**20)
            _sync(packed)
        self._file.close()


def _sync(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


class ImageWriter(Writer):
    """A folder of files frame_00000.png and so on."""

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: np.dtype) -> None:
        if dtype == np.uint16 and len(shape) == 3:
            raise ValueError("PNG files are not written with 16-bit colors; choose a file that ends in .npy or .npz.")
        self._pillow = need("PIL.Image", "writing a folder of images")
        self._folder, self._n_frames = path, 0
        path.mkdir()

    def write(self, frames: Array) -> None:
        """Write one file for each frame."""
        for frame in frames:
            image = self._pillow.fromarray(np.ascontiguousarray(frame))
            # Level 1 is several times as fast, for slightly larger files.
            image.save(self._folder / f"frame_{self._n_frames:05d}.png", compress_level=1)
            self._n_frames += 1


@dataclass(frozen=True)
class Encoding:
    """Container and codec of a kind of video file, with FFmpeg's options."""

    container: str
    codec: str
    pixels: str
    options: dict[str, str]
    container_options: dict[str, str] = field(default_factory=dict)
    even: bool = False  # whether the codec needs even sizes


_MATRIX = {"colorspace": "smpte170m", "color_range": "tv"}  # named, because players assume another one for large frames
_FAST_START = {"movflags": "+faststart"}  # index first: browsers can play the file before it is complete
_REPRODUCIBLE = {"fflags": "+bitexact"}  # no random identifier in the file
_H264 = Encoding(
    "mp4", "libx264", "yuv420p", {"crf": "18", "preset": "veryfast", **_MATRIX}, _FAST_START, even=True
)  # fmt: skip
_VP9 = {"crf": "24", "b": "0", "deadline": "realtime", "cpu-used": "6", "row-mt": "1", **_MATRIX}
ENCODINGS = {
    ".mp4": _H264,
    ".m4v": _H264,
    ".mov": replace(_H264, container="mov"),
    ".mkv": replace(_H264, container="matroska", container_options=_REPRODUCIBLE),
    ".webm": Encoding("webm", "libvpx-vp9", "yuv420p", _VP9, _REPRODUCIBLE),
    ".avi": Encoding("avi", "mjpeg", "yuvj420p", {"flags": "+qscale", "global_quality": "236"}),  # 2 of 1 to 31
    ".gif": Encoding("gif", "gif", "pal8", {}),
}


def check_encoder(extension: str) -> None:
    """Raise ValueError if PyAV lacks the encoder of a kind of file, ModuleNotFoundError if a package is missing."""
    av = need("av", f"writing {extension} files")
    codec = ENCODINGS[extension].codec
    try:
        av.codec.Codec(codec, "w")
    except ValueError as error:
        raise ValueError(
            f"this build of PyAV has no encoder {codec}, which {extension} files need; "
            "choose a file that ends in .npz, or a folder."
        ) from error
    if extension == ".gif":
        need("PIL.Image", "writing .gif files")


class VideoWriter(Writer):
    """A video file, encoded by PyAV."""

    def __init__(self, path: Path, shape: tuple[int, ...], fps: float, encoding: Encoding) -> None:
        self._av = need("av", "writing a video")
        self._path, self._encoding, self._n_frames = path, encoding, 0
        height, width = shape[:2]
        self._padding = (height % 2, width % 2) if encoding.even else (0, 0)
        with self._one_sentence():
            self._container = self._av.open(
                f"file:{path}", "w", format=encoding.container, options=encoding.container_options
            )
            self._stream = self._container.add_stream(encoding.codec, rate=Fraction(fps).limit_denominator(1001))
        self._stream.height, self._stream.width = height + self._padding[0], width + self._padding[1]
        self._stream.pix_fmt = encoding.pixels
        self._stream.codec_context.options = dict(encoding.options)

    def write(self, frames: Array) -> None:
        """Encode frames; odd sizes are padded by the last row and column where the codec needs even ones."""
        more = [0, *self._padding, 0][: frames.ndim]
        for pixels in np.pad(frames, [(0, n) for n in more], mode="edge"):
            with self._one_sentence():
                frame = self._frame(np.ascontiguousarray(pixels))
                frame.pts = self._n_frames
                self._container.mux(self._stream.encode(frame))
            self._n_frames += 1

    def finish(self) -> None:
        """Flush the encoder and the file."""
        with self._one_sentence():
            self._container.mux(self._stream.encode(None))
            self._container.close()
        with self._path.open("r+b") as file:
            os.fsync(file.fileno())

    def abandon(self) -> None:
        """Close the file."""
        with suppress(Exception):
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
            raise ValueError(f"the encoder {self._encoding.codec} cannot write these frames: {reason}.") from error


class GifWriter(VideoWriter):
    """A gif file: grays are exact, colors are quantized to 256 for each frame."""

    def __init__(self, path: Path, shape: tuple[int, ...], fps: float) -> None:
        self._pillow = need("PIL.Image", "writing .gif files")
        encoding = replace(ENCODINGS[".gif"], pixels="pal8" if len(shape) == 3 else "gray")
        super().__init__(path, shape, min(fps, MAX_GIF_FPS), encoding)

    def _frame(self, pixels: Array) -> Any:
        if pixels.ndim == 2:
            return self._av.VideoFrame.from_ndarray(pixels, format="gray")
        image = self._pillow.fromarray(pixels).quantize(256, method=self._pillow.Quantize.FASTOCTREE)
        colors = np.array(image.getpalette("RGB"), dtype=np.uint8).reshape(-1, 3)
        palette = np.full((256, 4), 255, dtype=np.uint8)  # alpha, red, green, blue
        palette[: len(colors), 1:] = colors
        return self._av.VideoFrame.from_ndarray((np.asarray(image), palette), format="pal8")
