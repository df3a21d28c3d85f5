"""Loaders of digits and faces: one image per row, pixels in row-major order between 0 and 1, labels from 0."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from graphlowrank._files import check_writable

from ..internals import Array, write_atomically
from .download import ByteProgress, DownloadError, fetch
from .files import Folder, download_target, find_file, look_for
from .formats import expect, read_idx, read_mat, read_npz


class ImageSet(NamedTuple):
    """One row of the table of image data sets."""

    files: tuple[tuple[str, ...], ...]  # one with images and labels, or one of each; several parts are concatenated
    read: Callable[[Path], Sequence[Array]]  # arrays of a file: uint8 images, labels
    image_shape: tuple[int, int]  # (height, width)
    labels: range  # as stored
    by_columns: bool = False  # pixels in column-major order
    can_download: bool = False
    url: str = ""  # where to download from
    sha256: Mapping[str, str] = MappingProxyType({})  # of the unpacked files


def _read_mnist(path: Path) -> Sequence[Array]:
    return [read_idx(path)]


def _read_orl(path: Path) -> Sequence[Array]:
    return read_npz(path, "images", "labels")


def _read_usps(path: Path) -> Sequence[Array]:
    if path.suffix == ".npz":
        return read_npz(path, "pixels", "labels")
    (table,) = read_mat(path, "usps_all")
    expect(table.ndim == 2, path, "a table")
    return table[:, :-1], table[:, -1]


def _read_cropped_faces(path: Path) -> Sequence[Array]:
    images, labels = read_mat(path, "fea", "gnd")
    return images, labels.ravel()


USPS_FILE, USPS_OPENML_FILE = "usps/usps_9298.mat", "usps/usps_openml.npz"
USPS_COUNTS = (1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821)  # images of each digit
YALE_FILE, PIE_FILE, ORL_FILE = "yale/Yale_32x32.mat", "pie/PIE_pose27_32x32.mat", "orl/orl_112x92.npz"
PIE_PAPER = (30, 40)  # people, and images of each

IMAGE_SETS = {
    "mnist": ImageSet(
        (("mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz"),
         ("mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz")),
        _read_mnist, (28, 28), range(10), can_download=True,
        url="https://ossci-datasets.s3.amazonaws.com/",  # the mirror that torchvision uses
        sha256={
            "mnist/train-images-idx3-ubyte.gz": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "mnist/train-labels-idx1-ubyte.gz": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "mnist/t10k-images-idx3-ubyte.gz": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "mnist/t10k-labels-idx1-ubyte.gz": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        },
    ),
    "usps": ImageSet(((USPS_FILE,),), _read_usps, (16, 16), range(1, 11), can_download=True),
    "orl": ImageSet(((ORL_FILE,),), _read_orl, (112, 92), range(1, 41)),
    "yale": ImageSet(((YALE_FILE,),), _read_cropped_faces, (32, 32), range(1, 16), by_columns=True),
    "pie": ImageSet(((PIE_FILE,),), _read_cropped_faces, (32, 32), range(1, 69), by_columns=True),
}  # fmt: skip

IMAGE_SHAPES = {name: data_set.image_shape for name, data_set in IMAGE_SETS.items()}
"""(height, width) of each set: ``X[i].reshape(IMAGE_SHAPES["mnist"])`` is an image."""


def _load(data_set: ImageSet, folder: Folder, n_per_class: int | None = None) -> tuple[Array, Array]:
    """Read, check and concatenate the files of a data set; float32 images (n, n_pixels) in [0, 1] and labels (n,)."""
    parts = []
    for names in data_set.files:
        paths: list[Path] = []
        arrays: list[Array] = []
        for name in names:
            paths.append(find_file(name, folder, can_download=data_set.can_download))
            arrays.extend(data_set.read(paths[-1]))
        parts.append(_checked(data_set, (arrays[0], arrays[1]), (paths[0], paths[-1])))
    pixels, y = (np.concatenate(both) for both in zip(*parts, strict=True))
    if n_per_class is not None:
        keep = first_of_each(y, n_per_class)
        pixels, y = pixels[keep], y[keep]
    return np.divide(pixels, 255, dtype=np.float32, order="C"), y


def _checked(data_set: ImageSet, arrays: tuple[Array, Array], paths: tuple[Path, Path]) -> tuple[Array, Array]:
    """Images (n, n_pixels) and labels (n,) from 0; ValueError if they are not those of the data set."""
    (images, labels), (image_path, label_path) = arrays, paths
    (height, width), allowed = data_set.image_shape, data_set.labels
    sized = images.shape[1:] in ((height, width), (height * width,))
    expect(sized and images.dtype == np.uint8, image_path, f"images of {height} x {width} pixels as bytes")
    n = len(images)
    expect(labels.shape == (n,) and n > 0 and labels.dtype.kind in "ui", label_path, "one label for each image")
    known = labels.min() in allowed and labels.max() in allowed
    expect(known, label_path, f"labels from {allowed[0]} to {allowed[-1]}")
    if data_set.by_columns:
        images = images.reshape(n, width, height).transpose(0, 2, 1)
    return images.reshape(n, -1), labels.astype(int) - allowed[0]


def load_mnist(
    *, n_per_class: int | None = None, folder: Folder = None, download: bool = False, verbose: int = 0
) -> tuple[Array, Array]:
    """MNIST digits, training then test set.

    Parameters
    ----------
    n_per_class : int or None, default=None
        Number of images of each digit to keep, the first ones; None for all.
    folder : path or None, default=None
        Folder with ``mnist/*-ubyte.gz``; None searches ``$GRAPHLOWRANK_DATA`` and the user's cache.
    download : bool, default=False
        Download missing files (12 MB) to ``folder`` or the cache.
    verbose : int, default=0
        1 to show the progress of the download.

    Returns
    -------
    X : float32 ndarray of shape (70000, 784)
        Images in [0, 1].
    y : ndarray of shape (70000,)
        Digits 0 to 9.
    """
    _check_count(n_per_class)
    data_set = IMAGE_SETS["mnist"]
    if download:
        for name, sha256 in data_set.sha256.items():
            if look_for(name, folder) is None:
                fetch(data_set.url + name, download_target(name, folder), sha256, gzipped=True, verbose=verbose)
    return _load(data_set, folder, n_per_class)


def load_usps(
    *, n_per_class: int | None = None, folder: Folder = None, download: bool = False, verbose: int = 0
) -> tuple[Array, Array]:
    """USPS digits.

    Parameters
    ----------
    n_per_class : int or None, default=None
        Number of images of each digit to keep, the first ones; 350 for the 3500 images of the CPCA paper.
    folder : path or None, default=None
        Folder with ``usps/usps_9298.mat``; None searches ``$GRAPHLOWRANK_DATA`` and the user's cache.
    download : bool, default=False
        Download the set to ``folder`` or the cache if it is missing. OpenML has it in another order.
    verbose : int, default=0
        1 to show the progress of the download.

    Returns
    -------
    X : float32 ndarray of shape (9298, 256)
        Images of 16 x 16 pixels in [0, 1].
    y : ndarray of shape (9298,)
        Digits 0 to 9.
    """
    _check_count(n_per_class)
    data_set = IMAGE_SETS["usps"]
    from_openml = look_for(USPS_OPENML_FILE, folder)
    if look_for(USPS_FILE, folder) is None and (from_openml or download):
        if from_openml is None:
            _download_usps(download_target(USPS_OPENML_FILE, folder), verbose)
        data_set = data_set._replace(files=((USPS_OPENML_FILE,),))
    return _load(data_set, folder, n_per_class)


def _download_usps(path: Path, verbose: int) -> None:
    """Download the set from OpenML, check that it is the right one, and store it as bytes like the other file."""
    check_writable(path)
    with ByteProgress(verbose).stage("download USPS from OpenML"):
        values, labels = _fetch_openml_usps()
    counts = tuple(int(np.sum(labels == digit + 1)) for digit in range(10))
    if values.shape != (sum(USPS_COUNTS), 256) or counts != USPS_COUNTS:
        raise DownloadError("USPS of OpenML is not the set expected: shape or number of images of a digit differ.")
    if not np.allclose([values.min(), values.max()], [-1, 1], atol=0.01):
        raise DownloadError("USPS of OpenML is not the set expected: its values do not span -1 to 1.")
    buffer = io.BytesIO()
    pixels = np.rint((values + 1) * 127.5).clip(0, 255).astype(np.uint8)
    np.savez_compressed(buffer, pixels=pixels, labels=labels.astype(np.uint8))
    write_atomically(path, buffer.getvalue())


def _fetch_openml_usps() -> tuple[Array, Array]:
    from tempfile import TemporaryDirectory

    from sklearn.datasets import fetch_openml

    try:
        # Our cache replaces that of scikit-learn; its parser without pandas is slower, but runs once.
        with TemporaryDirectory() as scratch:
            data = fetch_openml("USPS", version=2, as_frame=False, parser="liac-arff", data_home=scratch)
        return np.asarray(data.data, dtype=float), np.asarray(data.target).astype(float).astype(int)
    except (OSError, ValueError) as error:
        raise DownloadError(f"USPS cannot be had from OpenML: {str(error) or type(error).__name__}.") from error


def load_orl(*, shape: tuple[int, int] = (112, 92), folder: Folder = None) -> tuple[Array, Array]:
    """ORL (AT&T) faces: 40 people, 10 images each.

    Parameters
    ----------
    shape : {(112, 92), (56, 46), (28, 23)}, default=(112, 92)
        Size of the images; the smaller ones are averages of blocks of 2 x 2 and 4 x 4 pixels.
    folder : path or None, default=None
        Folder with ``orl/orl_112x92.npz``; None searches ``$GRAPHLOWRANK_DATA`` and the user's cache.

    Returns
    -------
    X : float32 ndarray of shape (400, height * width)
        Images in [0, 1].
    y : ndarray of shape (400,)
        People 0 to 39, sorted.
    """
    blocks: dict[tuple[int, ...], int] = {(112, 92): 1, (56, 46): 2, (28, 23): 4}
    if tuple(shape) not in blocks:
        raise ValueError(f"shape must be one of {', '.join(map(str, blocks))}; got {shape!r}.")
    X, y = _load(IMAGE_SETS["orl"], folder)
    return block_average(X, (112, 92), blocks[tuple(shape)]), y


def block_average(X: Array, image_shape: tuple[int, int], block: int) -> Array:
    """Downsample images (n, height * width) by averaging blocks of ``block`` x ``block`` pixels."""
    if block == 1:
        return X
    height, width = image_shape
    squares = X.reshape(len(X), height // block, block, width // block, block)
    means: Array = squares.mean(axis=(2, 4))
    return means.reshape(len(X), -1)


def load_yale(*, folder: Folder = None) -> tuple[Array, Array]:
    """Yale faces, cropped by Deng Cai: 15 people, 11 images each.

    Parameters
    ----------
    folder : path or None, default=None
        Folder with ``yale/Yale_32x32.mat``; None searches ``$GRAPHLOWRANK_DATA`` and the user's cache.

    Returns
    -------
    X : float32 ndarray of shape (165, 1024)
        Images of 32 x 32 pixels in [0, 1].
    y : ndarray of shape (165,)
        People 0 to 14, sorted.
    """
    return _load(IMAGE_SETS["yale"], folder)


def load_pie(*, subset: Literal["all", "paper"] = "all", folder: Folder = None) -> tuple[Array, Array]:
    """CMU PIE faces in frontal view (pose C27), cropped by Deng Cai.

    Parameters
    ----------
    subset : {"all", "paper"}, default="all"
        "all": 68 people in 42 lighting conditions. "paper": the first 40 images of the first 30 people, as many as the
        CPCA paper has.
    folder : path or None, default=None
        Folder with ``pie/PIE_pose27_32x32.mat``; None searches ``$GRAPHLOWRANK_DATA`` and the user's cache.

    Returns
    -------
    X : float32 ndarray of shape (2856, 1024) or (1200, 1024)
        Images of 32 x 32 pixels in [0, 1].
    y : ndarray of shape (2856,) or (1200,)
        People, sorted.
    """
    if subset not in {"all", "paper"}:
        raise ValueError(f"subset must be 'all' or 'paper'; got {subset!r}.")
    X, y = _load(IMAGE_SETS["pie"], folder)
    if subset == "all":
        return X, y
    n_people, n_images = PIE_PAPER
    keep = first_of_each(y, n_images)
    keep = keep[y[keep] < n_people]
    return X[keep], y[keep]


def _check_count(n_per_class: object) -> None:
    """Raise, before anything is read, unless it is None or a positive integer."""
    whole = isinstance(n_per_class, int | np.integer) and not isinstance(n_per_class, bool) and n_per_class >= 1
    if n_per_class is not None and not whole:
        raise ValueError(f"n_per_class must be a whole number of at least 1; got {n_per_class!r}.")


def first_of_each(y: Array, n_per_class: int) -> Array:
    """Return the sorted indices of the first ``n_per_class`` members of every class."""
    members = [np.flatnonzero(y == label) for label in np.unique(y)]
    smallest = min(len(rows) for rows in members)
    if smallest < n_per_class:
        raise ValueError(f"n_per_class must be at most {smallest}, the size of the smallest class; got {n_per_class}.")
    return np.sort(np.concatenate([rows[:n_per_class] for rows in members]))
