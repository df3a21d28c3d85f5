"""Growth of the seconds of a method with the number of samples: the exponent, fitted in logarithms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..cells import Cell, Record, as_options, stopwatch
from ..data import N_NEIGHBORS, parts, prepare
from ..internals import limit_threads
from ..systems import METHODS, fit
from ..tables import slope
from .clustering import method_graphs
from .spec import Experiment

COLUMN = "growth with the samples"
SHARED = ("n_features", "n_clusters", "threads", "repeats", "repeat_below")
DECODED = "cpca"  # interpolating its labels is a part of the model
N_INIT = 10  # restarts of its k-means, on the kept samples


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


def run(content: Mapping[str, Any]) -> Record:
    """Seconds of the model for every size, and their slope on logarithmic scales."""
    _timed_fit(content, content["warm_up"])()
    seconds = [_fastest(content, n) for n in content["sizes"]]
    values = {
        "slope": slope(content["sizes"], seconds),
        "seconds_at_largest": seconds[-1],
        "seconds": seconds,
        "sizes": content["sizes"],
    }
    return Record(values=values)


def _fastest(content: Mapping[str, Any], n: int) -> float:
    """Fastest of several runs if they are short, because short ones are easily disturbed."""
    seconds = _timed_fit(content, n)
    first = seconds()
    again = content["repeats"] - 1 if first < content["repeat_below"] else 0
    return min([first, *(seconds() for _ in range(again))])


def _timed_fit(content: Mapping[str, Any], n: int) -> Callable[[], float]:
    """Make ``n`` samples and their graphs; return a function that runs the method and returns its seconds."""
    method, seed = METHODS[content["method"]], content["seed"]
    X = prepare(parts(n, content["n_features"], content["n_clusters"], seed), method.preparation)
    given = method_graphs(X, method.name, seed) | as_options(content["with"])
    given |= {"preparation": (), "n_neighbors": N_NEIGHBORS}

    def seconds() -> float:
        with limit_threads(content["threads"]):
            fitted = fit(method.name, X, content["n_clusters"], random_state=seed, **given)
            if method.name != DECODED:
                return fitted.seconds["model"]
            with stopwatch() as decoding:
                fitted.partition(N_INIT, seed)
            return fitted.seconds["model"] + decoding[0]

    return seconds
