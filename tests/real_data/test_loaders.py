"""The real files are what their loaders say."""

import gzip
import hashlib
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank_benchmarks import datasets
from graphlowrank_benchmarks.datasets import images
from graphlowrank_benchmarks.datasets.files import find_file

pytestmark = pytest.mark.real_data

MNIST_COUNTS = [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958]
WORM_COUNTS = [842, 334, 1015, 443, 400, 314, 305, 224, 239, 70]
PBMC_COUNTS = [68, 8, 19, 54, 43, 129, 95, 13, 31, 240]


@pytest.mark.parametrize(
    ("load", "options", "n_features", "counts"),
    [
        ("load_mnist", {}, 784, MNIST_COUNTS),
        ("load_mnist", {"n_per_class": 100}, 784, [100] * 10),
        ("load_usps", {}, 256, images.USPS_COUNTS),
        ("load_usps", {"n_per_class": 350}, 256, [350] * 10),
        ("load_orl", {}, 10304, [10] * 40),
        ("load_orl", {"shape": (56, 46)}, 56 * 46, [10] * 40),
        ("load_orl", {"shape": (28, 23)}, 28 * 23, [10] * 40),
        ("load_yale", {}, 1024, [11] * 15),
        ("load_pie", {}, 1024, [42] * 68),
        ("load_pie", {"subset": "paper"}, 1024, [40] * 30),
    ],
)
def test_images(load, options, n_features, counts):
    X, y = getattr(datasets, load)(**options)
    assert X.shape == (sum(counts), n_features)
    assert X.dtype == np.float32
    assert X.flags.c_contiguous
    assert X.min() >= 0
    assert 0.8 < X.max() <= 1
    assert_array_equal(np.bincount(y), counts)


@pytest.mark.parametrize("file", images.IMAGE_SETS["mnist"].sha256)
def test_checksums_of_mnist(file):
    content = gzip.decompress(find_file(file).read_bytes())
    assert hashlib.sha256(content).hexdigest() == images.IMAGE_SETS["mnist"].sha256[file]


@pytest.mark.parametrize("name", ["orl", "yale", "pie"])
def test_faces_are_upright(name):
    """A face is much like its mirror image and less like itself upside down; a turned one would be the other way."""
    X, _ = getattr(datasets, f"load_{name}")()
    face = X.mean(axis=0).reshape(images.IMAGE_SHAPES[name])
    mirrored, upside_down = (np.corrcoef(face.ravel(), np.flip(face, axis).ravel())[0, 1] for axis in (1, 0))
    print(f"{name}: mirrored {mirrored:.2f}, upside down {upside_down:.2f}")
    assert mirrored > upside_down + 0.05


@pytest.mark.parametrize("name", ["mnist", "usps"])
def test_ones_are_upright(name):
    X, y = getattr(datasets, f"load_{name}")()
    one = X[y == 1].mean(axis=0).reshape(images.IMAGE_SHAPES[name])
    height, width = (spread_of(ink) for ink in (one.sum(axis=1), one.sum(axis=0)))
    assert height > 1.5 * width


def spread_of(ink):
    at = np.arange(len(ink))
    return np.sqrt(np.cov(at, aweights=ink))


@pytest.mark.parametrize(
    ("name", "shape", "n_masks", "foreground"),
    [
        ("restaurant", (1000, 120, 160), 11, 0.083),
        ("shopping_mall", (1000, 256, 320), 20, 0.061),
        ("airport", (120, 144, 176), 20, 0.064),
        ("highway", (700, 240, 320), 700, 0.053),
    ],
)
def test_videos_and_their_masks_belong_together(name, shape, n_masks, foreground):
    video = datasets.load_video(name)
    assert video.frames.shape == shape
    assert video.frames.dtype == np.uint8
    assert video.masks.shape == (n_masks, *shape[1:])
    assert video.masks.mean() == pytest.approx(foreground, abs=0.001)
    background = np.median(video.frames[::5], axis=0)
    rows = video.mask_frames[:: max(1, n_masks // 50)]
    masks = video.masks[:: max(1, n_masks // 50)]
    change = np.abs(video.frames[rows] - background)
    own, other = change[masks].mean(), change[np.roll(masks, len(masks) // 2, axis=0)].mean()
    print(f"{name}: change inside masks {own:.1f}, outside {change[~masks].mean():.1f}, in other masks {other:.1f}")
    assert own > 2.5 * change[~masks].mean()
    assert own > 1.2 * other  # masks given to other frames fit worse


def test_highway_in_colour():
    video = datasets.load_video("highway", colour=True)
    assert video.frames.shape == (700, 240, 320, 3)
    grey = video.frames[:20] @ [0.299, 0.587, 0.114]
    assert_allclose(grey, datasets.load_video("highway").frames[:20], atol=1.01)


WORM = """
import h5py
from graphlowrank_benchmarks.memory import peak_memory
from graphlowrank_benchmarks.datasets import load_worm_neurons
before = peak_memory()
load_worm_neurons()
print((peak_memory() - before) / 1e6)
"""


def test_worm_neurons_take_little_memory():
    X, y = datasets.load_worm_neurons()
    assert X.shape == (4186, 13488)
    assert X.nnz == pytest.approx(0.014 * 4186 * 13488, rel=0.05)
    assert X.data.min() == 1
    assert X.data.max() == 219
    assert_array_equal(np.bincount(y), WORM_COUNTS)
    out = subprocess.run([sys.executable, "-c", WORM], capture_output=True, text=True, check=True).stdout
    print(f"worm neurons: {float(out):.0f} MB")
    assert float(out) < 150  # dense 452


def test_pbmc():
    X, y = datasets.load_pbmc()
    types, genes = datasets.pbmc_names()
    assert X.shape == (700, 765) == (700, len(genes))
    assert X.dtype == np.float32
    assert X.min() == 0
    assert_array_equal(np.bincount(y), PBMC_COUNTS)
    assert types[9] == "Dendritic"
