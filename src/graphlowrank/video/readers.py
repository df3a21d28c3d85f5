"""Readers of frames: arrays, .npy and .npz files, folders of images, and video files."""

import math
import warnings
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.lib import format as npy_format

from .._files import invalid_file, natural_order, reading
from .._typing import Array

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")
IMAGE_FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP")
GRAY_MODES = ("1", "L", "LA", "La")  # of Pillow, with 8 bits
VIDEOS = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".gif", ".mpg", ".mpeg")
MAX_PIXELS = 2**27  # of one frame; four times those of 8K video
MAX_NPZ_BYTES = 2**33  # an array in a zip file is decompressed to memory, an .npy file is not
# A playlist named .mp4 would make FFmpeg open any file or address that it lists.
FFMPEG_OPTIONS = {
    "protocol_whitelist": "file",
    "format_whitelist": "mov,mp4,avi,matroska,webm,gif,mpeg,mpegts,mpegvideo,asf,flv,ogg",
}


def need(module: str, purpose: str) -> Any:
    """Import "av" or "PIL.Image"; raise ModuleNotFoundError that names the extra to install if it is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        title = {"av": "PyAV", "PIL.Image": "Pillow"}[module]
        message = f"{purpose} needs {title}: pip install graphlowrank[video]"
        raise ModuleNotFoundError(message, name=module.split(".", maxsplit=1)[0]) from error


class FrameReader(Protocol):
    """Frames of one source by number, in full size and as stored."""

    name: str  # of the source, in messages
    shape: tuple[int, ...]  # (height, width) or (height, width, 3)
    dtype: np.dtype
    n_frames: int | None  # None if unknown
    fps: float | None = None  # None if unknown

    def read(self, numbers: Iterator[int]) -> Generator[Array]:
        """Yield the frames of strictly increasing numbers; stop at the end of the source."""
        ...


# --- arrays ---


class ArrayReader(FrameReader):
    """Frames of an array (time, height, width[, channels]); opacity is dropped."""

    def __init__(self, frames: Array, name: str = "the array of frames") -> None:
        _check_layout(frames.shape, frames.dtype, name)
        if frames.ndim == 4:
            frames = frames[..., 0] if frames.shape[3] == 1 else frames[..., :3]
        self.name, self.n_frames, self.shape = name, len(frames), frames.shape[1:]
        self.dtype = frames.dtype.newbyteorder("=")
        self._frames = frames

    def read(self, numbers: Iterator[int]) -> Generator[Array]:
        """Yield views of the frames, which must be finite."""
        for number in numbers:
            if number >= len(self._frames):
                return
            frame = np.asarray(self._frames[number], self.dtype)
            if self.dtype.kind == "f" and not np.isfinite(frame).all():
                raise ValueError(f"frame {number} of {self.name} has values that are not finite (NaN or infinity).")
            yield frame


def open_npy(path: Path) -> ArrayReader:
    """Frames of an .npy file, memory-mapped."""
    with reading(path), path.open("rb") as file:
        shape, dtype = _read_header(file)
    _check_layout(shape, dtype, str(path))
    with reading(path):
        return ArrayReader(npy_format.open_memmap(path, mode="r"), str(path))


def open_npz(path: Path, max_bytes: int = MAX_NPZ_BYTES) -> ArrayReader:
    """Frames of an .npz file: its array "frames", or the only one with the dimensions of frames."""
    headers = {}
    with reading(path), zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".npy"):
                with archive.open(name) as member:
                    headers[name.removesuffix(".npy")] = _read_header(member)
    names = [name for name, (shape, _) in headers.items() if len(shape) in {3, 4}]
    if not names:
        raise ValueError(f"{path} holds no array of frames: (time, height, width), or (time, height, width, 3).")
    if len(names) > 1 and "frames" not in names:
        raise ValueError(f"{path} holds several arrays that may be frames: {', '.join(names)}; name one 'frames'.")
    chosen = "frames" if "frames" in names else names[0]
    shape, dtype = headers[chosen]
    _check_layout(shape, dtype, str(path))
    n_bytes = math.prod(shape) * dtype.itemsize
    if n_bytes > max_bytes:
        raise ValueError(
            f"{path} holds {n_bytes / 2**30:.1f} GiB of frames, more than the {max_bytes / 2**30:.1f} GiB that are "
            "decompressed to memory; save them with np.save as an .npy file, which is read block by block."
        )
    with reading(path), zipfile.ZipFile(path) as archive, archive.open(f"{chosen}.npy") as member:
        frames = npy_format.read_array(member, allow_pickle=False)
        if member.read(1):  # reading to the end also makes zipfile verify its checksum
            raise ValueError("it has more bytes than its header says")
    return ArrayReader(frames, str(path))


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    version = npy_format.read_magic(file)
    readers = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
    if version not in readers:
        raise ValueError("it has an array in an unknown version of numpy's format")
    shape, _, dtype = readers[version](file)
    return shape, dtype


def _check_layout(shape: tuple[int, ...], dtype: np.dtype, name: str) -> None:
    if dtype.hasobject:
        raise ValueError(f"{name} holds Python objects, which are not read; frames are numbers.")
    if dtype.itemsize > {"u": 2, "f": 8}.get(dtype.kind, 0):
        raise ValueError(f"{name} holds values of type {dtype}; frames are uint8, uint16 or floating point.")
    if len(shape) not in {3, 4} or (len(shape) == 4 and shape[3] not in {1, 3, 4}):
        raise ValueError(f"{name} must have the shape (time, height, width) or (time, height, width, 3); got {shape}.")
    if 0 in shape:
        raise ValueError(f"{name} has no {'frames' if shape[0] == 0 else 'pixels'}: its shape is {shape}.")


# --- folders of images ---


class ImageReader(FrameReader):
    """Images of a folder in natural order of their names: frame2 comes before frame10.

    Hidden files and files that are not images are left out. Opacity is dropped and palettes become colors; if any image
    is in color, all are read in color.
    """

    def __init__(self, folder: Path) -> None:
        self._pillow = need("PIL.Image", "reading a folder of images")
        visible = (path for path in folder.iterdir() if path.suffix.lower() in IMAGES and not path.name.startswith("."))
        self._paths = sorted(filter(Path.is_file, visible), key=natural_order)
        if not self._paths:
            raise ValueError(f"{folder} holds no images ({', '.join(IMAGES)}).")
        self._first: tuple[tuple[int, int], np.dtype] | None = None  # size and type
        self._color = False
        for path in self._paths:
            with self._open(path) as (image, size, dtype):
                self._first = self._first or (size, dtype)
                self._color = self._color or (dtype == np.uint8 and image.mode not in GRAY_MODES)
        assert self._first is not None
        (width, height), self.dtype = self._first
        self.name, self.n_frames = str(folder), len(self._paths)
        self.shape = (height, width, 3) if self._color else (height, width)

    def read(self, numbers: Iterator[int]) -> Generator[Array]:
        """Decode and yield images."""
        for number in numbers:
            if number >= len(self._paths):
                return
            with self._open(self._paths[number]) as (image, _, dtype):
                if dtype == np.uint8:
                    pixels = np.asarray(image.convert("RGB" if self._color else "L"))
                else:
                    pixels = np.asarray(image).astype(np.uint16)
            yield pixels

    @contextmanager
    def _open(self, path: Path) -> Iterator[tuple[Any, tuple[int, int], np.dtype]]:
        """Open an image, which must be like the first: it may have been replaced since the folder was opened."""
        with reading(path), self._pillow.open(path, formats=IMAGE_FORMATS) as image:
            size, dtype = image.size, _pixel_type(image)
            first_size, first_dtype = self._first or (size, dtype)
            if size != first_size:
                is_size, was_size = (f"{width} x {height}" for width, height in (size, first_size))
                reason = f"is {is_size} pixels, unlike the first image of the folder, which is {was_size}."
                raise invalid_file(path, reason)
            if dtype != first_dtype:
                n_bits = 8 * dtype.itemsize
                raise invalid_file(path, f"has {n_bits} bits a value, unlike the first image of the folder.")
            yield image, size, dtype


def _pixel_type(image: Any) -> np.dtype:
    # Older versions of Pillow open 16-bit PNG files in mode "I".
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PNG"):
        return np.dtype(np.uint16)
    if image.mode in {"I", "F"}:
        raise ValueError("its pixels have 32 bits; save the frames as an .npy file")
    return np.dtype(np.uint8)


# --- video files ---


class VideoReader(FrameReader):
    """Frames of a video file, decoded by PyAV.

    Each pass decodes from the beginning, because seeking to a frame number is not exact in most formats. Frames are
    rotated as the file's display matrix says, and counted, not timed: files with a variable frame rate give every frame
    once. ``n_frames`` is the announced number until the file has been read to its end, then the actual one.
    """

    def __init__(self, path: Path, max_pixels: int = MAX_PIXELS) -> None:
        self.name, self.dtype, self._path = str(path), np.dtype(np.uint8), path
        with self._open() as (container, stream):
            pixels = stream.codec_context.width * stream.codec_context.height
            if pixels > max_pixels:
                raise ValueError(f"{self.name} has frames of {pixels} pixels, more than the {max_pixels} allowed.")
            first = next(self._decode(container, stream), None)
            if first is None:
                raise ValueError(f"{self.name} has no frames that can be read.")
            self.n_frames = stream.frames or None
            self.fps = float(stream.guessed_rate) if stream.guessed_rate else None
            self._expected, self._min_expected = _expected_frames(container, stream, self.fps)
        self._stored = (first.width, first.height)
        self._format = "gray" if first.format.name.startswith(("gray", "mono", "ya")) else "rgb24"
        self._quarter_turns = round(first.rotation / 90)
        self._read_to_end = self._warned = False
        self.shape = self._pixels(first, 0).shape

    def read(self, numbers: Iterator[int]) -> Generator[Array]:
        """Decode and yield frames."""
        wanted, n_read = next(numbers, None), 0
        if wanted is None:
            return
        with self._open() as (container, stream):
            for number, frame in enumerate(self._decode(container, stream)):
                n_read = number + 1
                if frame.is_corrupt and not self._warned:
                    self._warned = True
                    message = f"{self.name} is damaged at frame {number}; the decoder concealed what is missing there."
                    warnings.warn(message, stacklevel=2)
                if number == wanted:
                    yield self._pixels(frame, number)
                    wanted = next(numbers, None)
                    if wanted is None:
                        return
        if not self._read_to_end:
            self._warn_if_truncated(n_read)
        self.n_frames, self._read_to_end = n_read, True

    @contextmanager
    def _open(self) -> Iterator[tuple[Any, Any]]:
        """Open the file; yield its container and its first video stream."""
        av = need("av", "reading a video")
        try:
            # With the protocol, a name such as "concat:a" is a file of that name.
            options: dict[str, Any] = {"options": FFMPEG_OPTIONS}
            if int(av.__version__.split(".")[0]) < 19:  # later versions always replace metadata that they cannot decode
                options["metadata_errors"] = "replace"
            container = av.open(f"file:{self.name}", **options)
        except Exception as error:  # decoders raise almost any exception on damaged bytes
            raise ValueError(f"{self.name} cannot be read as a video: {_reason(error)}.") from error
        with container:
            if not container.streams.video:
                raise ValueError(f"{self.name} holds no video.")
            stream = container.streams.video[0]
            if stream.codec_context is None:
                raise ValueError(f"{self.name} needs a decoder that this build of PyAV does not have.")
            stream.thread_type = "AUTO"
            yield container, stream

    def _decode(self, container: Any, stream: Any) -> Iterator[Any]:
        """Yield PyAV's frames; raise one sentence if they cannot be decoded."""
        n_read = 0
        try:
            for frame in container.decode(stream):
                yield frame
                n_read += 1
        except Exception as error:
            where = f"after frame {n_read - 1}" if n_read else "before its first frame"
            raise ValueError(f"{self.name} is damaged {where}: {_reason(error)}.") from error

    def _pixels(self, frame: Any, number: int) -> Array:
        """Pixels of one frame, upright and without opacity."""
        found = (frame.width, frame.height)
        if found != self._stored:
            sizes = [f"{width} x {height}" for width, height in (found, self._stored)]
            message = f"frame {number} of {self.name} is {sizes[0]} pixels, unlike the first, which is {sizes[1]}."
            raise ValueError(message)
        try:
            pixels = frame.to_ndarray(format=self._format)
        except Exception as error:
            raise ValueError(f"frame {number} of {self.name} is damaged: {_reason(error)}.") from error
        return np.rot90(pixels, self._quarter_turns)

    def _warn_if_truncated(self, n_read: int) -> None:
        if n_read < self._min_expected:
            message = f"{self.name} announces {self._expected} frames, only {n_read} could be read."
            warnings.warn(message, stacklevel=2)
        elif self._path.suffix.lower() == ".gif":  # such a file announces no length, but has an end mark
            with self._path.open("rb") as file:
                file.seek(max(0, self._path.stat().st_size - 64))
                end = file.read().rstrip(b"\0")
            if not end.endswith(b"\0;"):  # end of the last block, then of the file
                warnings.warn(f"{self.name} is cut off after frame {n_read - 1}.", stacklevel=2)


def _expected_frames(container: Any, stream: Any, fps: float | None) -> tuple[int, int]:
    """Return the announced number of frames, and the smallest number that does not look truncated."""
    if stream.frames:
        return stream.frames, stream.frames - 2 - stream.frames // 20
    # Some formats store only the duration of the file, which is that of the video if it is the only stream.
    if fps and container.duration and len(container.streams) == 1:
        expected = round(container.duration / 1e6 * fps)
        return expected, expected - 2 - expected // 8
    return 0, 0


def _reason(error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return reason.splitlines()[0].rstrip(".")
