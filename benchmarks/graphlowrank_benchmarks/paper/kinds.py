"""The kinds of experiment: how a file becomes cells, how a cell is measured, what is compared with the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..cells import Cell, Record
from . import circle, clustering, growth, timing, video
from .spec import Experiment


@dataclass(frozen=True)
class Measure:
    """A value of a cell that has its own table."""

    name: str  # key in the values of the outcome and in the paper's numbers of the cell
    title: str
    decimals: int = 2
    # "error": smaller is better; "same": a difference either way is marked; "time": another machine, so only the ratio
    # is shown. Differences within the tolerance count as equal.
    compare: Literal["error", "same", "time", "none"] = "none"
    tolerance: float = 0.0
    counted: bool = False  # in the summary


@dataclass(frozen=True)
class Kind:
    """One kind of experiment."""

    expand: Callable[[Experiment], Iterable[Cell]]
    run: Callable[[Mapping[str, Any]], Record]  # measures the content of a cell
    measures: tuple[Measure, ...]  # values that are shown, one table each


OURS = clustering.OURS

ERROR = Measure("error", "clustering error", decimals=3, compare="error", tolerance=0.03, counted=True)
STUDY = replace(ERROR, counted=False)
RANK = Measure("rank", "rank of the compressed low-rank matrix", decimals=0, compare="same", tolerance=1)
SECONDS = Measure("seconds", "seconds", decimals=2, compare="time")
ITERATIONS = Measure("iterations", "iterations", decimals=0)
SLOPE = Measure("slope", "exponent of the number of samples", decimals=2, compare="error", tolerance=0.5)
LARGEST = Measure("seconds_at_largest", "seconds for the most samples", decimals=2)
F1 = Measure("f1", "best F1 of the foreground", decimals=3)
AFTER_GRAPHS = Measure("seconds", "seconds after the graphs", decimals=1, compare="time")
GRAPHS = Measure("graph_seconds", "seconds of the graphs", decimals=1)
DECODING = Measure("seconds", "seconds of decoding", decimals=2)
CIRCLE_ERROR = Measure("error", "relative error against the clean circle", decimals=3)


def _nothing_to_run(content: Mapping[str, Any]) -> Record:
    raise ValueError("there is nothing to run.")


KINDS: dict[str, Kind] = {
    "clustering": Kind(clustering.expand, clustering.run, (ERROR,)),
    "downsampling": Kind(clustering.expand_downsampling, clustering.run, (ERROR,)),
    "readings": Kind(clustering.expand_readings, clustering.run, (STUDY,)),
    "starts": Kind(clustering.expand_starts, clustering.run, (STUDY,)),
    "rank": Kind(clustering.expand, clustering.run, (RANK, STUDY)),
    "times": Kind(timing.expand, timing.run, (SECONDS, ITERATIONS)),
    "complexity": Kind(growth.expand, growth.run, (SLOPE, LARGEST)),
    "video": Kind(video.expand, video.run, (F1, AFTER_GRAPHS, GRAPHS, ITERATIONS)),
    "decoders": Kind(video.expand, video.run, (F1, DECODING)),
    "video-downsampling": Kind(video.expand, video.run, (F1, AFTER_GRAPHS)),
    "circle": Kind(circle.expand, circle.run, (CIRCLE_ERROR,)),
    "pointer": Kind(lambda experiment: (), _nothing_to_run, ()),  # not part of the package; see its notes
}
