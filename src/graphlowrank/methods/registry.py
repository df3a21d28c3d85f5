"""The table of methods: preparation, default parameters, and the ranges that the paper tries (its appendix)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from .._backend import Array
from ..estimators import GraphLaplacianPCA, GraphNMF, ManifoldMF
from . import points
from .points import Partition, Task

Grid = dict[str, list[Any]]


@dataclass(frozen=True, eq=False)
class Method:
    """A row of the paper's tables.

    Attributes
    ----------
    name, title
        Short and long.
    preparation
        How samples are prepared, in order: "standardise" (zero mean and unit deviation of each feature), "normalise"
        (unit length of each sample).
    defaults
        Parameters; None stands for as many components as clusters.
    ranges
        From the shape of the data to the values that the paper tries for each parameter.
    points
        From a task to what k-means is run on, or to a function that runs it.
    needs_graph
        Whether it takes a graph between the samples.
    """

    name: str
    title: str
    preparation: tuple[str, ...]
    defaults: dict[str, Any]
    ranges: Callable[[int, int], Grid]
    points: Callable[[Task], Array | Partition]
    needs_graph: bool = False


def parameter_grid(name: str, n_samples: int, n_features: int) -> list[dict[str, Any]]:
    """Every combination of parameters that the paper tries for a method (its table of parameter ranges).

    Examples
    --------
    >>> parameter_grid("pca", 100, 8)
    [{'n_components': 2}, {'n_components': 4}, {'n_components': 8}]
    """
    ranges = known(name).ranges(n_samples, n_features)
    return [dict(zip(ranges, values, strict=True)) for values in product(*ranges.values())]


def known(name: str) -> Method:
    """Look a method up."""
    if name not in METHODS:
        raise ValueError(f"{name!r} is not a method; there are {', '.join(METHODS)}.")
    return METHODS[name]


def _dimensions(n_samples: int, n_features: int) -> list[int]:
    """2, 4, 8 ... up to the shorter side."""
    return [2**power for power in range(1, int(np.log2(min(n_samples, n_features))) + 1)] or [1]


def _components(n_samples: int, n_features: int) -> Grid:
    return {"n_components": _dimensions(n_samples, n_features)}


def _none(n_samples: int, n_features: int) -> Grid:
    return {}


def _with(ranges: Callable[[int, int], Grid], **more: list[Any]) -> Callable[[int, int], Grid]:
    return lambda n_samples, n_features: {**ranges(n_samples, n_features), **more}


POWERS = [2.0**power for power in range(-3, 11)]
WEIGHTS = [2.0**power for power in range(-3, 4)]  # times 1 / sqrt(max(n, p)); the paper's step of 0.1 has no unit
BETAS = [round(0.1 * step, 1) for step in range(1, 10)]
GAMMAS = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0]  # the paper says "(0, 30)"

RAW, STANDARD, UNIT, BOTH = (), ("standardise",), ("normalise",), ("standardise", "normalise")
SIZE = {"n_components": None}
PAIR = {"gamma_samples": "auto", "gamma_features": "auto"}

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("kmeans", "k-means", RAW, {}, _none, points.given),
        Method("le", "Laplacian eigenmaps", STANDARD, SIZE, _components, points.laplacian_eigenmaps, needs_graph=True),
        Method("lle", "locally linear embedding", STANDARD, SIZE, _components, points.locally_linear),
        Method("pca", "PCA", STANDARD, SIZE, _components, points.pca),
        Method(
            "glpca", "graph-Laplacian PCA", STANDARD, SIZE | {"beta": 0.5},
            _with(_components, beta=BETAS), points.embedding(GraphLaplacianPCA), needs_graph=True,
        ),
        Method(
            "mmf", "manifold-regularised MF", BOTH, SIZE | {"gamma": 10.0},
            _with(_components, gamma=POWERS), points.embedding(ManifoldMF), needs_graph=True,
        ),
        Method("nmf", "NMF", UNIT, SIZE, _components, points.nmf),
        Method(
            "gnmf", "graph-regularised NMF", UNIT, SIZE | {"gamma": 10.0},
            _with(_components, gamma=POWERS), points.embedding(GraphNMF), needs_graph=True,
        ),
        Method("rpca", "robust PCA", STANDARD, {"weight": 1.0}, _with(_none, weight=WEIGHTS), points.rpca),
        Method(
            "rpcag", "robust PCA on graphs", STANDARD, {"weight": 1.0, "gamma": "auto"},
            _with(_none, weight=WEIGHTS, gamma=POWERS), points.rpcag, needs_graph=True,
        ),
        Method(
            "frpcag", "fast robust PCA on graphs", STANDARD, PAIR,
            _with(_none, gamma_samples=GAMMAS, gamma_features=GAMMAS), points.frpcag, needs_graph=True,
        ),
        Method(
            "cpca", "compressive PCA", STANDARD, PAIR | {"downsampling": "auto", "scores": "whitened"},
            _with(_none, gamma_samples=GAMMAS, gamma_features=GAMMAS), points.cpca, needs_graph=True,
        ),
    )
}  # fmt: skip
