"""Loaders of real data sets, on tiny files of the same formats."""

import fake_data
import h5py
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from graphlowrank_benchmarks import datasets


def test_mnist_is_train_then_test(tmp_path):
    images, labels = fake_data.write_mnist(tmp_path)
    X, y = datasets.load_mnist(folder=tmp_path)
    fake_data.assert_images(X, images)
    assert_array_equal(y, labels)
    assert y.dtype == int


def test_first_of_each_digit(tmp_path):
    images, labels = fake_data.write_mnist(tmp_path)
    X, y = datasets.load_mnist(n_per_class=4, folder=tmp_path)
    assert_array_equal(np.bincount(y), np.full(10, 4))
    assert_array_equal(y, labels[:40])
    fake_data.assert_images(X, images[:40])
    with pytest.raises(ValueError, match="n_per_class must be at most 5, the size of the smallest class; got 6"):
        datasets.load_mnist(n_per_class=6, folder=tmp_path)
    with pytest.raises(ValueError, match="at least 1"):
        datasets.load_mnist(n_per_class=0, folder=tmp_path)


def test_usps_digits_count_from_nought(tmp_path):
    table = fake_data.write_usps(tmp_path)
    X, y = datasets.load_usps(folder=tmp_path)
    fake_data.assert_images(X, table[:, :-1])
    assert_array_equal(y, np.arange(40) % 10)
    assert len(datasets.load_usps(n_per_class=2, folder=tmp_path)[0]) == 20


def test_orl_in_three_sizes(tmp_path):
    images = fake_data.write_orl(tmp_path)
    X, y = datasets.load_orl(folder=tmp_path)
    fake_data.assert_images(X, images)
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
    fake_data.assert_images(X, images)
    assert_array_equal(y, np.repeat(np.arange(15), 2))


def test_pie_of_the_paper(tmp_path):
    images = fake_data.write_pie(tmp_path)
    X, y = datasets.load_pie(folder=tmp_path)
    fake_data.assert_images(X, images)
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
    fake_data.assert_images(video.matrix(), frames)
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
    with pytest.raises(ValueError, match="only 'highway' is in color; 'airport' is grayscale"):
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


@pytest.mark.parametrize("key", fake_data.SETS)
def test_what_is_loaded_can_be_written_to(tmp_path, key):
    write, load, _ = fake_data.SETS[key]
    write(tmp_path)
    data = load(folder=tmp_path)
    arrays = (data.frames, data.masks, data.mask_frames) if isinstance(data, datasets.Video) else (data[1],)
    assert all(array.flags.writeable for array in arrays)
