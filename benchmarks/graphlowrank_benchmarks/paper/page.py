"""The HTML page of a reproduction: every table beside the paper's numbers, and the figures, in one file."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from ..cells import NOT_RUN, Cell, Outcome
from ..tables import NONE
from .figures import Figure, figures_of
from .kinds import Measure
from .markdown import MARKS, number
from .panels import Outcomes, Panel, Square, Tally, tally
from .remaining import duration
from .spec import Experiment

FULL_TINT = 10  # tolerances: a difference beyond this has the strongest tint
COMPARED = {
    "error": "less is better",
    "same": "the same is wanted",
    "time": "other machines, so only the ratio says something",
    "none": "",
}


@dataclass(frozen=True, eq=False)
class Section:
    """One experiment on the page: its tables, its figures, and the outcomes by key of the cell, for hover texts."""

    experiment: Experiment
    panels: Sequence[Panel] = ()
    figures: Sequence[Figure] = ()
    outcomes: Outcomes = field(default_factory=dict)

    @property
    def tally(self) -> Tally:
        """Tally over all tables."""
        return sum((tally(panel) for panel in self.panels), Tally(0, 0, 0))

    @property
    def badge(self) -> str:
        """Short text of the tally; "" if nothing is compared."""
        found = self.tally
        if not found.wanted:
            return ""
        return f"{found.reached} of {found.measured}" if found.measured else "not measured"


@dataclass(frozen=True)
class SquareView:
    """Texts of a square."""

    main: str  # our value
    mark: str
    verdict: str
    strength: float  # of the tint, between 0 and 1
    small: tuple[tuple[str, ...], ...]  # lines below, each of parts that are not broken
    note: str  # why there is no value, or a remark on it
    hover: str


def sections_of(
    panels: Sequence[Panel], outcomes: Outcomes, experiments: Sequence[Experiment], cells: Sequence[Cell]
) -> list[Section]:
    """One section for each experiment, in the given order, from the panels and cells of all of them."""
    sections = []
    for experiment in experiments:
        own_panels = [panel for panel in panels if panel.experiment.name == experiment.name]
        own_cells = [cell for cell in cells if cell.experiment == experiment.name]
        figures = figures_of(own_panels, own_cells, outcomes)
        sections.append(Section(experiment, own_panels, figures, outcomes))
    return sections


def render_page(sections: Sequence[Section], *, summary: Sequence[str], command: str, machine: str, quick: bool) -> str:
    """Self-contained HTML page: pictures are data URIs, the style is inline.

    Parameters
    ----------
    sections
        From :func:`sections_of`.
    summary
        Sentences for the head of the page.
    command, machine
        Command that repeats the run, and description of the machine.
    quick
        Whether grids and columns were reduced, which the page mentions.
    """
    from jinja2 import Environment, StrictUndefined

    source = files(__package__).joinpath("page.html.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(source)
    return template.render(
        sections=sections, summary=summary, command=command, machine=machine, quick=quick,
        view=square_view, about=about_panel, shared=shared_note, uri=data_uri, marks=MARKS,
    )  # fmt: skip


def about_panel(panel: Panel) -> str:
    """What a table shows, and when a number counts as equal."""
    measure = panel.measure
    within = f"within {measure.tolerance:g} is as good" if measure.tolerance else ""
    rule = ", ".join(filter(None, (COMPARED[measure.compare], within))) if panel.has_paper else ""
    return f"{measure.title}: {rule}" if rule else measure.title


def shared_note(panel: Panel) -> str:
    """Reason why nothing of a table was measured, if it is the same for every square."""
    notes = {square.note for square in panel.squares.values()}
    return notes.pop() if len(notes) == 1 and not any(square.ours for square in panel.squares.values()) else ""


def square_view(section: Section, panel: Panel, row: str, column: str) -> SquareView | None:
    """Texts of a square; None where the paper has none."""
    square = panel.squares.get((row, column))
    if square is None:
        return None
    ours = [section.outcomes.get(cell.key, NOT_RUN) for cell in square.cells if cell.protocol != "default"]
    remarks = "; ".join(dict.fromkeys(str(found.values["note"]) for found in ours if found.values.get("note")))
    main = number(panel, square.mean) if square.ours else ""
    return SquareView(
        main,
        MARKS.get(square.verdict, ""),
        square.verdict,
        _strength(panel.measure, square),
        (*_paper_lines(panel.measure, square), *_default_lines(panel, square)),
        remarks if square.ours else NONE if shared_note(panel) else square.note or NONE,
        _hover(panel.measure, square, section.outcomes),
    )


def _paper_lines(measure: Measure, square: Square) -> list[tuple[str, ...]]:
    if square.paper is None:
        return []
    paper = f"paper {as_printed(measure, square.paper)}"
    if square.mean is None or square.difference is None:
        return [(paper,)]
    if measure.compare == "time":
        return [(paper,), (f"paper / ours = {ratio(square.paper, square.mean)}",)]
    return [(paper, f"{square.difference:+.{measure.decimals}f}".replace("-", "−"))]


def _default_lines(panel: Panel, square: Square) -> list[tuple[str, ...]]:
    """Line of the default protocol, if there is one."""
    if not any(cell.protocol == "default" for cell in square.cells):
        return []
    return [(f"default {number(panel, square.default_mean)}",)]


def as_printed(measure: Measure, value: float) -> str:
    """Number of the paper as it is printed there: errors have at least two decimals.

    Examples
    --------
    >>> error = Measure("error", "error", decimals=3, compare="error")
    >>> [as_printed(error, value) for value in (0.2, 0.1505)], as_printed(Measure("seconds", "s"), 13.7)
    (['0.20', '0.1505'], '13.7')
    """
    text = f"{value:g}"
    return f"{value:.2f}" if measure.compare == "error" and len(text.partition(".")[2]) < 2 else text


def ratio(paper: float, ours: float) -> str:
    """Ratio of the paper's seconds to ours.

    Examples
    --------
    >>> ratio(60, 5), ratio(2, 5), ratio(1, 0)
    ('12x', '0.4x', '–')
    """
    if ours <= 0:
        return NONE
    times = paper / ours
    return f"{times:.0f}x" if times >= 10 else f"{times:.2g}x"


def _strength(measure: Measure, square: Square) -> float:
    """Difference relative to the tolerance; one half where there is no scale."""
    if square.difference is None or not measure.tolerance or square.verdict not in ("better", "worse"):
        return 0.5
    return round(min(1.0, abs(square.difference) / (FULL_TINT * measure.tolerance)), 2)


def _hover(measure: Measure, square: Square, outcomes: Outcomes) -> str:
    """Chosen parameters, number of runs and seconds, one line each."""
    first = [cell for cell in square.cells if cell.protocol != "default"]
    second = [cell for cell in square.cells if cell.protocol == "default"]
    lines = _about_runs(measure, first, outcomes)
    if second:
        lines += [f"default: {line}" for line in _about_runs(measure, second, outcomes)]
    return "\n".join(lines)


def _about_runs(measure: Measure, cells: Sequence[Cell], outcomes: Outcomes) -> list[str]:
    """Lines about the runs of one protocol."""
    found = [outcomes.get(cell.key, NOT_RUN) for cell in cells]
    done = [outcome for outcome in found if outcome.done]
    lines = list(dict.fromkeys(outcome.reason for outcome in found if not outcome.done and outcome.reason))
    lines += list(dict.fromkeys(filter(None, (_choice(outcome) for outcome in done))))[:1]
    medians = [outcome.values["least_median"] for outcome in done if "least_median" in outcome.values]
    if medians:
        lines.append(f"least median over the grid: {sum(medians) / len(medians):.{measure.decimals}f}")
    if done:
        values = [outcome.values[measure.name] for outcome in done if outcome.values.get(measure.name) is not None]
        range_ = (
            f", {min(values):.{measure.decimals}f} to {max(values):.{measure.decimals}f}" if len(values) > 1 else ""
        )
        runs = f"{len(done)} run{'s' if len(done) > 1 else ''}{range_}"
        lines.append(f"{runs}; {_spent(sum(outcome.seconds for outcome in done))} spent")
    return lines


def _choice(outcome: Outcome) -> str:
    """Parameters chosen from a grid."""
    chosen, tried = outcome.values.get("parameters"), outcome.values.get("combinations", 1)
    if not chosen:
        return ""
    text = ", ".join(f"{name} = {_plain(value)}" for name, value in chosen.items())
    return f"best of {tried}: {text}" if tried > 1 else text


def _plain(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _spent(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else duration(seconds)


def data_uri(picture: bytes) -> str:
    """Picture as a data URI."""
    kind = "png" if picture.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{b64encode(picture).decode()}"
