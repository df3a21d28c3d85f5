"""Loaders of real data sets from a folder the user keeps them in; the package ships none."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

import numpy as np
from scipy.io import loadmat

from .._backend import Array

FOLDER_VARIABLE = "GRAPHLOWRANK_DATA"


def data_folder() -> Path:
    """Folder named by the environment variable GRAPHLOWRANK_DATA, else the user's cache folder."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else Path.home() / ".cache" / "graphlowrank"


def find_file(name: str) -> Path:
    """Path of a data file, or an error that says where it should be."""
    path = data_folder() / name
    if not path.is_file():
        raise FileNotFoundError(
            f"{name} is not in {data_folder()}; put it there or name its folder in the variable {FOLDER_VARIABLE}."
        )
    return path


def load_mnist() -> tuple[Array, Array]:
    """MNIST digits, train and test: X (70000, 784) float32 in [0, 1] and labels 0..9.

    Needs the four ``*-ubyte.gz`` files in the folder ``mnist``.
    """
    images = [_read_idx(f"mnist/{part}-images-idx3-ubyte.gz") for part in ("train", "t10k")]
    labels = [_read_idx(f"mnist/{part}-labels-idx1-ubyte.gz") for part in ("train", "t10k")]
    X = np.concatenate([part.reshape(len(part), -1) for part in images])
    return np.divide(X, 255, dtype=np.float32), np.concatenate(labels).astype(int)


def load_usps() -> tuple[Array, Array]:
    """USPS digits: X (9298, 256) float32 in [0, 1] and labels 0..9. Needs ``usps/usps_9298.mat``."""
    table = loadmat(find_file("usps/usps_9298.mat"))["usps_all"]
    return np.divide(table[:, :256], 255, dtype=np.float32, order="C"), table[:, 256].astype(int) - 1


def load_orl() -> tuple[Array, Array]:
    """ORL faces: X (400, 10304) float32 in [0, 1] (112 x 92 pixels) and labels 0..39. Needs ``orl/orl_112x92.npz``."""
    with np.load(find_file("orl/orl_112x92.npz"), allow_pickle=False) as archive:
        images, labels = archive["images"], archive["labels"]
    return np.divide(images.reshape(len(images), -1), 255, dtype=np.float32), labels.astype(int) - 1


def load_bootstrap_video() -> tuple[Array, Array, Array]:
    """I2R "Bootstrap" video: frames, rows of those with masks, and their masks of people.

    X (1000, 19200) float32 in [0, 1] (120 x 160 pixels), rows (11,) and masks (11, 19200) booleans. Needs
    ``i2r_bootstrap/frames.npz``, which holds differences of successive frames, and ``i2r_bootstrap/gt_masks.npz``.
    """
    with np.load(find_file("i2r_bootstrap/frames.npz"), allow_pickle=False) as archive:
        frames = np.cumsum(archive["delta"], axis=0, dtype=np.uint8)  # modulo 256: lossless
        numbers = archive["frame_ids"]
    with np.load(find_file("i2r_bootstrap/gt_masks.npz"), allow_pickle=False) as archive:
        inside = np.isin(archive["frame_ids"], numbers)
        rows = np.searchsorted(numbers, archive["frame_ids"][inside])
        masks = archive["masks"][inside].astype(bool)
    X = np.divide(frames.reshape(len(frames), -1), 255, dtype=np.float32)
    return X, rows, masks.reshape(len(masks), -1)


def _read_idx(name: str) -> Array:
    """Array of a gzipped idx file: magic (0, 0, type, ndim), big-endian sizes, bytes."""
    path = find_file(name)
    try:
        with gzip.open(path) as file:
            raw = file.read()
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    header = np.frombuffer(raw[:4], np.uint8)
    if len(header) < 4 or tuple(header[:3]) != (0, 0, 8):
        raise ValueError(f"{path} is not an idx file of bytes.")
    start = 4 + 4 * int(header[3])
    shape = tuple(int(size) for size in np.frombuffer(raw[4:start], ">u4"))
    if len(raw) - start != int(np.prod(shape)):
        raise ValueError(f"{path} is truncated: {len(raw) - start} bytes where {int(np.prod(shape))} are due.")
    return np.frombuffer(raw, np.uint8, offset=start).reshape(shape)
