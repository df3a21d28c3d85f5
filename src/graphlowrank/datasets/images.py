"""Pictures of digits and faces: one row a picture, pixels row by row, between 0 and 1; labels count from 0."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .._backend import Array
from .._files import check_writable, write_atomically
from .download import ByteProgress, DownloadError, fetch
from .files import Folder, download_target, find_file, look_for
from .formats import expect, read_idx, read_mat, read_npz

# Height and width: X[i].reshape(IMAGE_SHAPES["mnist"]) is a picture.
IMAGE_SHAPES = {"mnist": (28, 28), "usps": (16, 16), "orl": (112, 92), "yale": (32, 32), "pie": (32, 32)}

# The mirror that torchvision downloads from; the checksums are of the unpacked files.
MNIST_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"
MNIST_SHA256 = {
    "train-images-idx3-ubyte.gz": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte.gz": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte.gz": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte.gz": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}

USPS_FILE, USPS_OPENML_FILE = "usps/usps_9298.mat", "usps/usps_openml.npz"
USPS_COUNTS = (1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821)  # pictures of each digit

PIE_PAPER = (30, 40)  # subjects, pictures of each


def load_mnist(
    *, n_per_class: int | None = None, folder: Folder = None, download: bool = False, verbose: int = 0
) -> tuple[Array, Array]:
    """MNIST digits, train then test: 70000 pictures of 28 x 28 pixels.

    Parameters
    ----------
    n_per_class
        Only the first so many of each digit.
    folder
        Folder with the four files ``mnist/*-ubyte.gz``; see :func:`~graphlowrank.datasets.files.search_folders`.
    download
        Fetch what is missing (12 MB) into ``folder`` or the user's cache.
    verbose
        1 to show how the download goes.

    Returns
    -------
    X
        (70000, 784) float32 in [0, 1].
    y
        (70000,) digits 0..9.
    """
    _check_count(n_per_class)
    if download:
        _download_mnist(folder, verbose)
    train, test = (_mnist(part, folder) for part in ("train", "t10k"))
    pixels, y = (np.concatenate(both) for both in zip(train, test, strict=True))
    return _scaled(pixels, y, n_per_class)


def _mnist(part: str, folder: Folder) -> tuple[Array, Array]:
    path = find_file(f"mnist/{part}-images-idx3-ubyte.gz", folder, can_download=True)
    images = read_idx(path)
    expect(images.shape[1:] == (28, 28), path, "pictures of 28 x 28 pixels")
    path = find_file(f"mnist/{part}-labels-idx1-ubyte.gz", folder, can_download=True)
    return images.reshape(-1, 784), _labels(read_idx(path), len(images), range(10), path)


def _download_mnist(folder: Folder, verbose: int) -> None:
    for file, sha256 in MNIST_SHA256.items():
        name = f"mnist/{file}"
        if look_for(name, folder) is None:
            fetch(MNIST_URL + file, download_target(name, folder), sha256, gzipped=True, verbose=verbose)


def load_usps(
    *, n_per_class: int | None = None, folder: Folder = None, download: bool = False, verbose: int = 0
) -> tuple[Array, Array]:
    """USPS digits: 9298 pictures of 16 x 16 pixels.

    The download is the same set from OpenML, in another order.

    Parameters
    ----------
    n_per_class
        Only the first so many of each digit; 350 for the 3500 pictures of the CPCA paper.
    folder
        Folder with ``usps/usps_9298.mat``; see :func:`~graphlowrank.datasets.files.search_folders`.
    download
        Fetch the set, if it is missing, into ``folder`` or the user's cache.
    verbose
        1 to show how the download goes.

    Returns
    -------
    X
        (9298, 256) float32 in [0, 1].
    y
        (9298,) digits 0..9.
    """
    _check_count(n_per_class)
    from_openml = look_for(USPS_OPENML_FILE, folder)
    if look_for(USPS_FILE, folder) is None and (from_openml or download):
        path = from_openml or _download_usps(download_target(USPS_OPENML_FILE, folder), verbose)
        pixels, labels = read_npz(path, "pixels", "labels")
    else:
        path = find_file(USPS_FILE, folder, can_download=True)
        (table,) = read_mat(path, "usps_all")
        expect(table.ndim == 2, path, "a table")
        pixels, labels = table[:, :-1], table[:, -1]
    expect(pixels.shape[1:] == (256,) and pixels.dtype == np.uint8, path, "pictures of 256 pixels as bytes")
    return _scaled(pixels, _labels(labels, len(pixels), range(1, 11), path), n_per_class)


def _download_usps(path: Path, verbose: int) -> Path:
    """Fetch the set from OpenML, check that it is the one meant, and keep it as bytes like the other file."""
    check_writable(path)
    with ByteProgress(verbose).stage("download USPS from OpenML"):
        values, labels = _fetch_openml_usps()
    counts = tuple(int(np.sum(labels == digit + 1)) for digit in range(10))
    if values.shape != (sum(USPS_COUNTS), 256) or counts != USPS_COUNTS:
        raise DownloadError("USPS of OpenML is not the set expected: shape or number of pictures of a digit differ.")
    if not np.allclose([values.min(), values.max()], [-1, 1], atol=0.01):
        raise DownloadError("USPS of OpenML is not the set expected: its values do not span -1 to 1.")
    buffer = io.BytesIO()
    pixels = np.rint((values + 1) * 127.5).clip(0, 255).astype(np.uint8)
    np.savez_compressed(buffer, pixels=pixels, labels=labels.astype(np.uint8))
    write_atomically(path, buffer.getvalue())
    return path


def _fetch_openml_usps() -> tuple[Array, Array]:
    from tempfile import TemporaryDirectory

    from sklearn.datasets import fetch_openml

    try:
        # Its own cache is not needed beside ours; its parser that needs no pandas is slower, but this is done once.
        with TemporaryDirectory() as scratch:
            data = fetch_openml("USPS", version=2, as_frame=False, parser="liac-arff", data_home=scratch)
        return np.asarray(data.data, dtype=float), np.asarray(data.target).astype(float).astype(int)
    except (OSError, ValueError) as error:
        raise DownloadError(f"USPS cannot be had from OpenML: {str(error) or type(error).__name__}.") from error


def load_orl(*, shape: tuple[int, int] = (112, 92), folder: Folder = None) -> tuple[Array, Array]:
    """ORL (AT&T) faces: 40 people, 10 pictures each.

    Parameters
    ----------
    shape
        (112, 92) as photographed; (56, 46) and (28, 23) are averages of blocks of 2 x 2 and 4 x 4 pixels.
    folder
        Folder with ``orl/orl_112x92.npz``; see :func:`~graphlowrank.datasets.files.search_folders`.

    Returns
    -------
    X
        (400, height * width) float32 in [0, 1].
    y
        (400,) people 0..39, sorted.
    """
    blocks: dict[tuple[int, ...], int] = {(112, 92): 1, (56, 46): 2, (28, 23): 4}
    if tuple(shape) not in blocks:
        raise ValueError(f"shape must be one of {', '.join(map(str, blocks))}; got {shape!r}.")
    path = find_file("orl/orl_112x92.npz", folder)
    images, labels = read_npz(path, "images", "labels")
    expect(images.shape[1:] == (112, 92) and images.dtype == np.uint8, path, "pictures of 112 x 92 pixels as bytes")
    X, y = _scaled(images.reshape(len(images), -1), _labels(labels, len(images), range(1, 41), path))
    return block_average(X, (112, 92), blocks[tuple(shape)]), y


def block_average(X: Array, image_shape: tuple[int, int], block: int) -> Array:
    """Average every square of ``block`` x ``block`` pixels.

    Examples
    --------
    >>> block_average(np.array([[0.0, 2.0, 1.0, 1.0]]), (2, 2), 2)
    array([[1.]])
    """
    if block == 1:
        return X
    height, width = image_shape
    squares = X.reshape(len(X), height // block, block, width // block, block)
    return squares.mean(axis=(2, 4)).reshape(len(X), -1)


def load_yale(*, folder: Folder = None) -> tuple[Array, Array]:
    """Yale faces, cropped to 32 x 32 pixels by Deng Cai: 15 people, 11 pictures each.

    Parameters
    ----------
    folder
        Folder with ``yale/Yale_32x32.mat``; see :func:`~graphlowrank.datasets.files.search_folders`.

    Returns
    -------
    X
        (165, 1024) float32 in [0, 1].
    y
        (165,) people 0..14, sorted.
    """
    return _cropped_faces("yale/Yale_32x32.mat", folder, n_people=15)


def load_pie(*, subset: Literal["all", "paper"] = "all", folder: Folder = None) -> tuple[Array, Array]:
    """CMU PIE faces seen from the front (pose C27), cropped to 32 x 32 pixels by Deng Cai.

    Parameters
    ----------
    subset
        "all": 68 people in 42 lights; "paper": the first 40 pictures of the first 30 people, as many as the CPCA
        paper has.
    folder
        Folder with ``pie/PIE_pose27_32x32.mat``; see :func:`~graphlowrank.datasets.files.search_folders`.

    Returns
    -------
    X
        (2856, 1024) or (1200, 1024) float32 in [0, 1].
    y
        (2856,) or (1200,) people, sorted.
    """
    if subset not in {"all", "paper"}:
        raise ValueError(f"subset must be 'all' or 'paper'; got {subset!r}.")
    X, y = _cropped_faces("pie/PIE_pose27_32x32.mat", folder, n_people=68)
    if subset == "all":
        return X, y
    people, pictures = PIE_PAPER
    keep = first_of_each(y, pictures)
    keep = keep[y[keep] < people]
    return X[keep], y[keep]


def _cropped_faces(name: str, folder: Folder, n_people: int) -> tuple[Array, Array]:
    path = find_file(name, folder)
    pixels, labels = read_mat(path, "fea", "gnd")
    expect(pixels.shape[1:] == (1024,) and pixels.dtype == np.uint8, path, "pictures of 1024 pixels as bytes")
    by_rows = pixels.reshape(-1, 32, 32).transpose(0, 2, 1).reshape(-1, 1024)  # Matlab stores column by column
    return _scaled(by_rows, _labels(labels.ravel(), len(pixels), range(1, n_people + 1), path))


def _labels(labels: Array, n: int, allowed: range, path: Path) -> Array:
    """Labels counted from 0, after a look at them."""
    expect(labels.shape == (n,) and n > 0 and labels.dtype.kind in "ui", path, "one label for each picture")
    expect(labels.min() in allowed and labels.max() in allowed, path, f"labels from {allowed[0]} to {allowed[-1]}")
    return labels.astype(int) - allowed[0]


def _scaled(pixels: Array, y: Array, n_per_class: int | None = None) -> tuple[Array, Array]:
    """Bytes as numbers in [0, 1], of all pictures or the first of each class."""
    if n_per_class is not None:
        keep = first_of_each(y, n_per_class)
        pixels, y = pixels[keep], y[keep]
    return np.divide(pixels, 255, dtype=np.float32, order="C"), y


def _check_count(n_per_class: Any) -> None:
    """Raise, before anything is read, unless it is None or a positive whole number."""
    whole = isinstance(n_per_class, (int, np.integer)) and not isinstance(n_per_class, bool)
    if n_per_class is not None and not (whole and n_per_class >= 1):
        raise ValueError(f"n_per_class must be a whole number of at least 1; got {n_per_class!r}.")


def first_of_each(y: Array, n_per_class: int) -> Array:
    """Find the first ``n_per_class`` members of every class, in their order.

    Examples
    --------
    >>> first_of_each(np.array([1, 0, 1, 1, 0]), 2)
    array([0, 1, 2, 4])
    """
    _check_count(n_per_class)
    members = [np.flatnonzero(y == label) for label in np.unique(y)]
    smallest = min(len(rows) for rows in members)
    if smallest < n_per_class:
        raise ValueError(f"n_per_class must be at most {smallest}, the size of the smallest class; got {n_per_class}.")
    return np.sort(np.concatenate([rows[:n_per_class] for rows in members]))
