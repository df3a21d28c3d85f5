"""What a cell writes down while it runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .memory import peak_memory

GRAPH_STAGES = ("sample graph", "feature graph")


class Record:
    """Seconds by part, seconds by stage, and whatever else is worth keeping.

    Parts are "import", "load", "graphs", "after" (everything after the graphs), "score" and "repeat"; the last two
    and "load" are no part of what a system takes from start to finish.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.stages: dict[str, float] = {}
        self.values: dict[str, Any] = {}
        self.peak: int | None = None

    @contextmanager
    def timing(self, part: str) -> Iterator[None]:
        """Add the seconds of the block to a part."""
        begin = time.perf_counter()
        yield
        self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - begin

    def fitted(self, stages: Mapping[str, float], total: float) -> None:
        """Note an estimator's fit of ``total`` seconds: its graph stages, and everything else as "after"."""
        graphs = sum(stages.get(name, 0.0) for name in GRAPH_STAGES)
        self.stages.update(stages)
        self.seconds["graphs"] = graphs
        self.seconds["after"] = total - graphs

    def note_peak(self) -> None:
        """Note the most memory held so far, unless noted before."""
        if self.peak is None:
            self.peak = peak_memory()

    def as_dict(self) -> dict[str, Any]:
        """Return the record as plain values, for JSON."""
        return {"seconds": self.seconds, "stages": self.stages, "values": self.values, "peak_bytes": self.peak}


@contextmanager
def stopwatch() -> Iterator[list[float]]:
    """Yield a list that holds the seconds of the block once it has ended."""
    seconds: list[float] = []
    begin = time.perf_counter()
    yield seconds
    seconds.append(time.perf_counter() - begin)
