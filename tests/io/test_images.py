"""Folders of images."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

from graphlowrank.io import read


def test_pictures_by_number(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (3, 6, 4), dtype=np.uint8)
    for row, number in enumerate((1, 2, 10)):
        Image.fromarray(pixels[row]).save(tmp_path / f"p{number}.png")
    (tmp_path / "notes.txt").write_text("no picture")
    table = read(tmp_path)
    assert_array_equal(table.values, pixels.reshape(3, 24))
    assert (table.sample_names, table.picture) == (("p1.png", "p2.png", "p10.png"), (6, 4))
    Image.fromarray(pixels[0]).convert("RGB").save(tmp_path / "p3.png")
    assert_array_equal(read(tmp_path).values[2], pixels[0].ravel())
    Image.fromarray(pixels[0, :, :3]).save(tmp_path / "p4.png")
    with pytest.raises(ValueError, match=r"p4.png is 3 x 6 pixels of 8 bits, unlike the first picture"):
        read(tmp_path)


def test_pictures_of_16_bits(tmp_path):
    pixels = np.arange(24, dtype=np.uint16).reshape(6, 4) * 2000
    Image.fromarray(pixels).save(tmp_path / "a.png")
    values = read(tmp_path).values
    assert values.dtype == np.uint16
    assert_array_equal(values[0], pixels.ravel())
