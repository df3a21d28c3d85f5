"""Folders of pictures: each one is a sample."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ..._reading import refusal, refusing
from ..memory import check_room
from ..packages import need
from .table import Table

PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".pgm")
_FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP", "PPM")


def read_pictures(folder: Path) -> Table:
    """Table of a folder of pictures of one size, in grey; those of 16 bits keep them if all have them."""
    shown = (path for path in folder.iterdir() if path.suffix.lower() in PICTURES and not path.name.startswith("."))
    paths = sorted(filter(Path.is_file, shown), key=_natural)
    if not paths:
        raise refusal(folder, f"holds no pictures ({', '.join(PICTURES)}), and is no zarr folder.")
    image = need("PIL.Image", "Reading a folder of pictures")
    values, size, mode = np.empty((0, 0)), (0, 0), "L"
    for row, path in enumerate(paths):
        with refusing(path), image.open(path, formats=_FORMATS) as picture:
            deep = picture.mode.startswith("I;16") or (picture.mode == "I" and picture.format == "PNG")
            if picture.mode in {"I", "F"} and not deep:
                raise refusal(path, "has pixels of 32 bits; save the pictures as an .npy file.")
            if row == 0:
                size, mode = picture.size, "I;16" if deep else "L"
                check_room(len(paths) * size[0] * size[1] * (2 if deep else 1), folder)
                values = np.empty((len(paths), size[0] * size[1]), np.uint16 if deep else np.uint8)
            if picture.size != size or deep != (mode != "L"):  # known before a single pixel is decoded
                raise refusal(path, f"is {picture.size[0]} x {picture.size[1]} pixels of {16 if deep else 8} bits, "
                              "unlike the first picture of the folder.")  # fmt: skip
            values[row] = np.asarray(picture if deep else picture.convert("L")).ravel()
    return Table(values, tuple(path.name for path in paths), picture=(size[1], size[0]))


def _natural(path: Path) -> tuple[list[tuple[int, str]], str]:
    """Order of names that counts: every run of digits is a number."""
    parts = re.split(r"([0-9]+)", path.name.lower())
    return [(int(part), "") if part.isdecimal() and part.isascii() else (-1, part) for part in parts], path.name
