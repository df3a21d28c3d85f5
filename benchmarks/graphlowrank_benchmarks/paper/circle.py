"""Points of a noisy circle in space: distance of the recovered points to the circle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from graphlowrank.metrics import recovery_error

from ..cells import Cell, Record, as_options
from ..datasets import make_noisy_circle
from ..systems import SYSTEMS
from .spec import Experiment

# Three coordinates have no graph.
FIXED: dict[str, dict[str, Any]] = {
    "noisy": {}, "rpca": {"tol": 1e-7}, "frpcag": {"feature_graph": None}, "cpca": {"feature_graph": None},
}  # fmt: skip


def expand(experiment: Experiment) -> Iterator[Cell]:
    """One row, and a column for each system."""
    options = experiment.options
    for system in options["systems"]:
        if system["method"] not in FIXED:
            raise ValueError(f"{experiment.name}: no method {system['method']!r}; there are {', '.join(FIXED)}.")
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


def run(content: Mapping[str, Any]) -> Record:
    """Recover the circle; "radius" is the mean distance from its center, 1 for the circle itself."""
    circle = make_noisy_circle(content["points"], noise=content["noise"], random_state=content["seed"])
    method, options = content["method"], as_options(content["with"])
    found = SYSTEMS["recover"][method](circle.X, Record(), seed=content["seed"], **FIXED[method], **options)
    values = {
        "error": recovery_error(circle.X_true, found),
        "radius": float(np.linalg.norm(found, axis=1).mean()),
        "rank": int(np.linalg.matrix_rank(found - found.mean(axis=0), tol=1e-6 * np.linalg.norm(circle.X))),
    }
    pictures = {"points": found.astype(np.float32), "truth": circle.X_true.astype(np.float32)}
    return Record(values=values, pictures=pictures)
