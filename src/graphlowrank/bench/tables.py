"""Tables as markdown, the ways figures are written, and slopes of growth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

NONE = "–"


@dataclass(frozen=True)
class Table:
    """A title, columns, rows of as many texts, and remarks.

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
        """Return the whole as markdown."""
        lines = [f"**{self.title}**", "", _row(self.columns), "|---" + "|---:" * (len(self.columns) - 1) + "|"]
        lines += [_row(row + [""] * (len(self.columns) - len(row))) for row in self.rows]
        if self.notes:
            lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines)


def _row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def seconds(value: float | None) -> str:
    """Write seconds with about three figures; a dash for None.

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
    """``value / ours``; a dash if either is not known."""
    return NONE if value is None or not ours else f"{value / ours:.{digits}f}"


def mean_text(values: Sequence[float] | None) -> str:
    """Mean, and deviation if there are several."""
    if not values:
        return NONE
    mean = sum(values) / len(values)
    if len(values) == 1:
        return f"{mean:.3f}"
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return f"{mean:.3f} ± {deviation:.3f} ({len(values)} runs)"


def slope(sizes: Sequence[float], values: Sequence[float | None]) -> float | None:
    """Slope of log(value) over log(size), by least squares; None unless two values or more are known and positive.

    Examples
    --------
    >>> slope([10, 100, 1000], [2.0, 200.0, 20000.0])
    2.0
    """
    known = [(math.log(n), math.log(value)) for n, value in zip(sizes, values, strict=True) if value and value > 0]
    if len(known) < 2 or len(known) < len(values):
        return None
    mean_x, mean_y = (sum(side) / len(known) for side in zip(*known, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in known)
    return round(sum((x - mean_x) * (y - mean_y) for x, y in known) / spread, 6)


def slope_text(value: float | None) -> str:
    """Two decimals, or a dash."""
    return NONE if value is None else f"{value:.2f}"
