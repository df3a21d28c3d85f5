"""Data sets by name, the paper's three kinds of noise, preparation, graphs, and synthetic points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .internals import Array, standardize

if TYPE_CHECKING:
    from graphlowrank.graphs import Graph

Labelled = tuple[Array, Array]

N_NEIGHBORS = 10  # as in the paper
FEATURE_GRAPH_SAMPLES = 10_000  # samples on which features are compared, as in the estimators
STANDARDIZE = {"standardize": 0, "standardize samples": 1}  # step to axis; part of the keys of stored cells


@dataclass(frozen=True)
class DataSet:
    """Shape, number of clusters and loader of a labelled data set."""

    n_samples: int
    n_features: int
    n_clusters: int
    load: Callable[[], Labelled]


def _load(name: str, **options: Any) -> Labelled:
    from . import datasets

    return getattr(datasets, f"load_{name}")(**options)


def load_digits() -> Labelled:
    """Return scikit-learn's 1797 digits of 8 x 8 pixels, in [0, 1]."""
    from sklearn.datasets import load_digits as load

    X, y = load(return_X_y=True)
    return (X / 16).astype(np.float32), y


def _first_people(n: int, shape: tuple[int, int]) -> Labelled:
    X, y = _load("orl", shape=shape)
    return X[y < n], y[y < n]


def _mnist(n: int) -> DataSet:
    return DataSet(n, 784, 10, partial(_load, "mnist", n_per_class=n // 10))


DATA: dict[str, DataSet] = {
    "digits": DataSet(1797, 64, 10, load_digits),  # not in the paper
    "usps-small": DataSet(3500, 256, 10, partial(_load, "usps", n_per_class=350)),
    "usps-large": DataSet(9298, 256, 10, partial(_load, "usps")),
    "mnist-small": _mnist(1000),
    "mnist-5000": _mnist(5000),
    "mnist-15000": _mnist(15000),
    "mnist-25000": _mnist(25000),
    "mnist-70000": DataSet(70000, 784, 10, partial(_load, "mnist")),
    "orl-small": DataSet(300, 644, 30, partial(_first_people, 30, (28, 23))),
    "orl-large": DataSet(400, 2576, 40, partial(_load, "orl", shape=(56, 46))),
    "orl-original": DataSet(300, 10304, 30, partial(_first_people, 30, (112, 92))),
    "pie": DataSet(1200, 1024, 30, partial(_load, "pie", subset="paper")),
    "yale": DataSet(165, 1024, 15, partial(_load, "yale")),
}


def data_set(name: str) -> DataSet:
    """Look up a data set."""
    if name not in DATA:
        raise ValueError(f"no data set {name!r}; there are {', '.join(DATA)}.")
    return DATA[name]


def corrupt(X: Array, noise: str, percent: float, seed: int) -> Array:
    """Add "gaussian", "laplacian" or "sparse" noise of so many percent, as defined in the paper; "none" returns X."""
    from graphlowrank import datasets

    if noise == "none":
        return X
    if noise not in ("gaussian", "laplacian", "sparse"):
        raise ValueError(f"no noise {noise!r}; there are none, gaussian, laplacian, sparse.")
    return getattr(datasets, f"{noise}_noise")(X, percent / 100, random_state=seed)


def prepare(X: Array, steps: tuple[str, ...]) -> Array:
    """Copy of ``X`` (n_samples, n_features) after each of the steps.

    "standardize" gives every feature zero mean and unit standard deviation (constant ones become zero), "standardize
    samples" every sample; "normalize" gives every sample unit length (zeros stay); "clip" sets negative entries to 0.
    """
    for step in steps:
        if step in STANDARDIZE:
            X = standardize(X, STANDARDIZE[step])
        elif step == "normalize":
            length = np.linalg.norm(X, axis=1, keepdims=True)
            X = X / np.where(length > 0, length, 1).astype(X.dtype)
        elif step == "clip":
            X = np.maximum(X, 0)
        else:
            raise ValueError(f"a step is 'standardize', 'standardize samples', 'normalize' or 'clip', got {step!r}.")
    return X


def sample_graph(X: Array, seed: Any) -> Graph:
    """Nearest-neighbor graph of the rows; ``seed`` is an int or a RandomState."""
    from graphlowrank.graphs import knn_graph

    return knn_graph(X, N_NEIGHBORS, random_state=_rng(seed))


def feature_graph(X: Array, seed: Any) -> Graph | None:
    """Nearest-neighbor graph of the columns, compared on a part of the rows; None for a single column."""
    from graphlowrank.graphs import knn_graph
    from graphlowrank.sampling import draw

    rng = _rng(seed)
    part = X if len(X) <= FEATURE_GRAPH_SAMPLES else X[draw(len(X), FEATURE_GRAPH_SAMPLES, random_state=rng)]
    n_neighbors = min(N_NEIGHBORS, X.shape[1] - 1)
    return knn_graph(part.T, n_neighbors, random_state=rng) if n_neighbors else None


def _rng(seed: Any) -> np.random.RandomState:
    return seed if isinstance(seed, np.random.RandomState) else np.random.RandomState(seed)


# --- synthetic points ---


def clouds(n: int, *, n_features: int = 50, n_dimensions: int = 10, n_clouds: int = 10, noise: float = 0.1) -> Labelled:
    """Make normal clouds in ``n_dimensions``, mapped linearly to ``n_features`` with a little noise; float32, labels.

    Made block by block, so that it takes no more memory than the data.
    """
    rng, step = np.random.default_rng(0), 50_000
    centers = 2 * rng.standard_normal((n_clouds, n_dimensions), dtype=np.float32)
    mixing = rng.standard_normal((n_dimensions, n_features), dtype=np.float32)
    labels = rng.integers(n_clouds, size=n)
    X = np.empty((n, n_features), dtype=np.float32)
    for start in range(0, n, step):
        block = slice(start, min(start + step, n))
        size = block.stop - start
        inner = centers[labels[block]] + rng.standard_normal((size, n_dimensions), dtype=np.float32)
        X[block] = inner @ mixing + noise * rng.standard_normal((size, n_features), dtype=np.float32)
    return X, labels


def parts(n_samples: int, n_features: int, n_clusters: int, seed: int, *, n_parts: int = 10) -> Array:
    """Make clustered samples (n_samples, n_features) as sums of sparse non-negative parts, similar to images.

    Their distribution does not depend on ``n_samples``, and neither does the number of iterations that NMF needs: with
    dense parts it would stop at its limit.
    """
    rng = np.random.default_rng(seed)
    clusters = _sparse(rng, (n_clusters, n_parts), 0.4)
    images = _sparse(rng, (n_parts, n_features), 0.3)
    amounts = clusters[rng.integers(n_clusters, size=n_samples)] + 0.3 * rng.standard_normal((n_samples, n_parts))
    return np.maximum(amounts, 0) @ images + 0.1 * np.abs(rng.standard_normal((n_samples, n_features)))


def _sparse(rng: np.random.Generator, shape: tuple[int, int], density: float) -> Array:
    """Non-negative numbers of the given density."""
    return np.abs(rng.standard_normal(shape)) * (rng.random(shape) < density)
