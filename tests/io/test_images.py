"""Folders of images."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

from graphlowrank.io import read, write_matrix


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


@pytest.mark.parametrize("white", [255, 65535])
def test_pictures_are_written_as_they_were_read(tmp_path, white):
    pixels = np.random.default_rng(0).integers(0, white, (3, 6, 4), endpoint=True)
    names = ["a.jpg", "b.png", "c.tif"]
    write_matrix(tmp_path / "out", pixels.reshape(3, 24).astype(float), names, picture=(6, 4), white=white)
    table = read(tmp_path / "out")
    assert_array_equal(table.values, pixels.reshape(3, 24))
    assert (table.sample_names, table.picture, table.white) == (("a.png", "b.png", "c.png"), (6, 4), white)


def test_equal_names_and_values_beyond_white_are_written_too(tmp_path):
    X = np.array([[-5.0, 300.0], [0.4, 0.6]])
    write_matrix(tmp_path / "out", X, ["a.jpg", "A.png"], picture=(1, 2))
    table = read(tmp_path / "out")
    assert table.sample_names == ("a.jpg.png", "A.png.png")
    assert_array_equal(table.values, [[0, 255], [0, 1]])
    with pytest.raises(ValueError, match="out2 is not of a known kind"):
        write_matrix(tmp_path / "out2", X)
    with pytest.raises(ValueError, match="out3 is not of a known kind"):
        write_matrix(tmp_path / "out3", X, ["a.jpg", "A.png"])
