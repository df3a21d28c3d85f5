"""Outcomes of an experiment, arranged as the paper's tables: our values, the paper's, the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..cells import NOT_RUN, Cell, Outcome
from .kinds import KINDS, OURS, Measure
from .spec import Experiment

Verdict = Literal["better", "near", "worse", "differs", ""]
Outcomes = Mapping[str, Outcome]  # by the key of the cell


@dataclass(frozen=True, eq=False)
class Square:
    """One square of a table."""

    ours: tuple[float, ...]  # values of all runs under the paper's protocol
    default: tuple[float, ...]  # the same with default parameters
    paper: float | None  # number printed in the paper
    note: str  # why there is no value, or a remark on it
    verdict: Verdict  # comparison of our mean with the paper's number; "" if there is none
    without_luck: Verdict  # the same for the median over the starts of k-means instead of the best
    cells: tuple[Cell, ...]  # of all runs and protocols

    @property
    def mean(self) -> float | None:
        """Mean of ours over the runs."""
        return float(np.mean(self.ours)) if self.ours else None

    @property
    def default_mean(self) -> float | None:
        """Mean with default parameters over the runs."""
        return float(np.mean(self.default)) if self.default else None

    @property
    def difference(self) -> float | None:
        """Our mean minus the paper's number."""
        return None if self.mean is None or self.paper is None else self.mean - self.paper


@dataclass(frozen=True, eq=False)
class Panel:
    """One measure of an experiment as a table; places that the paper leaves empty have no square."""

    experiment: Experiment
    measure: Measure
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    squares: Mapping[tuple[str, str], Square] = field(default_factory=dict)

    @property
    def has_defaults(self) -> bool:
        """Whether there are two protocols."""
        return any(cell.protocol == "default" for square in self.squares.values() for cell in square.cells)

    @property
    def has_paper(self) -> bool:
        """Whether the paper has numbers for it."""
        return any(square.paper is not None for square in self.squares.values())


def panels(experiment: Experiment, cells: Sequence[Cell], outcomes: Outcomes) -> list[Panel]:
    """Tables of an experiment: one for each measure that a cell or the paper has."""
    found = [_panel(experiment, measure, cells, outcomes) for measure in KINDS[experiment.kind].measures]
    return [panel for panel in found if panel.has_paper or any(square.ours for square in panel.squares.values())]


def _panel(experiment: Experiment, measure: Measure, cells: Sequence[Cell], outcomes: Outcomes) -> Panel:
    places: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        places.setdefault((cell.row, cell.column), []).append(cell)
    rows = tuple(dict.fromkeys(row for row, _ in places))
    columns = tuple(dict.fromkeys(column for _, column in places))
    squares = {place: _square(measure, there, outcomes) for place, there in places.items()}
    return Panel(experiment, measure, rows, columns, squares)


def _square(measure: Measure, cells: Sequence[Cell], outcomes: Outcomes) -> Square:
    first = [cell for cell in cells if cell.protocol != "default"]
    second = [cell for cell in cells if cell.protocol == "default"]
    paper = next((cell.paper[measure.name] for cell in first if measure.name in cell.paper), None)
    ours, medians = (_values(name, first, outcomes) for name in (measure.name, "least_median"))
    verdict, without_luck = (_verdict_of_mean(measure, values, paper) for values in (ours, medians))
    default, note = _values(measure.name, second, outcomes), _note(cells, outcomes)
    return Square(ours, default, paper, note, verdict, without_luck, tuple(cells))


def _verdict_of_mean(measure: Measure, values: Sequence[float], paper: float | None) -> Verdict:
    return verdict_of(measure, float(np.mean(values)), paper) if values and paper is not None else ""


def _values(name: str, cells: Sequence[Cell], outcomes: Outcomes) -> tuple[float, ...]:
    found = (outcomes.get(cell.key, NOT_RUN).values.get(name) for cell in cells)
    return tuple(float(value) for value in found if value is not None)


def _note(cells: Sequence[Cell], outcomes: Outcomes) -> str:
    """Reasons of cells that are not done, and notes of those that are."""
    found = [outcomes.get(cell.key, NOT_RUN) for cell in cells]
    notes = [outcome.values.get("note", "") if outcome.done else outcome.reason for outcome in found]
    return "; ".join(dict.fromkeys(filter(None, notes)))


def verdict_of(measure: Measure, ours: float, paper: float) -> Verdict:
    """Compare a value with the paper's, as the measure defines it.

    Examples
    --------
    >>> error = Measure("error", "error", compare="error", tolerance=0.03)
    >>> [verdict_of(error, ours, 0.20) for ours in (0.1, 0.17, 0.23, 0.24)]
    ['better', 'near', 'near', 'worse']
    """
    if measure.compare not in ("error", "same"):
        return ""
    difference = ours - paper
    if abs(difference) <= measure.tolerance + 1e-9:  # 0.23 - 0.20 > 0.03 in floating point
        return "near"
    if measure.compare == "same":
        return "differs"
    return "better" if difference < 0 else "worse"


@dataclass(frozen=True)
class Tally:
    """Number of squares with a number in the paper: measured, as good or better (``reached``), and all (``wanted``)."""

    measured: int
    reached: int
    wanted: int

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.measured + other.measured, self.reached + other.reached, self.wanted + other.wanted)

    def __str__(self) -> str:
        share = f" ({self.reached / self.measured:.0%})" if self.measured else ""
        return f"{self.reached} of {self.measured} measured{share}; {self.wanted} in the paper"


def tally(panel: Panel, *, ours_only: bool = False, without_luck: bool = False) -> Tally:
    """Count the squares of a table, if its measure is counted.

    Parameters
    ----------
    panel
        The table.
    ours_only
        Rows of FRPCAG and CPCA only, the paper's own methods.
    without_luck
        Use the median over the starts of k-means instead of the best.
    """
    if not panel.measure.counted:
        return Tally(0, 0, 0)
    squares = [
        square
        for square in panel.squares.values()
        if square.paper is not None and (not ours_only or is_own(square.cells[0]))
    ]
    measured = [square for square in squares if square.ours]
    verdicts = [square.without_luck if without_luck else square.verdict for square in measured]
    return Tally(len(measured), sum(verdict in ("near", "better") for verdict in verdicts), len(squares))


def is_own(cell: Cell) -> bool:
    """Whether a cell is of FRPCAG or CPCA itself; with a gamma of 0 it is another method."""
    return cell.content.get("method") in OURS and 0 not in cell.content.get("with", {}).values()
