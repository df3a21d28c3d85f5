"""Frames written to video files, encoded by PyAV."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..._backend import Array
from ..reading.packages import need


@dataclass(frozen=True)
class Encoding:
    """How a kind of file is encoded, in the words of FFmpeg."""

    container: str
    codec: str
    pixels: str
    options: dict[str, str]
    container_options: dict[str, str] = field(default_factory=dict)
    even: bool = False


# The matrix is named because players guess another one for large frames.
_MATRIX = {"colorspace": "smpte170m", "color_range": "tv"}
_H264 = {"crf": "18", "preset": "veryfast", **_MATRIX}
_FAST_START = {"movflags": "+faststart"}  # the index comes first: browsers show the file before all of it is there
_NO_CHANCE = {"fflags": "+bitexact"}  # else the file carries a random number, and no two are equal
ENCODINGS = {
    ".mp4": Encoding("mp4", "libx264", "yuv420p", _H264, _FAST_START, even=True),
    ".m4v": Encoding("mp4", "libx264", "yuv420p", _H264, _FAST_START, even=True),
    ".mov": Encoding("mov", "libx264", "yuv420p", _H264, _FAST_START, even=True),
    ".mkv": Encoding("matroska", "libx264", "yuv420p", _H264, _NO_CHANCE, even=True),
    ".webm": Encoding(
        "webm",
        "libvpx-vp9",
        "yuv420p",
        {"crf": "24", "b": "0", "deadline": "realtime", "cpu-used": "6", "row-mt": "1", **_MATRIX},
        _NO_CHANCE,
    ),
    ".avi": Encoding("avi", "mjpeg", "yuvj420p", {"flags": "+qscale", "global_quality": "236"}),  # 2 of 1 to 31
    ".gif": Encoding("gif", "gif", "pal8", {}),
}
GIF_FPS = 50  # browsers show a gif that asks for more at ten frames a second


def check_encoder(extension: str) -> None:
    """Raise ValueError if PyAV cannot encode this kind of file, ModuleNotFoundError if it is not there."""
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


class VideoWriter:
    """A video file; see :class:`~graphlowrank.video.writing.sink.Writer`."""

    def __init__(self, place: Path, shape: tuple[int, ...], fps: float, encoding: Encoding) -> None:
        self._av = need("av", "writing a video")
        self._place, self._encoding = place, encoding
        self._odd = [(0, length % 2 if encoding.even else 0) for length in shape[:2]]
        self._n_frames = 0
        height, width = (length + more for length, (_, more) in zip(shape[:2], self._odd, strict=True))
        with self._failing_plainly():
            self._container = self._av.open(
                f"file:{place}", "w", format=encoding.container, options=encoding.container_options
            )
            self._stream = self._container.add_stream(encoding.codec, rate=Fraction(fps).limit_denominator(1001))
        self._stream.width, self._stream.height = width, height
        self._stream.pix_fmt = encoding.pixels
        self._stream.codec_context.options = dict(encoding.options)

    def write(self, frames: Array) -> None:
        """Encode frames; the last row and column of an odd size are repeated where the codec needs that."""
        channels = [(0, 0)] * (frames.ndim - 3)
        padded = np.pad(frames, [(0, 0), *self._odd, *channels], mode="edge")
        for pixels in padded:
            with self._failing_plainly():
                frame = self._frame(np.ascontiguousarray(pixels))
                frame.pts = self._n_frames
                self._container.mux(self._stream.encode(frame))
            self._n_frames += 1

    def finish(self) -> None:
        """Write what the encoder still holds, and the file to the disk."""
        with self._failing_plainly():
            self._container.mux(self._stream.encode(None))
            self._container.close()
        with self._place.open("r+b") as file:
            os.fsync(file.fileno())

    def abandon(self) -> None:
        """Close the file whatever is in it."""
        with suppress(Exception):
            self._container.close()

    def _frame(self, pixels: Array) -> Any:
        frame = self._av.VideoFrame.from_ndarray(pixels, format="gray" if pixels.ndim == 2 else "rgb24")
        return frame.reformat(format=self._encoding.pixels, dst_colorspace="ITU601")

    @contextmanager
    def _failing_plainly(self) -> Iterator[None]:
        """Turn what the encoder says into one sentence; errors of the system go on as they are."""
        try:
            yield
        except self._av.error.FFmpegError as error:
            if isinstance(error, OSError):
                raise
            reason = f"{error.strerror or error}".rstrip(".")
            raise ValueError(f"the encoder {self._encoding.codec} cannot write these frames: {reason}.") from error


class GifWriter(VideoWriter):
    """A gif file: greys are exact, colours are the best 256 of each frame."""

    def __init__(self, place: Path, shape: tuple[int, ...], fps: float) -> None:
        self._pillow = need("PIL.Image", "writing .gif files")
        encoding = replace(ENCODINGS[".gif"], pixels="pal8" if len(shape) == 3 else "gray")
        super().__init__(place, shape, min(fps, GIF_FPS), encoding)

    def _frame(self, pixels: Array) -> Any:
        if pixels.ndim == 2:
            return self._av.VideoFrame.from_ndarray(pixels, format="gray")
        image = self._pillow.fromarray(pixels).quantize(256, method=self._pillow.Quantize.FASTOCTREE)
        colours = np.array(image.getpalette("RGB"), dtype=np.uint8).reshape(-1, 3)
        palette = np.full((256, 4), 255, dtype=np.uint8)  # alpha, red, green, blue
        palette[: len(colours), 1:] = colours
        return self._av.VideoFrame.from_ndarray((np.asarray(image), palette), format="pal8")
