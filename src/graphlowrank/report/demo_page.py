"""The page of a demo run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .._backend import Array
from .figures import digits_picture, singular_values_picture
from .page import DARK_INK, LIGHT_INK, data_uri, render


@dataclass(frozen=True)
class Score:
    """Errors of one system, and seconds from the data to the result; None for a task that it does not do."""

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
    """Everything the page shows."""

    summary: str  # what was done
    scores: Sequence[Score]
    notes: Sequence[str]  # how to read the scores
    images: Mapping[str, Array]  # (n_images, height, width) of each row of images
    spectra: Mapping[str, Array]  # decreasing singular values
    rank_threshold: float  # of the rank rule, relative to the first singular value
    graphs: Sequence[GraphSize]
    stages: Mapping[str, Mapping[str, float]]  # seconds of each stage of each model
    parameters: Mapping[str, object]  # with the values chosen for "auto"
    versions: Mapping[str, str]  # of libraries
    command: str  # repeats the run


def render_page(report: Report) -> str:
    """Render the page of a demo run as HTML."""
    return render(
        "demo.html",
        title="Corrupted digits, recovered and clustered",
        summary=[report.summary],
        command=report.command,
        versions={**report.parameters, **report.versions},
        report=report,
        stage_names=list(dict.fromkeys(name for seconds in report.stages.values() for name in seconds)),
        digits=_in_both_inks(lambda ink: digits_picture(report.images, ink=ink)),
        spectra=_in_both_inks(
            lambda ink: singular_values_picture(report.spectra, threshold=report.rank_threshold, ink=ink)
        ),
    )


def _in_both_inks(draw: Callable[[str], bytes]) -> dict[str, str]:
    """Return the data URIs of a picture drawn for the light and for the dark color scheme."""
    return {"light": data_uri(draw(LIGHT_INK)), "dark": data_uri(draw(DARK_INK))}
