"""Panels as CSV and as markdown."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from io import StringIO

from ..cells import NOT_RUN, Cell, Outcome
from ..tables import NONE, markdown_rows
from .panels import Outcomes, Panel, Square, Tally, tally
from .spec import Experiment

COLUMNS = (
    "experiment", "place", "row", "column", "protocol", "run", "measure", "ours", "paper", "difference", "status",
    "note", "parameters", "seconds",
)  # fmt: skip
MARKS = {"better": "▼", "worse": "▲", "differs": "≠"}


def csv_text(panels: Sequence[Panel], outcomes: Outcomes) -> str:
    """CSV with one line for each measure of each cell."""
    buffer = StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for panel in panels:
        for square in panel.squares.values():
            writer.writerows(_line(panel, cell, outcomes.get(cell.key, NOT_RUN)) for cell in square.cells)
    return buffer.getvalue()


def _line(panel: Panel, cell: Cell, outcome: Outcome) -> list[object]:
    measure, experiment = panel.measure, panel.experiment
    ours, paper = outcome.values.get(measure.name), cell.paper.get(measure.name)
    difference = None if ours is None or paper is None else round(ours - paper, 6)
    note = outcome.reason or outcome.values.get("note", "")
    chosen = json.dumps(outcome.values["parameters"]) if outcome.values.get("parameters") else ""
    return [
        experiment.name, experiment.place, cell.row, cell.column, cell.protocol, cell.seed, measure.name,
        None if ours is None else round(ours, 6), paper, difference, outcome.status, note, chosen,
        round(outcome.seconds, 3) if outcome.done else None,
    ]  # fmt: skip


def summary_lines(panels: Sequence[Panel]) -> list[str]:
    """Sentences that compare the errors, first of the paper's own two methods, then of all."""
    nothing = Tally(0, 0, 0)
    ours = sum((tally(panel, ours_only=True) for panel in panels), nothing)
    median = sum((tally(panel, ours_only=True, without_luck=True) for panel in panels), nothing)
    every = sum((tally(panel) for panel in panels), nothing)
    if not every.wanted:
        return ["There are no clustering errors among these."]
    return [
        f"CPCA and FRPCAG: error within 0.03 of the paper's or better in {ours}.",
        f"The same by the median of ten starts of k-means instead of the best: {median.reached} of {median.measured}.",
        f"All methods: {every}.",
    ]


LEGEND = (
    "A square says: ours / the paper's / ours with default parameters, which see no label. Ours and the paper's are "
    "chosen with the labels: the best over a grid of parameters, and here over ten starts of k-means for each "
    "combination, all scored. The paper does so for its non-convex models; for the convex ones it gives neither the "
    "steps of its grids nor its starts of k-means. Our grids are in `grids.toml`.",
    f"{MARKS['better']} better, {MARKS['worse']} worse than the paper by more than 0.03 (0.5 for exponents); "
    f"{MARKS['differs']} ranks that differ by more than 1.",
    '"Whitened" rows are ours: k-means on directions of equal weight instead of the low-rank matrix itself.',
)


def markdown_text(panels: Sequence[Panel], command: str, machine: str) -> str:
    """All panels as markdown."""
    lines = ["# The paper's tables and figures, ours beside them", "", f"`{command}`, {machine}", ""]
    lines += [f"- {line}" for line in (*summary_lines(panels), *LEGEND)]
    shown: Experiment | None = None
    for panel in panels:
        if panel.experiment is not shown:
            shown = panel.experiment
            lines += ["", f"## {shown.title}", "", f"{shown.place} of the paper. {' '.join(shown.notes)}".strip()]
        lines += ["", panel_markdown(panel)]
    return "\n".join(lines) + "\n"


def panel_markdown(panel: Panel) -> str:
    """One table."""
    rows = [
        [row, *(square_text(panel, panel.squares.get((row, column))) for column in panel.columns)] for row in panel.rows
    ]
    return markdown_rows([panel.measure.title, *panel.columns], rows)


def square_text(panel: Panel, square: Square | None) -> str:
    """Our value with its mark, the paper's, the default; only ours where the others do not exist."""
    if square is None:
        return NONE
    ours = number(panel, square.mean) if square.ours else square.note or NONE
    parts = [f"{ours} {MARKS[square.verdict]}" if square.verdict in MARKS else ours]
    if panel.has_paper:
        parts.append(NONE if square.paper is None else f"{square.paper:g}")
    if panel.has_defaults:
        parts.append(number(panel, square.default_mean))
    return " / ".join(parts)


def number(panel: Panel, value: float | None) -> str:
    """Format a value."""
    return NONE if value is None else f"{value:.{panel.measure.decimals}f}"
