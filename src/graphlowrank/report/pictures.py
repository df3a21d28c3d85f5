"""Arrays as pictures in data URIs: gray images, sprites, densities, signed matrices."""

from math import ceil
from typing import Any

import numpy as np

from .._typing import Array
from .page import data_uri

SPRITES = ((48, 70), (32, 65), (24, 60), (16, 55), (12, 50))  # pixels of a side, and JPEG quality, tried in turn
MAX_SPRITE = 1_500_000  # characters
MAX_SIDE = 128  # pixels of a single picture
BELOW, ABOVE = (0, 114, 178), (213, 94, 0)  # blue and vermilion of Okabe and Ito
GRAY = 128  # of densities, seen on white and on black


def picture(pixels: Array, low: float, high: float, *, max_side: int = MAX_SIDE) -> str:
    """Return the data URI of a gray image; ``low`` is black, ``high`` is white. Large ones are shrunk."""
    image = _gray(pixels, low, high)
    if max(image.size) > max_side:
        scale = max_side / max(image.size)
        image = image.resize((max(1, round(scale * image.size[0])), max(1, round(scale * image.size[1]))))
        return data_uri(image, "JPEG", quality=80)
    return data_uri(image, "PNG")


def sprite(images: Array) -> dict[str, Any]:
    """All images (n, height, width) in one picture, as large as fits; sizes in pixels, and images in a row."""
    from PIL import Image

    n, height, width = images.shape
    low, high = float(np.nanmin(images)), float(np.nanmax(images))
    columns = max(1, ceil((n * height / width) ** 0.5))
    for side, quality in SPRITES:
        scale = min(1.0, side / max(height, width))
        size = (max(1, round(scale * width)), max(1, round(scale * height)))
        sheet = Image.new("L", (columns * size[0], ceil(n / columns) * size[1]))
        for index, pixels in enumerate(images):
            small = _gray(pixels, low, high).resize(size)
            sheet.paste(small, (index % columns * size[0], index // columns * size[1]))
        uri = data_uri(sheet, "PNG", optimize=True)
        uri = uri if len(uri) <= MAX_SPRITE else data_uri(sheet, "JPEG", quality=quality)
        if len(uri) <= MAX_SPRITE:
            break
    return {"uri": uri, "width": size[0], "height": size[1], "columns": columns}


def density(unit: Array, side: int) -> dict[str, Any]:
    """Picture of how many points (n, 2) of the unit square are in each cell, on a log scale; transparent where none."""
    from PIL import Image

    right, bottom = unit.max(axis=0)
    counts, _, _ = np.histogram2d(unit[:, 1], unit[:, 0], bins=side, range=((0, bottom or 1), (0, right or 1)))
    alpha = np.rint(200 * np.log1p(counts) / max(np.log1p(counts.max()), 1e-9)).astype(np.uint8)
    pixels = np.stack([np.full_like(alpha, GRAY), alpha], axis=-1)
    return {"uri": data_uri(Image.fromarray(pixels, "LA"), "PNG", optimize=True), "right": right, "bottom": bottom}


def signed(values: Array, limit: float) -> str:
    """Matrix as a picture of one pixel an entry: blue below zero, vermilion above, opaque from ``limit`` on."""
    from PIL import Image

    strength = np.clip(np.abs(np.nan_to_num(values)) / (limit or 1.0), 0, 1)
    pixels = np.empty((*values.shape, 4), dtype=np.uint8)
    pixels[..., :3] = np.where((values > 0)[..., None], ABOVE, BELOW)
    pixels[..., 3] = np.rint(255 * strength)
    return data_uri(Image.fromarray(pixels, "RGBA"), "PNG", optimize=True)


def _gray(pixels: Array, low: float, high: float) -> Any:
    from PIL import Image

    unit = (np.asarray(pixels, dtype=float) - low) / (high - low if high > low else 1.0)
    return Image.fromarray(np.rint(255 * np.clip(np.nan_to_num(unit), 0, 1)).astype(np.uint8))
