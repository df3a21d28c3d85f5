"""Markdown tables, formats of numbers, and slopes of growth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

NONE = "–"


@dataclass(frozen=True)
class Table:
    """A title, column headings, rows and notes; short rows are padded.

    Examples
    --------
    >>> print(Table("digits", ("system", "s"), [["cpca", "0.31"]], ["one run"]).markdown())
    **digits**
    <BLANKLINE>
    | system | s |
    |---|---:|
    | cpca | 0.31 |
    <BLANKLINE>
    - one run
    """

    title: str
    columns: tuple[str, ...]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        """Title, rows and notes as markdown."""
        lines = [f"**{self.title}**", "", markdown_rows(self.columns, self.rows)]
        if self.notes:
            lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines)


def markdown_rows(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Heading and rows, the first column aligned left and the others right."""
    lines = [_row(columns), "|---" + "|---:" * (len(columns) - 1) + "|"]
    return "\n".join([*lines, *(_row([*row, *[""] * (len(columns) - len(row))]) for row in rows)])


def _row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def seconds(value: float | None) -> str:
    """Seconds with about three significant figures; a dash for None.

    Examples
    --------
    >>> seconds(0.01234), seconds(2.345), seconds(123.4), seconds(None)
    ('0.012', '2.35', '123', '–')
    """
    if value is None:
        return NONE
    if value < 0.001:
        return f"{value:.1e}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.{2 if value >= 1 else 3}f}"


def gigabytes(value: float | None) -> str:
    """Bytes as GB."""
    return NONE if value is None else f"{value / 1e9:.2f}"


def ratio(value: float | None, ours: float | None, digits: int = 2) -> str:
    """``value / ours``; a dash if either is unknown."""
    return NONE if value is None or not ours else f"{value / ours:.{digits}f}"


def mean_text(values: Sequence[float] | None) -> str:
    """Mean, and the standard deviation if there are several values."""
    if not values:
        return NONE
    mean = sum(values) / len(values)
    if len(values) == 1:
        return f"{mean:.3f}"
    std = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return f"{mean:.3f} ± {std:.3f} ({len(values)} runs)"


def slope(sizes: Sequence[float], values: Sequence[float | None]) -> float | None:
    """Least-squares slope of log(value) over log(size); None unless all values, at least two, are positive.

    Examples
    --------
    >>> slope([10, 100, 1000], [2.0, 200.0, 20000.0])
    2.0
    """
    known = [(math.log(n), math.log(value)) for n, value in zip(sizes, values, strict=True) if value and value > 0]
    if len(known) < 2 or len(known) < len(values):
        return None
    mean_x, mean_y = (sum(side) / len(known) for side in zip(*known, strict=True))
    variance = sum((x - mean_x) ** 2 for x, _ in known)
    return round(sum((x - mean_x) * (y - mean_y) for x, y in known) / variance, 6)


def slope_text(value: float | None) -> str:
    """Two decimals, or a dash."""
    return NONE if value is None else f"{value:.2f}"
