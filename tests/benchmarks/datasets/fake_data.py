"""Tiny data sets of noise, written as the real ones are: same names, formats, keys and picture sizes."""

import gzip
import io
import zipfile
from functools import partial

import h5py
import numpy as np
from numpy.testing import assert_allclose
from PIL import Image
from scipy.io import savemat

from graphlowrank_benchmarks import datasets

CONTENT = np.random.default_rng(0).bytes(300_000)  # of a file to download


def write_mnist(folder, n=(30, 20)):
    rng = np.random.default_rng(0)
    made = []
    for part, size in zip(("train", "t10k"), n, strict=True):
        images = rng.integers(256, size=(size, 28, 28), dtype=np.uint8)
        labels = np.arange(size, dtype=np.uint8) % 10
        _write(folder / f"mnist/{part}-images-idx3-ubyte.gz", gzip.compress(idx(images)))
        _write(folder / f"mnist/{part}-labels-idx1-ubyte.gz", gzip.compress(idx(labels)))
        made.append((images, labels))
    return [np.concatenate(both) for both in zip(*made, strict=True)]


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


def write_usps(folder, n=40, width=257, key="usps_all"):
    table = np.random.default_rng(1).integers(256, size=(n, width), dtype=np.uint8)
    table[:, -1] = 1 + np.arange(n) % 10
    mat(folder / "usps/usps_9298.mat", **{key: table})
    return table


def write_orl(folder, **changes):
    images = np.random.default_rng(2).integers(256, size=(12, 112, 92), dtype=np.uint8)
    labels = np.repeat(np.arange(1, 5), 3).astype(np.uint8)
    npz(folder / "orl/orl_112x92.npz", **{"images": images, "labels": labels, **changes})
    return images


def write_yale(folder, **changes):
    return _faces(folder / "yale/Yale_32x32.mat", 15, 2, changes)


def write_pie(folder, **changes):
    return _faces(folder / "pie/PIE_pose27_32x32.mat", 31, 41, changes)


def _faces(path, people, each, changes):
    """Pictures, which the file holds column by column."""
    images = np.random.default_rng(3).integers(256, size=(people * each, 32, 32), dtype=np.uint8)
    labels = np.repeat(np.arange(1, people + 1), each).astype(np.uint8)[:, None]
    mat(path, **{"fea": images.transpose(0, 2, 1).reshape(-1, 1024), "gnd": labels, **changes})
    return images


def write_restaurant(folder, **changes):
    """Eight frames numbered from 1000, masks of two of them and of one that is not there."""
    frames = np.random.default_rng(4).integers(256, size=(8, 6, 5), dtype=np.uint8)
    npz(folder / "i2r_bootstrap/frames.npz", delta=_differences(frames), frame_ids=np.arange(1000, 1008))
    masks = np.random.default_rng(5).random((3, 6, 5)) < 0.5
    kept = {"masks": masks, "frame_ids": np.array([1002, 1007, 1900]), "frames": np.zeros_like(frames[:3])}
    npz(folder / "i2r_bootstrap/gt_masks.npz", **{**kept, **changes})
    return frames, masks


def write_airport(folder, **changes):
    """Five frames, and three others with masks."""
    frames = np.random.default_rng(6).integers(256, size=(8, 6, 5), dtype=np.uint8)
    npz(folder / "i2r_airport/frames.npz", delta=_differences(frames[:5]))
    masks = np.random.default_rng(7).random((3, 6, 5)) < 0.5
    kept = {"masks": masks, "frame_ids": np.array([1656, 2000, 4432]), "frames": frames[5:]}
    npz(folder / "i2r_airport/gt_masks.npz", **{**kept, **changes})
    return frames, masks


def _differences(frames):
    return np.diff(frames, axis=0, prepend=np.zeros_like(frames[:1]))  # bytes wrap around


def write_shopping_mall(folder):
    return _write_pictures(folder / "i2r_shoppingmall", "ShoppingMall{}.jpg", 1251, "L", [1252, 1255])


def write_highway(folder):
    return _write_pictures(folder / "cdnet_highway", "in{:06}.jpg", 470, "RGB", list(range(470, 476)))


def _write_pictures(folder, name, first, mode, marked):
    """Six flat pictures of 8 x 16 pixels, each of one colour."""
    shades = [(40 * i, 255 - 40 * i, 20) for i in range(6)]
    pictures = [Image.new("RGB", (16, 8), shade).convert(mode) for shade in shades]
    content = {name.format(first + i): jpeg(picture) for i, picture in enumerate(pictures)}
    write_zip(folder / "frames.zip", content)
    masks = np.random.default_rng(8).random((len(marked), 8, 16)) < 0.5
    npz(folder / "gt_masks.npz", frame_ids=np.array(marked), masks=masks)
    return np.stack([np.asarray(picture) for picture in pictures]), masks


def jpeg(picture):
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=100)
    return buffer.getvalue()


def write_zip(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, raw in content.items():
            archive.writestr(name, raw)


def write_worm(folder, *, chunks=None, compression="gzip", labels=None, counts=None):
    """300 cells, packed in one piece as the real file is unless other ``chunks`` are given."""
    rng = np.random.default_rng(9)
    made = rng.poisson(0.05, size=(300, 40)).astype(float) if counts is None else counts
    y = 1.0 + np.arange(300) % 10 if labels is None else labels
    path = folder / "scrna/worm_neuron_cell.h5"
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=made, chunks=chunks or made.shape, compression=compression)
        file.create_dataset("Y", data=y)
    return made, y


def write_pbmc(folder, **changes):
    X = np.random.default_rng(10).random((20, 7), dtype=np.float32)
    kept = {
        "lognorm": X,
        "labels": np.arange(20) % 3,
        "label_names": np.array(["B", "NK", "T"]),
        "genes": np.array([f"G{i}" for i in range(7)]),
    }
    npz(folder / "scrna/pbmc68k_reduced.npz", **{**kept, **changes})
    return X


def npz(path, **arrays):
    """Write the arrays; one that is None is left out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **{name: array for name, array in arrays.items() if array is not None})


def mat(path, **arrays):
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, {name: array for name, array in arrays.items() if array is not None}, do_compression=True)


def _write(path, raw):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)


def assert_images(X, images):
    assert X.dtype == np.float32
    assert X.flags.c_contiguous
    assert_allclose(X, images.reshape(len(X), -1) / 255, atol=1e-7)


# Set: what writes it, what loads it, its files.
SETS = {
    "mnist": (
        write_mnist,
        datasets.load_mnist,
        [f"mnist/{part}-{kind}-ubyte.gz" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")],
    ),
    "usps": (write_usps, datasets.load_usps, ["usps/usps_9298.mat"]),
    "orl": (write_orl, datasets.load_orl, ["orl/orl_112x92.npz"]),
    "yale": (write_yale, datasets.load_yale, ["yale/Yale_32x32.mat"]),
    "pie": (write_pie, datasets.load_pie, ["pie/PIE_pose27_32x32.mat"]),
    "restaurant": (
        write_restaurant,
        partial(datasets.load_video, "restaurant"),
        ["i2r_bootstrap/frames.npz", "i2r_bootstrap/gt_masks.npz"],
    ),
    "shopping_mall": (
        write_shopping_mall,
        partial(datasets.load_video, "shopping_mall"),
        ["i2r_shoppingmall/frames.zip", "i2r_shoppingmall/gt_masks.npz"],
    ),
    "airport": (
        write_airport,
        partial(datasets.load_video, "airport"),
        ["i2r_airport/frames.npz", "i2r_airport/gt_masks.npz"],
    ),
    "highway": (
        write_highway,
        partial(datasets.load_video, "highway"),
        ["cdnet_highway/frames.zip", "cdnet_highway/gt_masks.npz"],
    ),
    "worm neurons": (write_worm, datasets.load_worm_neurons, ["scrna/worm_neuron_cell.h5"]),
    "pbmc": (write_pbmc, datasets.load_pbmc, ["scrna/pbmc68k_reduced.npz"]),
}


def assert_nothing_left(folder):
    assert [path for path in folder.rglob("*") if path.is_file()] == []
