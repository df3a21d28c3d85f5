"""Frames in a folder of pictures."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..._backend import Array
from ..._file_errors import reading
from .packages import need

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")
_FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP")


class Head(NamedTuple):
    """What a picture says of itself before a pixel is decoded."""

    height: int
    width: int
    colour: bool
    dtype: np.dtype


@dataclass(frozen=True)
class ImageReader:
    """Frames of picture files of one size; see :class:`~graphlowrank.video.reading.source.Reader`."""

    paths: tuple[Path, ...]
    head: Head
    name: str
    fps: float | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one frame."""
        return (self.head.height, self.head.width, *([3] if self.head.colour else []))

    @property
    def dtype(self) -> np.dtype:
        """Bytes, or uint16 for pictures of 16 bits."""
        return self.head.dtype

    @property
    def n_frames(self) -> int:
        """How many pictures there are."""
        return len(self.paths)

    def read(self, numbers: Iterator[int]) -> Generator[Array]:
        """Yield the pictures of these ascending numbers."""
        pillow = _pillow()
        for number in numbers:
            if number >= len(self.paths):
                return
            path = self.paths[number]
            with reading(path), pillow.open(path, formats=_FORMATS) as image:
                head = _head(image)
                if head.dtype == np.uint8:
                    pixels = np.asarray(image.convert("RGB" if self.head.colour else "L"))
                else:
                    pixels = np.asarray(image).astype(np.uint16)
            _check_alike(path, head, self.head)  # it may have been replaced since the folder was opened
            yield pixels


def open_images(folder: Path) -> ImageReader:
    """Pictures of a folder by name, with numbers in names counted: frame2 comes before frame10.

    Hidden files and files that are no pictures are left out. Opacity is dropped, palettes become colours, and if any
    picture has colours all of them do.
    """
    shown = (path for path in folder.iterdir() if path.suffix.lower() in IMAGES and not path.name.startswith("."))
    paths = tuple(sorted(filter(Path.is_file, shown), key=_natural))
    if not paths:
        raise ValueError(f"{folder} holds no pictures ({', '.join(IMAGES)}).")
    pillow = _pillow()
    heads = []
    for path in paths:
        with reading(path), pillow.open(path, formats=_FORMATS) as image:
            heads.append(_head(image))
        _check_alike(path, heads[-1], heads[0])
    colour = any(head.colour for head in heads)
    return ImageReader(paths, heads[0]._replace(colour=colour), str(folder))


def _pillow() -> Any:
    return need("PIL.Image", "reading a folder of pictures")


def _natural(path: Path) -> tuple[list[tuple[int, str]], str]:
    """Order of names that counts: every run of digits is a number."""
    parts = re.split(r"([0-9]+)", path.name.lower())
    return [(int(part), "") if part.isdecimal() and part.isascii() else (-1, part) for part in parts], path.name


def _head(image: Any) -> Head:
    """Size and kind of a picture that is open."""
    width, height = image.size
    # Older versions of Pillow open a 16-bit PNG file in the mode of 32 bits.
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PNG"):
        return Head(height, width, colour=False, dtype=np.dtype(np.uint16))
    if image.mode in {"I", "F"}:
        raise ValueError("its pixels have 32 bits; save the frames as an .npy file")
    return Head(height, width, colour=image.mode not in {"1", "L", "LA", "La"}, dtype=np.dtype(np.uint8))


def _check_alike(path: Path, head: Head, first: Head) -> None:
    if (head.height, head.width) != (first.height, first.width):
        raise ValueError(
            f"{path} is {head.width} x {head.height} pixels, unlike the first picture of the folder, which is "
            f"{first.width} x {first.height}."
        )
    if head.dtype != first.dtype:
        raise ValueError(f"{path} has {8 * head.dtype.itemsize} bits a value, unlike the first picture of the folder.")
