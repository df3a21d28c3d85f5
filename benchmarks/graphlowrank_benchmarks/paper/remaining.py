"""Estimate of the time left, from the cells that are done."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from ..cells import Cell


class Remaining:
    """Time left for a list of cells.

    The estimate for a cell is the mean of the finished cells in the same row of a table under the same protocol; if
    there are none, of the same method anywhere; if there are none, of all. Cells are run row by row, so the first
    estimates are rough.

    Examples
    --------
    >>> cells = [Cell("t", "cpca", column, {"method": "cpca"}) for column in "abc"]
    >>> rest = Remaining(cells, jobs=1)
    >>> rest.done(cells[0], 30.0)
    >>> rest.text()
    'about 1 min left'
    """

    def __init__(self, cells: Sequence[Cell], jobs: int) -> None:
        self.count = 0
        self._jobs = max(jobs, 1)
        self._waiting = Counter((_levels(cell), cell.alone) for cell in cells)
        self._seconds: dict[tuple[str, ...], list[float]] = defaultdict(list)

    def done(self, cell: Cell, seconds: float) -> None:
        """Remove a finished cell from the list."""
        self.count += 1
        levels = _levels(cell)
        self._waiting[levels, cell.alone] -= 1
        for level in levels:
            self._seconds[level].append(seconds)

    def seconds(self) -> float | None:
        """Seconds left; None before the first cell is done."""
        if not self._seconds:
            return None
        total = 0.0
        for (levels, alone), n in self._waiting.items():
            known = next(self._seconds[level] for level in levels if level in self._seconds)
            total += n * sum(known) / len(known) / (1 if alone else self._jobs)
        return total

    def text(self) -> str:
        """Time left in words."""
        left = self.seconds()
        return "" if left is None else f"about {duration(left)} left"


def _levels(cell: Cell) -> tuple[tuple[str, ...], ...]:
    """Groups that a cell belongs to, the smallest first."""
    method = str(cell.content.get("method", cell.row))
    return (cell.experiment, cell.row, cell.protocol), (method, cell.protocol), ()


def duration(seconds: float) -> str:
    """Seconds in words.

    Examples
    --------
    >>> duration(12), duration(100), duration(7300)
    ('12 s', '2 min', '2 h 2 min')
    """
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
