"""The data sets of the paper's tables by name, its three kinds of noise, and its graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._backend import Array
from ..datasets import (
    gaussian_noise,
    laplacian_noise,
    load_mnist,
    load_orl,
    load_pie,
    load_usps,
    load_yale,
    sparse_noise,
)
from ..graphs import Graph, knn_graph
from ..options import Settings
from ..two_graphs import feature_side

Labelled = tuple[Array, Array]
N_NEIGHBORS = 10  # as in the paper


@dataclass(frozen=True)
class DataSet:
    """A set, with the shape that decides what may be tried on it."""

    n_samples: int
    n_features: int
    n_clusters: int
    load: Callable[[], Labelled]


def _first_people(n: int, shape: tuple[int, int]) -> Labelled:
    X, y = load_orl(shape=shape)
    return X[y < n], y[y < n]


def _digits() -> Labelled:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X.astype(np.float32) / 16, y


def _mnist(n: int) -> DataSet:
    return DataSet(n, 784, 10, lambda: load_mnist(n_per_class=n // 10))


DATA: dict[str, DataSet] = {
    "digits": DataSet(1797, 64, 10, _digits),  # not the paper's: it comes with scikit-learn
    "usps-small": DataSet(3500, 256, 10, lambda: load_usps(n_per_class=350)),
    "usps-large": DataSet(9298, 256, 10, load_usps),
    "mnist-small": _mnist(1000),
    "mnist-5000": _mnist(5000),
    "mnist-15000": _mnist(15000),
    "mnist-25000": _mnist(25000),
    "mnist-70000": DataSet(70000, 784, 10, load_mnist),
    "orl-small": DataSet(300, 644, 30, lambda: _first_people(30, (28, 23))),
    "orl-large": DataSet(400, 2576, 40, lambda: load_orl(shape=(56, 46))),
    "orl-original": DataSet(300, 10304, 30, lambda: _first_people(30, (112, 92))),
    "pie": DataSet(1200, 1024, 30, lambda: load_pie(subset="paper")),
    "yale": DataSet(165, 1024, 15, load_yale),
}

NOISES: dict[str, Callable[..., Array]] = {
    "none": lambda X, level, random_state: X,
    "gaussian": gaussian_noise,
    "laplacian": laplacian_noise,
    "sparse": sparse_noise,
}


def data_set(name: str) -> DataSet:
    """Look a set up."""
    if name not in DATA:
        raise ValueError(f"no data set {name!r}; there are {', '.join(DATA)}.")
    return DATA[name]


def corrupt(X: Array, noise: str, percent: float, seed: int) -> Array:
    """Add noise of so many percent, as the paper counts them."""
    if noise not in NOISES:
        raise ValueError(f"no noise {noise!r}; there are {', '.join(NOISES)}.")
    return NOISES[noise](X, percent / 100, random_state=seed)


def between_samples(X: Array, seed: int) -> Graph:
    """Graph of the rows."""
    return knn_graph(X, N_NEIGHBORS, random_state=np.random.RandomState(seed))


def between_features(X: Array, seed: int) -> Graph | None:
    """Graph of the columns; None for a single one."""
    return feature_side(X, Settings(n_neighbors=N_NEIGHBORS), np.random.RandomState(seed)).graph
