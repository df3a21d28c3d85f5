"""How the seconds of a method grow with the number of samples: the exponent, fitted on a line of sizes.

A file of this kind says::

    sizes = [2000, 4000, 8000]                      # samples
    n_features = 100
    n_clusters = 10
    threads = 1
    repeats = 3                                     # of what takes less than repeat_below seconds; the least counts
    repeat_below = 1.0
    warm_up = 4000                                  # samples of a first run that does not count
    [[rows]]
    title = "PCA"
    method = "pca"                                  # one of methods.METHODS
    with = { n_components = 5 }                     # other parameters than the default ones
    up_to = 4000                                    # larger sizes are left out
    exponent = 1                                    # the paper's
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._backend import Array
from .._threads import limit_threads
from ..bench.record import stopwatch
from ..bench.tables import slope
from ..methods import METHODS, fit
from ..preprocessing.standardize import prepare
from .cells import Cell, Measured, as_given
from .clustering import OURS
from .data import N_NEIGHBORS, between_features, between_samples
from .spec import Experiment

COLUMN = "growth with the samples"
SHARED = ("n_features", "n_clusters", "threads", "repeats", "repeat_below")
DECODED = "cpca"  # spreads its labels over the samples, which is a part of the model
N_INIT = 10  # restarts of its k-means, on the kept samples
N_PARTS = 10  # of the data: their rank, but for the noise
IN_CLUSTER, IN_PART = 0.4, 0.3  # share of the parts that a cluster has, of the features that a part has
SPREAD, NOISE = 0.3, 0.1  # within a cluster; of every entry


def expand(experiment: Experiment) -> Iterator[Cell]:
    """One cell for each method."""
    options = experiment.options
    for row in options["rows"]:
        sizes = [n for n in options["sizes"] if n <= row.get("up_to", n)]
        if len(sizes) < 2:
            raise ValueError(f"{experiment.name}: {row['title']} has {len(sizes)} sizes; a slope needs two.")
        content = {
            "kind": "complexity",
            "method": row["method"],
            "with": row.get("with", {}),
            "sizes": sizes,
            "warm_up": min(row.get("warm_up", options["warm_up"]), sizes[-1]),
            "seed": 0,
            **{key: options[key] for key in SHARED},
        }
        yield Cell(experiment.name, row["title"], COLUMN, content, {"slope": row["exponent"]}, alone=True)


def run(content: Mapping[str, Any]) -> Measured:
    """Seconds of the model for every size, and their slope on logarithmic scales."""
    _task(content, content["warm_up"])()
    seconds = [_least(content, n) for n in content["sizes"]]
    values = {
        "slope": slope(content["sizes"], seconds),
        "seconds_at_largest": seconds[-1],
        "seconds": seconds,
        "sizes": content["sizes"],
    }
    return values, {}


def _least(content: Mapping[str, Any], n: int) -> float:
    """Least of several runs where they are short, since short ones are easily disturbed."""
    seconds = _task(content, n)
    first = seconds()
    again = content["repeats"] - 1 if first < content["repeat_below"] else 0
    return min([first, *(seconds() for _ in range(again))])


def _task(content: Mapping[str, Any], n: int) -> Callable[[], float]:
    """Make ``n`` samples and their graphs; what is returned runs the method and tells the seconds of its model."""
    method, seed = METHODS[content["method"]], content["seed"]
    X = prepare(parts(n, content["n_features"], content["n_clusters"], seed), method.preparation)
    graphs: dict[str, Any] = {"graph": between_samples(X, seed)} if method.needs_graph else {}
    if method.name in OURS:
        graphs["feature_graph"] = between_features(X, seed)
    given = graphs | as_given(content["with"]) | {"preparation": (), "n_neighbors": N_NEIGHBORS}

    def seconds() -> float:
        with warnings.catch_warnings(), limit_threads(content["threads"]):
            warnings.simplefilter("ignore", ConvergenceWarning)  # all iterations were made: that is a time, too
            fitted = fit(method.name, X, content["n_clusters"], random_state=seed, **given)
            if method.name != DECODED:
                return fitted.seconds["model"]
            with stopwatch() as decoding:
                fitted.partition(N_INIT, seed)
            return fitted.seconds["model"] + decoding[0]

    return seconds


def parts(n_samples: int, n_features: int, n_clusters: int, seed: int) -> Array:
    """Make samples (n_samples, n_features) in clusters, of non-negative parts that are mostly zero, as pictures are.

    Their distribution does not depend on ``n_samples``: nothing but the number grows. NMF finds sparse parts in a
    number of iterations that does not depend on it either; dense ones it does not find, and stops at its limit.
    """
    rng = np.random.default_rng(seed)
    clusters = _sparse(rng, (n_clusters, N_PARTS), IN_CLUSTER)
    pictures = _sparse(rng, (N_PARTS, n_features), IN_PART)
    amounts = clusters[rng.integers(n_clusters, size=n_samples)] + SPREAD * rng.standard_normal((n_samples, N_PARTS))
    return np.maximum(amounts, 0) @ pictures + NOISE * np.abs(rng.standard_normal((n_samples, n_features)))


def _sparse(rng: np.random.Generator, shape: tuple[int, int], share: float) -> Array:
    """Non-negative numbers, a share of them not zero."""
    return np.abs(rng.standard_normal(shape)) * (rng.random(shape) < share)
