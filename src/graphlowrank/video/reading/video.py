"""Frames of video files, decoded by PyAV one after the other."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..._backend import Array
from .packages import need

VIDEOS = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".gif", ".mpg", ".mpeg")
MAX_PIXELS = 2**27  # of one frame; four times what 8K has

# A playlist named .mp4 would make FFmpeg open whatever file or address it lists.
_OPTIONS = {
    "protocol_whitelist": "file",
    "format_whitelist": "mov,mp4,avi,matroska,webm,gif,mpeg,mpegts,mpegvideo,asf,flv,ogg",
}


class VideoReader:
    """Frames of a video file; see :class:`~graphlowrank.video.reading.source.Reader`.

    Every reading decodes from the beginning: to seek to a frame by its number is not exact in most formats. The frames
    are turned as the file says they are to be shown. What frames there are is counted, not timed: a file with frames
    of different durations gives them all, once.
    """

    dtype = np.dtype(np.uint8)

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        container, stream = self._open()
        with container:
            pixels = stream.codec_context.width * stream.codec_context.height
            if pixels > MAX_PIXELS:
                raise ValueError(f"{self.name} has frames of {pixels} pixels, more than the {MAX_PIXELS} allowed.")
            first = next(self._decode(container, stream), None)
            if first is None:
                raise ValueError(f"{self.name} has no frames that can be read.")
            self._n_announced = stream.frames or None
            self.fps = float(stream.guessed_rate) if stream.guessed_rate else None
            self._expected, self._least = _expectation(container, stream, self.fps)
        self._stored = (first.height, first.width)
        self._format = "gray" if first.format.name.startswith(("gray", "mono", "ya")) else "rgb24"
        self._quarters = round(first.rotation / 90)
        self._n_read: int | None = None
        self._warned = False
        self.shape = self._pixels(first, 0).shape

    @property
    def n_frames(self) -> int | None:
        """What there was, once the file has been read to the end; until then what it announces, if it does."""
        return self._n_announced if self._n_read is None else self._n_read

    def read(self, numbers: Iterator[int]) -> Generator[Array]:
        """Decode, and yield the frames of these strictly ascending numbers."""
        wanted = next(numbers, None)
        if wanted is None:
            return
        container, stream = self._open()
        with container:
            n_read = 0
            for number, frame in enumerate(self._decode(container, stream)):
                n_read = number + 1
                self._warn_of_damage(frame, number)
                if number == wanted:
                    yield self._pixels(frame, number)
                    wanted = next(numbers, None)
                    if wanted is None:
                        return
        self._ended(n_read)

    def _open(self) -> tuple[Any, Any]:
        """Return the file and its video, both ready to decode."""
        av = need("av", "reading a video")
        try:
            # With its protocol a name such as "concat:a" is the file of that name.
            container = av.open(f"file:{self.name}", options=_OPTIONS, metadata_errors="replace")
        except Exception as error:  # decoders meet damaged bytes with almost any exception
            raise ValueError(f"{self.name} cannot be read as a video: {_reason(error)}.") from error
        try:
            if not container.streams.video:
                raise ValueError(f"{self.name} holds no video.")
            stream = container.streams.video[0]
            if stream.codec_context is None:
                raise ValueError(f"{self.name} needs a decoder that this build of PyAV does not have.")
            stream.thread_type = "AUTO"
        except BaseException:
            container.close()
            raise
        return container, stream

    def _decode(self, container: Any, stream: Any) -> Iterator[Any]:
        """Yield the frames as PyAV has them; one sentence if they cannot be decoded."""
        frames = container.decode(stream)
        n_read = 0
        while True:
            try:
                frame = next(frames, None)
            except Exception as error:
                where = f"after frame {n_read - 1}" if n_read else "before its first frame"
                raise ValueError(f"{self.name} is damaged {where}: {_reason(error)}.") from error
            if frame is None:
                return
            yield frame
            n_read += 1

    def _pixels(self, frame: Any, number: int) -> Array:
        """Array of one frame, the right way up; opacity is dropped."""
        if (frame.height, frame.width) != self._stored:
            height, width = self._stored
            raise ValueError(
                f"frame {number} of {self.name} is {frame.width} x {frame.height} pixels, unlike the first, which is "
                f"{width} x {height}."
            )
        try:
            pixels = frame.to_ndarray(format=self._format)
        except Exception as error:
            raise ValueError(f"frame {number} of {self.name} is damaged: {_reason(error)}.") from error
        return np.rot90(pixels, self._quarters)

    def _warn_of_damage(self, frame: Any, number: int) -> None:
        if frame.is_corrupt and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.name} is damaged at frame {number}; what is missing there has been guessed.", stacklevel=2
            )

    def _ended(self, n_read: int) -> None:
        """Keep the number of frames there were, and warn once if there should have been more."""
        if self._n_read is None:
            if n_read < self._least:
                warnings.warn(
                    f"{self.name} announces {self._expected} frames, only {n_read} could be read.", stacklevel=2
                )
            elif self._path.suffix.lower() == ".gif" and not _has_trailer(self._path):
                warnings.warn(f"{self.name} is cut off after frame {n_read - 1}.", stacklevel=2)
        self._n_read = n_read


def _has_trailer(path: Path) -> bool:
    """Whether a gif file, which announces nothing, has come to its end."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 64))
        return file.read().rstrip(b"\0").endswith(b"\0;")  # the last block's end, then the file's


def _expectation(container: Any, stream: Any, fps: float | None) -> tuple[int, int]:
    """Frames announced, and the fewest that do not look like a truncated file."""
    if stream.frames:
        return stream.frames, stream.frames - 2 - stream.frames // 20
    # Some formats say only how long the file lasts, which is the video's length if nothing else is in it.
    if fps and container.duration and len(container.streams) == 1:
        expected = round(container.duration / 1e6 * fps)
        return expected, expected - 2 - expected // 8
    return 0, 0


def _reason(error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return reason.splitlines()[0].rstrip(".")
