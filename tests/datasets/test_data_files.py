"""Loaders of real data sets, tried on tiny files of the same formats; where files are looked for; damaged files."""

import builtins
import gzip
import sys
import zipfile
from functools import partial
from pathlib import Path

import fake_data
import h5py
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from graphlowrank import datasets
from graphlowrank.datasets import files, formats


@pytest.fixture(autouse=True)
def no_other_data(tmp_path_factory, monkeypatch):
    """Neither the user's data nor the user's cache."""
    monkeypatch.delenv("GRAPHLOWRANK_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


# Set: what writes it, what loads it, its files.
SETS = {
    "mnist": (
        fake_data.write_mnist,
        datasets.load_mnist,
        [f"mnist/{part}-{kind}-ubyte.gz" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")],
    ),
    "usps": (fake_data.write_usps, datasets.load_usps, ["usps/usps_9298.mat"]),
    "orl": (fake_data.write_orl, datasets.load_orl, ["orl/orl_112x92.npz"]),
    "yale": (fake_data.write_yale, datasets.load_yale, ["yale/Yale_32x32.mat"]),
    "pie": (fake_data.write_pie, datasets.load_pie, ["pie/PIE_pose27_32x32.mat"]),
    "restaurant": (
        fake_data.write_restaurant,
        partial(datasets.load_video, "restaurant"),
        ["i2r_bootstrap/frames.npz", "i2r_bootstrap/gt_masks.npz"],
    ),
    "shopping_mall": (
        fake_data.write_shopping_mall,
        partial(datasets.load_video, "shopping_mall"),
        ["i2r_shoppingmall/frames.zip", "i2r_shoppingmall/gt_masks.npz"],
    ),
    "airport": (
        fake_data.write_airport,
        partial(datasets.load_video, "airport"),
        ["i2r_airport/frames.npz", "i2r_airport/gt_masks.npz"],
    ),
    "highway": (
        fake_data.write_highway,
        partial(datasets.load_video, "highway"),
        ["cdnet_highway/frames.zip", "cdnet_highway/gt_masks.npz"],
    ),
    "worm neurons": (fake_data.write_worm, datasets.load_worm_neurons, ["scrna/worm_neuron_cell.h5"]),
    "pbmc": (fake_data.write_pbmc, datasets.load_pbmc, ["scrna/pbmc68k_reduced.npz"]),
}
FILES = [pytest.param(key, file, id=file) for key, (_, _, listed) in SETS.items() for file in listed]


# --- what loaders return -----------------------------------------------------------------------------------------


def assert_images(X, images):
    assert X.dtype == np.float32
    assert X.flags.c_contiguous
    assert_allclose(X, images.reshape(len(X), -1) / 255, atol=1e-7)


def test_mnist_is_train_then_test(tmp_path):
    images, labels = fake_data.write_mnist(tmp_path)
    X, y = datasets.load_mnist(folder=tmp_path)
    assert_images(X, images)
    assert_array_equal(y, labels)
    assert y.dtype == int


def test_first_of_each_digit(tmp_path):
    images, labels = fake_data.write_mnist(tmp_path)
    X, y = datasets.load_mnist(n_per_class=4, folder=tmp_path)
    assert_array_equal(np.bincount(y), np.full(10, 4))
    assert_array_equal(y, labels[:40])
    assert_images(X, images[:40])
    with pytest.raises(ValueError, match="n_per_class must be at most 5, the size of the smallest class; got 6"):
        datasets.load_mnist(n_per_class=6, folder=tmp_path)
    with pytest.raises(ValueError, match="at least 1"):
        datasets.load_mnist(n_per_class=0, folder=tmp_path)


def test_usps_digits_count_from_nought(tmp_path):
    table = fake_data.write_usps(tmp_path)
    X, y = datasets.load_usps(folder=tmp_path)
    assert_images(X, table[:, :-1])
    assert_array_equal(y, np.arange(40) % 10)
    assert len(datasets.load_usps(n_per_class=2, folder=tmp_path)[0]) == 20


def test_orl_in_three_sizes(tmp_path):
    images = fake_data.write_orl(tmp_path)
    X, y = datasets.load_orl(folder=tmp_path)
    assert_images(X, images)
    assert_array_equal(y, np.repeat(np.arange(4), 3))
    X, _ = datasets.load_orl(shape=(56, 46), folder=tmp_path)
    assert X.dtype == np.float32
    assert_allclose(X[5].reshape(56, 46)[7, 9], images[5, 14:16, 18:20].mean() / 255, rtol=1e-5)
    X, _ = datasets.load_orl(shape=(28, 23), folder=tmp_path)
    assert_allclose(X[5].reshape(28, 23)[7, 9], images[5, 28:32, 36:40].mean() / 255, rtol=1e-5)
    with pytest.raises(ValueError, match=r"shape must be one of \(112, 92\), \(56, 46\), \(28, 23\); got \(32, 32\)"):
        datasets.load_orl(shape=(32, 32), folder=tmp_path)


def test_cropped_faces_are_turned_the_right_way_up(tmp_path):
    images = fake_data.write_yale(tmp_path)
    X, y = datasets.load_yale(folder=tmp_path)
    assert_images(X, images)
    assert_array_equal(y, np.repeat(np.arange(15), 2))


def test_pie_of_the_paper(tmp_path):
    images = fake_data.write_pie(tmp_path)
    X, y = datasets.load_pie(folder=tmp_path)
    assert_images(X, images)
    chosen, people = datasets.load_pie(subset="paper", folder=tmp_path)
    assert_array_equal(people, np.repeat(np.arange(30), 40))
    assert_array_equal(chosen[:41], X[[*range(40), 41]])  # the 41st of the first subject is left out
    assert len(y) == 31 * 41
    with pytest.raises(ValueError, match="subset must be 'all' or 'paper'; got 'half'"):
        datasets.load_pie(subset="half", folder=tmp_path)


def test_restaurant_masks_find_their_frames(tmp_path):
    frames, masks = fake_data.write_restaurant(tmp_path)
    video = datasets.load_video("restaurant", folder=tmp_path)
    assert_array_equal(video.frames, frames)
    assert_array_equal(video.mask_frames, [2, 7])  # the third mask's frame is not there
    assert_array_equal(video.masks, masks[:2])
    assert video.image_shape == (6, 5)
    assert_images(video.matrix(), frames)
    assert_array_equal(video.mask_matrix(), masks[:2].reshape(2, 30))
    assert "restaurant" in video.description


def test_airport_frames_with_masks_come_last(tmp_path):
    frames, masks = fake_data.write_airport(tmp_path)
    video = datasets.load_video("airport", folder=tmp_path)
    assert_array_equal(video.frames, frames)
    assert_array_equal(video.mask_frames, [5, 6, 7])
    assert_array_equal(video.masks, masks)


@pytest.mark.parametrize(
    ("name", "write", "rows"),
    [
        ("shopping_mall", fake_data.write_shopping_mall, [1, 4]),
        ("highway", fake_data.write_highway, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_videos_of_pictures(tmp_path, name, write, rows):
    pictures, masks = write(tmp_path)
    grey = np.stack([np.asarray(Image.fromarray(picture).convert("L")) for picture in pictures])
    video = datasets.load_video(name, folder=tmp_path)
    assert_allclose(video.frames.astype(int), grey, atol=3)  # JPEG rounds
    assert video.frames.dtype == np.uint8
    assert_array_equal(video.mask_frames, rows)
    assert_array_equal(video.masks, masks)


def test_highway_in_colour(tmp_path):
    pictures, _ = fake_data.write_highway(tmp_path)
    video = datasets.load_video("highway", colour=True, folder=tmp_path)
    assert_allclose(video.frames.astype(int), pictures, atol=3)
    assert video.image_shape == (8, 16)
    assert video.matrix().shape == (6, 8 * 16 * 3)
    with pytest.raises(ValueError, match="only 'highway' is in colour; 'airport' is grey"):
        datasets.load_video("airport", colour=True)


def test_other_videos_are_not_known():
    with pytest.raises(ValueError, match="one of restaurant, shopping_mall, airport, highway; got 'lobby'"):
        datasets.load_video("lobby")


@pytest.mark.parametrize(
    "storage",
    [{}, {"chunks": (100, 7)}, {"chunks": True, "compression": None}, {"chunks": (300, 40), "compression": "lzf"}],
    ids=["one piece", "pieces", "plain", "other packing"],
)
def test_worm_neurons_are_sparse(tmp_path, storage):
    counts, labels = fake_data.write_worm(tmp_path, **storage)
    X, y = datasets.load_worm_neurons(folder=tmp_path)
    assert X.format == "csr"
    assert X.dtype == np.float32
    assert_array_equal(X.toarray(), counts)
    assert X.nnz == np.count_nonzero(counts)
    assert_array_equal(y, labels - 1)


def test_worm_neurons_are_never_read_whole(tmp_path, monkeypatch):
    fake_data.write_worm(tmp_path)

    def whole(self, *args):
        if len(self.shape) == 2:
            raise AssertionError("HDF5 unpacks all of a table that is one piece")
        return original(self, *args)

    original = h5py.Dataset.__getitem__
    monkeypatch.setattr(h5py.Dataset, "__getitem__", whole)
    assert datasets.load_worm_neurons(folder=tmp_path)[0].shape == (300, 40)


def test_pbmc_with_names(tmp_path):
    expected = fake_data.write_pbmc(tmp_path)
    X, y = datasets.load_pbmc(folder=tmp_path)
    assert_array_equal(X, expected)
    assert X.dtype == np.float32
    assert_array_equal(y, np.arange(20) % 3)
    types, genes = datasets.pbmc_names(folder=tmp_path)
    assert types == ["B", "NK", "T"]
    assert genes[-1] == "G6"


@pytest.mark.parametrize("key", SETS)
def test_what_is_loaded_can_be_written_to(tmp_path, key):
    write, load, _ = SETS[key]
    write(tmp_path)
    data = load(folder=tmp_path)
    arrays = (data.frames, data.masks, data.mask_frames) if isinstance(data, datasets.Video) else (data[1],)
    assert all(array.flags.writeable for array in arrays)


# --- where files are looked for ----------------------------------------------------------------------------------


def test_search_order(tmp_path, monkeypatch):
    named, cache = tmp_path / "named", tmp_path / "caches"
    monkeypatch.setenv("GRAPHLOWRANK_DATA", str(named))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    assert files.search_folders() == (named, cache / "graphlowrank")
    assert files.search_folders(tmp_path) == (tmp_path,)
    cached = fake_data.write_usps(cache / "graphlowrank", n=10)
    assert_images(datasets.load_usps()[0], cached[:, :-1])
    fake_data.write_usps(named, n=20)
    assert len(datasets.load_usps()[0]) == 20
    fake_data.write_usps(tmp_path, n=30)
    assert len(datasets.load_usps(folder=str(tmp_path))[0]) == 30
    monkeypatch.setenv("GRAPHLOWRANK_DATA", "")  # as good as not set
    assert len(datasets.load_usps()[0]) == 10


@pytest.mark.parametrize("key", SETS)
def test_a_missing_file_says_where_it_was_looked_for(tmp_path, monkeypatch, key):
    load, wanted = SETS[key][1], SETS[key][2][0]
    with pytest.raises(FileNotFoundError, match="GRAPHLOWRANK_DATA") as caught:
        load(folder=tmp_path)
    assert str(caught.value).startswith(f"{wanted} is not in {tmp_path}: put it there")
    assert ("download=True" in str(caught.value)) == (key in {"mnist", "usps"})
    monkeypatch.setenv("GRAPHLOWRANK_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="put it there") as caught:
        load()
    assert f"is not in {tmp_path} nor in {files.cache_folder()}" in str(caught.value)


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "HOME/.cache/graphlowrank"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/graphlowrank"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "HOME/.cache/graphlowrank"),
        ("darwin", {}, "HOME/Library/Caches/graphlowrank"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/graphlowrank"),
        ("win32", {}, "HOME/.cache/graphlowrank"),
    ],
)
def test_cache_folder(monkeypatch, platform, variables, expected):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("HOME"))
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert files.cache_folder() == Path(expected)


# --- damaged files -----------------------------------------------------------------------------------------------


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
    write, load, _ = SETS[key]
    write(tmp_path)
    path = tmp_path / file
    raw = path.read_bytes()
    path.write_bytes(raw[: int(share * len(raw))])
    with pytest.raises(ValueError, match="damaged") as caught:
        load(folder=tmp_path)
    assert_names_the_file(caught.value, path)


@pytest.mark.parametrize(("key", "file"), FILES)
def test_flipped_bits_are_found_or_harmless(tmp_path, key, file):
    write, load, _ = SETS[key]
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
        (partial(fake_data.write_usps, width=200), datasets.load_usps, "pictures of 256 pixels"),
        (partial(fake_data.write_orl, labels=None), datasets.load_orl, "holds no labels.npy"),
        (partial(fake_data.write_orl, images=flat(12, 92, 112)), datasets.load_orl, "112 x 92 pixels"),
        (partial(fake_data.write_orl, images=flat(12, 112, 92, dtype=float)), datasets.load_orl, "as bytes"),
        (partial(fake_data.write_orl, labels=flat(5)), datasets.load_orl, "one label for each"),
        (partial(fake_data.write_orl, labels=flat(12, dtype=float)), datasets.load_orl, "one label for each"),
        (partial(fake_data.write_orl, labels=0 * flat(12)), datasets.load_orl, "labels from 1 to 40"),
        (partial(fake_data.write_orl, labels=41 * flat(12)), datasets.load_orl, "labels from 1 to 40"),
        (partial(fake_data.write_yale, gnd=None), datasets.load_yale, "holds no gnd"),
        (partial(fake_data.write_pie, fea=flat(31 * 41, 1000)), datasets.load_pie, "1024 pixels"),
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
        ("t10k-labels-idx1-ubyte.gz", flat(19), "one label for each picture"),
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
        ({}, "no pictures"),
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
        formats.read_pictures(path)
    assert_names_the_file(caught.value, path)


def test_absurd_sizes_are_refused_before_memory_is_taken(tmp_path, monkeypatch):
    path = tmp_path / "frames.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("1.jpg", bytes(formats.MAX_PICTURE_BYTES + 1))  # 16 MB of noughts, packed into 16 kB
    with pytest.raises(ValueError, match="claims 16777217 bytes"):
        formats.read_pictures(path)
    fake_data.write_zip(path, {f"{i}.jpg": fake_data.jpeg(Image.new("L", (100, 100))) for i in range(3)})
    monkeypatch.setattr(formats, "MAX_BYTES", 3 * 100 * 100 - 1)
    with pytest.raises(ValueError, match=r"shape \(3, 100, 100\) is larger than"):
        formats.read_pictures(path)


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
    write, load, _ = SETS[key]
    write(tmp_path)
    package = {"shopping_mall": "PIL", "worm neurons": "h5py"}[key]
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == package:
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install graphlowrank\[data\]"):
        load(folder=tmp_path)


def test_no_permission_is_not_called_damage(tmp_path, monkeypatch):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(fake_data.idx(flat(3))))

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(gzip, "open", refuse)
    with pytest.raises(PermissionError):
        formats.read_idx(path)
