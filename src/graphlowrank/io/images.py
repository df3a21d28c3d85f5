"""Folders of images, read and written by Pillow: each image is a sample."""

from pathlib import Path

import numpy as np

from .._files import invalid_file, natural_order, placing, reading
from .memory import check_room
from .table import Rows, Table

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
    white = 65535 if all_deep else 255
    return Table(values, tuple(path.name for path in paths), picture=(size[1], size[0]), white=white)


def write_images(path: Path, rows: Rows) -> None:
    """Write each sample as a gray PNG file of 8 or 16 bits, under its name; values beyond black and white are clipped.

    The extension of a name is replaced, or kept before .png if names would be equal without.
    """
    if rows.picture is None:
        raise ValueError(f"{path} has no extension: only pictures of a folder are written as a folder.")
    from PIL import Image

    names = rows.sample_names or tuple(str(number) for number in range(rows.shape[0]))
    stems = [Path(name).stem for name in names]
    stems = stems if len({stem.lower() for stem in stems}) == len(stems) else list(names)
    dtype = np.uint16 if rows.white > 255 else np.uint8
    with placing(path) as folder:
        folder.mkdir()
        for part, block in rows.blocks():
            pixels = np.rint(np.clip(block, 0, rows.white)).astype(dtype)
            for stem, image in zip(stems[part], pixels, strict=True):
                Image.fromarray(image.reshape(rows.picture)).save(folder / f"{stem}.png")
