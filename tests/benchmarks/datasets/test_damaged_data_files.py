"""Damaged and foreign data files are refused in one sentence that names the file."""

import builtins
import gzip
import zipfile
from functools import partial

import fake_data
import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

from graphlowrank_benchmarks import datasets
from graphlowrank_benchmarks.datasets import formats

FILES = [pytest.param(key, file, id=file) for key, (_, _, listed) in fake_data.SETS.items() for file in listed]


def values_of(data):
    if isinstance(data, datasets.Video):
        return data.frames, data.mask_frames, data.masks
    X, y = data
    return (X if isinstance(X, np.ndarray) else X.toarray()), y


def assert_names_the_file(error, path):
    text = str(error)
    assert str(path) in text
    assert text.endswith(".")
    assert "\n" not in text


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
@pytest.mark.parametrize(("key", "file"), FILES)
def test_truncated_files(tmp_path, key, file, share):
    write, load, _ = fake_data.SETS[key]
    write(tmp_path)
    path = tmp_path / file
    raw = path.read_bytes()
    path.write_bytes(raw[: int(share * len(raw))])
    with pytest.raises(ValueError, match="damaged") as caught:
        load(folder=tmp_path)
    assert_names_the_file(caught.value, path)


@pytest.mark.parametrize(("key", "file"), FILES)
def test_flipped_bits_are_found_or_harmless(tmp_path, key, file):
    write, load, _ = fake_data.SETS[key]
    write(tmp_path)
    path = tmp_path / file
    raw = path.read_bytes()
    expected = values_of(load(folder=tmp_path))
    found = 0
    rng = np.random.default_rng(0)
    for place, bit in zip(rng.integers(len(raw), size=60), rng.integers(8, size=60), strict=True):
        damaged = bytearray(raw)
        damaged[place] ^= 1 << bit
        path.write_bytes(damaged)
        try:
            values = values_of(load(folder=tmp_path))
        except ValueError as error:
            assert_names_the_file(error, path)
            found += 1
            continue
        if path.suffix != ".h5":  # of HDF5, only the packed counts have a checksum
            assert all(np.array_equal(a, b) for a, b in zip(values, expected, strict=True))
    assert found > 0


def test_flipped_bits_of_packed_counts_are_found(tmp_path):
    fake_data.write_worm(tmp_path)
    path = tmp_path / "scrna/worm_neuron_cell.h5"
    with h5py.File(path) as file:
        chunk = file["X"].id.get_chunk_info(0)
    raw = bytearray(path.read_bytes())
    for place in np.linspace(chunk.byte_offset, chunk.byte_offset + chunk.size - 1, 40).astype(int):
        damaged = raw.copy()
        damaged[place] ^= 16
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="damaged"):
            datasets.load_worm_neurons(folder=tmp_path)


def flat(*shape, dtype=np.uint8):
    return np.ones(shape, dtype=dtype)


@pytest.mark.parametrize(
    ("write", "load", "text"),
    [
        (partial(fake_data.write_usps, key="other"), datasets.load_usps, "holds no usps_all"),
        (partial(fake_data.write_usps, width=200), datasets.load_usps, "images of 16 x 16 pixels"),
        (partial(fake_data.write_orl, labels=None), datasets.load_orl, "holds no labels.npy"),
        (partial(fake_data.write_orl, images=flat(12, 92, 112)), datasets.load_orl, "112 x 92 pixels"),
        (partial(fake_data.write_orl, images=flat(12, 112, 92, dtype=float)), datasets.load_orl, "as bytes"),
        (partial(fake_data.write_orl, labels=flat(5)), datasets.load_orl, "one label for each"),
        (partial(fake_data.write_orl, labels=flat(12, dtype=float)), datasets.load_orl, "one label for each"),
        (partial(fake_data.write_orl, labels=0 * flat(12)), datasets.load_orl, "labels from 1 to 40"),
        (partial(fake_data.write_orl, labels=41 * flat(12)), datasets.load_orl, "labels from 1 to 40"),
        (partial(fake_data.write_yale, gnd=None), datasets.load_yale, "holds no gnd"),
        (partial(fake_data.write_pie, fea=flat(31 * 41, 1000)), datasets.load_pie, "32 x 32 pixels"),
        (partial(fake_data.write_restaurant, masks=flat(3, 5, 6, dtype=bool)), "restaurant", "size of the frames"),
        (partial(fake_data.write_restaurant, masks=flat(3, 6, 5)), "restaurant", "size of the frames"),
        (partial(fake_data.write_restaurant, frame_ids=np.arange(2)), "restaurant", "number of each mask's frame"),
        (partial(fake_data.write_airport, frames=flat(2, 6, 5)), "airport", "a frame for each mask"),
        (partial(fake_data.write_worm, labels=np.arange(300.0)), datasets.load_worm_neurons, "labels 1, 2"),
        (partial(fake_data.write_worm, labels=np.ones(299)), datasets.load_worm_neurons, "labels 1, 2"),
        (partial(fake_data.write_worm, counts=-np.eye(300)), datasets.load_worm_neurons, "counts"),
        (partial(fake_data.write_worm, counts=np.ones((300, 2, 2))), datasets.load_worm_neurons, "with 2 axes"),
        (partial(fake_data.write_pbmc, labels=flat(3)), datasets.load_pbmc, "one label for each cell"),
        (partial(fake_data.write_pbmc, genes=flat(7)), datasets.pbmc_names, "lists of names"),
    ],
)
def test_other_content(tmp_path, write, load, text):
    write(tmp_path)
    load = partial(datasets.load_video, load) if isinstance(load, str) else load
    with pytest.raises(ValueError, match=text) as caught:
        load(folder=tmp_path)
    assert_names_the_file(caught.value, tmp_path)


@pytest.mark.parametrize(
    ("file", "array", "text"),
    [
        ("train-images-idx3-ubyte.gz", flat(30, 27, 28), "28 x 28 pixels"),
        ("t10k-labels-idx1-ubyte.gz", flat(19), "one label for each image"),
        ("t10k-labels-idx1-ubyte.gz", 10 * flat(20), "labels from 0 to 9"),
    ],
)
def test_other_mnist(tmp_path, file, array, text):
    fake_data.write_mnist(tmp_path)
    path = tmp_path / "mnist" / file
    path.write_bytes(gzip.compress(fake_data.idx(array)))
    with pytest.raises(ValueError, match=text) as caught:
        datasets.load_mnist(folder=tmp_path)
    assert_names_the_file(caught.value, path)


def test_idx_must_end_where_it_says(tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(fake_data.idx(flat(3)) + b"more"))
    with pytest.raises(ValueError, match="more than the 3 bytes"):
        formats.read_idx(path)
    path.write_bytes(gzip.compress(b"\x00\x00\x08\x03" + b"\xff" * 12))
    with pytest.raises(ValueError, match="larger than"):
        formats.read_idx(path)


def test_python_objects_are_not_read(tmp_path):
    path = tmp_path / "x.npz"
    fake_data.npz(path, a=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="damaged"):
        formats.read_npz(path, "a")


def test_arrays_by_columns_are_read_as_they_were(tmp_path):
    array = np.asfortranarray(np.arange(6).reshape(2, 3))
    fake_data.npz(tmp_path / "x.npz", a=array)
    (found,) = formats.read_npz(tmp_path / "x.npz", "a")
    assert_array_equal(found, array)
    assert found.flags.c_contiguous


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({}, "no images"),
        ({"1.txt": b"x"}, "'1.txt' is not the name of a numbered JPEG file"),
        ({"1.jpg": b"x"}, "cannot identify"),
        ({"1.jpg": (4, 4), "2.jpg": (4, 5)}, "2.jpg is 4 x 5 pixels, unlike the first"),
        ({"a1.jpg": (4, 4), "b1.jpg": (4, 4)}, "two of the same number"),
    ],
    ids=["empty", "name", "content", "sizes", "numbers"],
)
def test_other_pictures(tmp_path, content, text):
    path = tmp_path / "frames.zip"
    raw = {
        name: fake_data.jpeg(Image.new("L", what)) if isinstance(what, tuple) else what
        for name, what in content.items()
    }
    fake_data.write_zip(path, raw)
    with pytest.raises(ValueError, match=text) as caught:
        formats.read_jpegs(path)
    assert_names_the_file(caught.value, path)


def test_absurd_sizes_are_refused_before_memory_is_allocated(tmp_path):
    path = tmp_path / "frames.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("1.jpg", bytes(formats.MAX_IMAGE_BYTES + 1))  # 16 MB of noughts, packed into 16 kB
    with pytest.raises(ValueError, match="claims 16777217 bytes"):
        formats.read_jpegs(path)
    fake_data.write_zip(path, {f"{i}.jpg": fake_data.jpeg(Image.new("L", (100, 100))) for i in range(3)})
    with pytest.raises(ValueError, match=r"shape \(3, 100, 100\) is larger than"):
        formats.read_jpegs(path, max_bytes=3 * 100 * 100 - 1)


def test_a_member_gives_no_more_than_it_claims(tmp_path):
    """A zip file whose list says 10 bytes where many more are packed."""
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(10**6))
    with zipfile.ZipFile(path) as archive:
        archive.NameToInfo["a"].file_size = 10
        with pytest.raises(zipfile.BadZipFile, match="Bad CRC-32"):
            formats.read_member(archive, "a", 100)


def test_worm_of_an_absurd_shape(tmp_path):
    path = tmp_path / "scrna/worm_neuron_cell.h5"
    path.parent.mkdir()
    with h5py.File(path, "w") as file:
        file.create_dataset("X", shape=(10**9, 10**6), dtype="f8", chunks=(10, 10))  # holds nothing, claims 8 PB
        file["Y"] = [1.0]
    with pytest.raises(ValueError, match="absurd shape"):
        datasets.load_worm_neurons(folder=tmp_path)


@pytest.mark.parametrize("key", ["shopping_mall", "worm neurons"])
def test_missing_packages_are_asked_for_by_name(tmp_path, monkeypatch, key):
    write, load, _ = fake_data.SETS[key]
    write(tmp_path)
    package = {"shopping_mall": "PIL", "worm neurons": "h5py"}[key]
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == package:
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install graphlowrank\[io\]"):
        load(folder=tmp_path)


def test_no_permission_is_not_called_damage(tmp_path, monkeypatch):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(fake_data.idx(flat(3))))

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(gzip, "open", refuse)
    with pytest.raises(PermissionError):
        formats.read_idx(path)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"not gzip at all", "is damaged"),
        (gzip.compress(bytes(1000))[:20], "is damaged"),
        (gzip.compress(b"\x01\x02"), "not an idx file"),
        (gzip.compress(bytes([0, 0, 8, 1, 0, 0, 0, 9, 1, 2])), "is truncated: 2 of 9 bytes"),
    ],
    ids=["not gzip", "truncated gzip", "other content", "too short"],
)
def test_damaged_idx_files(tmp_path, content, text):
    (tmp_path / "mnist").mkdir()
    for name in ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"):
        (tmp_path / "mnist" / name).write_bytes(content)
    with pytest.raises(ValueError, match=text):
        datasets.load_mnist(folder=tmp_path)
