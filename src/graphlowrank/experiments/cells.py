"""One cell of a table: everything that decides it, and what came of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .. import __version__
from .._backend import Array

Status = Literal["done", "failed", "missing", "not run"]
Protocol = Literal["paper", "default", ""]

FORMAT = 1  # of a stored outcome; a new one makes every stored cell be run again


@dataclass(frozen=True, eq=False)
class Cell:
    """A number to measure.

    Attributes
    ----------
    experiment, row, column
        Where it stands.
    content
        Everything that decides the result but the code, as plain JSON values; "kind" says who runs it.
    paper
        Measure to the number printed in the paper.
    protocol
        "paper" (the best of a grid, labels used to choose), "default" (no label used), or "" where there is no choice.
    seed
        Which of several runs.
    alone
        Whether it is timed, so that nothing may run beside it.
    """

    experiment: str
    row: str
    column: str
    content: Mapping[str, Any]
    paper: Mapping[str, float] = field(default_factory=dict)
    protocol: Protocol = ""
    seed: int = 0
    alone: bool = False

    @property
    def key(self) -> str:
        """Name under which the outcome is stored: the same content has the same name, whatever table it stands in.

        It knows the version of the package and nothing else of the code or the machine: after a change of either, the
        folder of stored cells is to be deleted.
        """
        decides = {"format": FORMAT, "version": __version__, "content": self.content}
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:32]

    @property
    def name(self) -> str:
        """For people."""
        place = " · ".join(part for part in (self.experiment, self.row, self.column, self.protocol) if part)
        return f"{place} · run {self.seed}" if self.seed else place


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a cell.

    Attributes
    ----------
    status, reason
        "done", or what happened instead and why.
    values
        Measures, and whatever else is worth keeping; plain JSON values.
    pictures
        Name to image (height, width) of bytes, or any small array that a figure is drawn from.
    seconds
        Spent on the cell.
    """

    status: Status
    reason: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    pictures: Mapping[str, Array] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def done(self) -> bool:
        """Whether there are values."""
        return self.status == "done"


Measured = tuple[Mapping[str, Any], Mapping[str, Array]]  # values and pictures


def as_given(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a content as estimators take them: JSON has lists only, a pair is a tuple."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in parameters.items()}
