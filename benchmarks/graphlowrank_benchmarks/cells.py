"""A cell, which is one measurement; the record kept while it runs; and its outcome."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from graphlowrank import __version__

from .internals import Array
from .memory import peak_memory

Status = Literal["done", "failed", "timed out", "missing", "not run"]
Protocol = Literal["paper", "default", ""]

FORMAT = 1  # of a stored outcome; increase it to invalidate all stored cells
GRAPH_STAGES = ("sample graph", "feature graph")
NOT_COUNTED = ("load", "score", "repeat")  # parts that are not in the time from start to finish


@dataclass(frozen=True, eq=False)
class Cell:
    """One number to measure, and its place in a table."""

    experiment: str
    row: str
    column: str
    content: Mapping[str, Any]  # determines the result, as plain JSON values; "kind" selects the function
    paper: Mapping[str, float] = field(default_factory=dict)  # measure to the number printed in the paper
    protocol: Protocol = ""  # "paper" (best of a grid, chosen with the labels) or "default" (no label used)
    seed: int = 0  # number of the run, where there are several
    alone: bool = False  # it is timed, so that no other cell may run beside it

    @property
    def key(self) -> str:
        """Name of the stored outcome."""
        return content_key(self.content)

    @property
    def name(self) -> str:
        """Readable name."""
        place = " · ".join(part for part in (self.experiment, self.row, self.column, self.protocol) if part)
        return f"{place} · run {self.seed}" if self.seed else place


def content_key(content: Mapping[str, Any], *, version: str = __version__, format_number: int = FORMAT) -> str:
    """Hash of a content: cells of equal content share one outcome, in whatever tables they are.

    It depends on the version of the package but not on other changes of the code or on the machine: delete the stored
    cells after such a change.
    """
    decides = {"format": format_number, "version": version, "content": content}
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(eq=False)
class Record:
    """What a cell writes down while it runs."""

    # Seconds by part: "import", "load", "graphs", "after" (everything after the graphs), "score", "repeat".
    seconds: dict[str, float] = field(default_factory=dict)
    stages: dict[str, float] = field(default_factory=dict)  # seconds by stage of a fit
    values: dict[str, Any] = field(default_factory=dict)  # measures and more, as plain JSON values
    pictures: dict[str, Array] = field(default_factory=dict)  # images of bytes, or small arrays that figures show
    peak: int | None = None  # peak memory in bytes

    @contextmanager
    def timing(self, part: str) -> Iterator[None]:
        """Add the seconds of the block to a part."""
        begin = time.perf_counter()
        yield
        self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - begin

    def fitted(self, stages: Mapping[str, float], total: float) -> None:
        """Record a fit of ``total`` seconds: its graph stages as "graphs", the rest as "after"."""
        graphs = sum(stages.get(name, 0.0) for name in GRAPH_STAGES)
        self.stages.update(stages)
        self.seconds |= {"graphs": graphs, "after": total - graphs}

    def iterations(self, n_iter: int, *, converged: bool) -> None:
        """Record the number of iterations, with a note if the solver did not converge."""
        self.values |= {"iterations": int(n_iter), "converged": bool(converged)}
        if not converged:
            self.values["note"] = f"not converged after {n_iter} iterations"

    def note_peak(self) -> None:
        """Record the peak memory so far, unless it is recorded already."""
        if self.peak is None:
            self.peak = peak_memory()

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the pictures, for JSON."""
        return {"seconds": self.seconds, "stages": self.stages, "values": self.values, "peak_bytes": self.peak}


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a cell: its :class:`Record`, or why there is none."""

    status: Status
    reason: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    pictures: Mapping[str, Array] = field(default_factory=dict)
    seconds: float = 0.0  # wall clock of the cell; of its whole process where it had a fresh one
    parts: Mapping[str, float] = field(default_factory=dict)  # ``seconds`` of the record
    stages: Mapping[str, float] = field(default_factory=dict)
    peak: int | None = None

    @classmethod
    def of(cls, record: Mapping[str, Any], seconds: float, pictures: Mapping[str, Array] | None = None) -> Outcome:
        """Outcome of a finished cell, from :meth:`Record.as_dict`."""
        return cls(
            "done", "", record.get("values", {}), pictures or {}, seconds, record.get("seconds", {}),
            record.get("stages", {}), record.get("peak_bytes"),
        )  # fmt: skip

    @property
    def done(self) -> bool:
        """Whether there are values."""
        return self.status == "done"

    @property
    def why_not_done(self) -> str:
        """Text of a table row in place of its numbers."""
        return f"{self.status}: {self.reason}"

    @property
    def start_to_finish(self) -> float | None:
        """Seconds of the process, start and imports included, without loading data, scoring and repeats."""
        if not self.done or not self.seconds:
            return None
        return self.seconds - sum(self.parts.get(part, 0.0) for part in NOT_COUNTED)

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the pictures, for JSON."""
        record = Record(dict(self.parts), dict(self.stages), dict(self.values), {}, self.peak).as_dict()
        return {
            "status": self.status,
            "reason": self.reason,
            "wall": self.seconds or None,
            "record": record if self.done else {},
            "start_to_finish": self.start_to_finish,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Outcome:
        """Read what :meth:`as_dict` returned."""
        seconds = stored.get("wall") or 0.0
        if stored["status"] == "done":
            return cls.of(stored["record"], seconds)
        return cls(stored["status"], stored["reason"], seconds=seconds)


NOT_RUN = Outcome("not run", "not run")


@contextmanager
def stopwatch() -> Iterator[list[float]]:
    """Yield a list that holds the seconds of the block after it has ended."""
    seconds: list[float] = []
    begin = time.perf_counter()
    yield seconds
    seconds.append(time.perf_counter() - begin)


def as_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a content as estimators take them: pairs are tuples, which JSON does not have."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in parameters.items()}
