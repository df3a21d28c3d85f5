"""The page of a demo run: its record, and the record as HTML."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from .._backend import Array
from .figures import digits_picture, singular_values_picture

EXTRAS = ("matplotlib", "jinja2")
LIGHT_INK, DARK_INK = "#1c1f24", "#e6e8eb"


@dataclass(frozen=True)
class Score:
    """How one system did; None where it does not do that task. Seconds run from the data to the result."""

    system: str
    recovery_error: float | None
    recovery_seconds: float | None
    clustering_error: float | None
    clustering_seconds: float | None


@dataclass(frozen=True)
class GraphSize:
    """Size of a graph."""

    graph: str
    nodes: int
    edges: int
    components: int


@dataclass(frozen=True, eq=False)
class Report:
    """Everything a page shows.

    Attributes
    ----------
    summary
        What was done, in sentences.
    scores
        Rows of the table.
    notes
        Remarks under the table, without which it would mislead.
    images
        Row name to images (n_images, height, width).
    spectra
        Name to decreasing singular values; ``rank_threshold`` is the rank rule's.
    graphs
        Sizes of the graphs.
    stages
        Model to the seconds of each of its stages.
    parameters
        What the run was called with, and what "auto" became.
    versions
        Library to version.
    command
        Command line that repeats the run.
    """

    summary: str
    scores: Sequence[Score]
    notes: Sequence[str]
    images: Mapping[str, Array]
    spectra: Mapping[str, Array]
    rank_threshold: float
    graphs: Sequence[GraphSize]
    stages: Mapping[str, Mapping[str, float]]
    parameters: Mapping[str, Any]
    versions: Mapping[str, str]
    command: str


def missing_extras() -> list[str]:
    """Names of the packages that pages need and that are not installed."""
    return [name for name in EXTRAS if find_spec(name) is None]


def render_page(report: Report) -> str:
    """HTML page with everything in it: pictures are data URIs, the style is inline, nothing is fetched."""
    from jinja2 import Environment, StrictUndefined

    source = files(__package__).joinpath("page.html.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(source)
    stage_names = list(dict.fromkeys(name for seconds in report.stages.values() for name in seconds))
    return template.render(
        report=report,
        stage_names=stage_names,
        digits=_in_both_inks(lambda ink: digits_picture(report.images, ink=ink)),
        spectra=_in_both_inks(
            lambda ink: singular_values_picture(report.spectra, threshold=report.rank_threshold, ink=ink)
        ),
    )


def _in_both_inks(draw: Callable[[str], bytes]) -> dict[str, str]:
    """Draw a picture for light and for dark pages; return their data URIs."""
    inks = {"light": LIGHT_INK, "dark": DARK_INK}
    return {scheme: f"data:image/png;base64,{b64encode(draw(ink)).decode()}" for scheme, ink in inks.items()}
