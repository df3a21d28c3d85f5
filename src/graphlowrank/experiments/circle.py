"""Points of a circle in space, with noise: what is left of them, and how far from the circle.

A file of this kind says::

    points = 1000
    noise = 0.1                                     # deviation of each coordinate; the radius is 1
    [[systems]]
    title = "FRPCAG"
    method = "frpcag"                               # one of METHODS
    with = { gamma_samples = 100 }                  # its parameters; the rest default
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from .._backend import Array
from ..datasets import make_noisy_circle
from ..estimators import CompressivePCA, FastRobustPCAOnGraphs
from ..metrics import recovery_error
from ..models import solve_rpca
from .cells import Cell, Measured, as_given
from .spec import Experiment


def expand(experiment: Experiment) -> Iterator[Cell]:
    """One row, and a column for each system."""
    options = experiment.options
    for system in options["systems"]:
        if system["method"] not in METHODS:
            raise ValueError(f"{experiment.name}: no method {system['method']!r}; there are {', '.join(METHODS)}.")
        content = {
            "kind": "circle",
            "points": options["points"],
            "noise": options["noise"],
            "method": system["method"],
            "with": system.get("with", {}),
            "seed": 0,
        }
        row = f"{options['points']} points, noise {options['noise']:g}"
        yield Cell(experiment.name, row, system["title"], content)


def run(content: Mapping[str, Any]) -> Measured:
    """Recover the circle; "radius" is the mean distance from its centre, 1 for the circle itself."""
    circle = make_noisy_circle(content["points"], noise=content["noise"], random_state=content["seed"])
    found = METHODS[content["method"]](circle.X, content["seed"], content["with"])
    values = {
        "error": recovery_error(circle.X_true, found),
        "radius": float(np.linalg.norm(found, axis=1).mean()),
        "rank": int(np.linalg.matrix_rank(found - found.mean(axis=0), tol=1e-6 * np.linalg.norm(circle.X))),
    }
    return values, {"points": found.astype(np.float32), "truth": circle.X_true.astype(np.float32)}


def _noisy(X: Array, seed: int, options: Mapping[str, Any]) -> Array:
    """Leave the points as they come."""
    return X


def _rpca(X: Array, seed: int, options: Mapping[str, Any]) -> Array:
    """Robust PCA."""
    return solve_rpca(X, **options).low_rank


def _frpcag(X: Array, seed: int, options: Mapping[str, Any]) -> Array:
    """FRPCAG on the graph of the points; three coordinates have no graph."""
    model = FastRobustPCAOnGraphs(feature_graph=None, random_state=seed, **options)
    return np.asarray(model.fit(X).low_rank_)


def _cpca(X: Array, seed: int, options: Mapping[str, Any]) -> Array:
    """CPCA; all three coordinates are kept, and the rank is found by the rule."""
    model = CompressivePCA(feature_graph=None, random_state=seed, **as_given(options))
    return np.asarray(model.fit(X).low_rank_.to_array())


METHODS: dict[str, Callable[[Array, int, Mapping[str, Any]], Array]] = {
    "noisy": _noisy,
    "rpca": _rpca,
    "frpcag": _frpcag,
    "cpca": _cpca,
}
