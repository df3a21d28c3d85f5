"""Folders of images, by Pillow: each image is a sample."""

from pathlib import Path

import numpy as np

from .._files import invalid_file, natural_order, reading
from .memory import check_room
from .table import Table

EXTENSIONS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".pgm")
_FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP", "PPM")  # of Pillow, which knows many more


def read_images(folder: Path) -> Table:
    """Read a folder of images of one size as gray values; 16 bits are kept if all images have them."""
    shown = (path for path in folder.iterdir() if path.suffix.lower() in EXTENSIONS and not path.name.startswith("."))
    paths = sorted(filter(Path.is_file, shown), key=natural_order)
    if not paths:
        raise invalid_file(folder, f"holds no pictures ({', '.join(EXTENSIONS)}), and is no zarr folder.")
    from PIL import Image

    values, size, all_deep = np.empty((0, 0)), (0, 0), False
    for row, path in enumerate(paths):
        with reading(path), Image.open(path, formats=_FORMATS) as image:
            deep = image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PNG")
            if image.mode in {"I", "F"} and not deep:
                raise invalid_file(path, "has pixels of 32 bits; save the pictures as an .npy file.")
            if row == 0:
                size, all_deep = image.size, deep
                check_room(len(paths) * size[0] * size[1] * (2 if deep else 1), folder)
                values = np.empty((len(paths), size[0] * size[1]), np.uint16 if deep else np.uint8)
            if image.size != size or deep != all_deep:  # known before any pixel is decoded
                found = f"is {image.size[0]} x {image.size[1]} pixels of {16 if deep else 8} bits"
                raise invalid_file(path, f"{found}, unlike the first picture of the folder.")
            values[row] = np.asarray(image if deep else image.convert("L")).ravel()
    return Table(values, tuple(path.name for path in paths), picture=(size[1], size[0]))
