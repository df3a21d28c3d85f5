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
    """Everything the page shows.

    Attributes
    ----------
    summary : str
        What was done.
    scores : sequence of Score
        Rows of the table.
    notes : sequence of str
        How to read the table.
    images : mapping of str to array (n_images, height, width)
        Rows of images.
    spectra : mapping of str to array
        Decreasing singular values.
    rank_threshold : float
        Threshold of the rank rule, relative to the first singular value.
    graphs : sequence of GraphSize
        Sizes of the graphs.
    stages : mapping of str to mapping of str to float
        Seconds of each stage of each model.
    parameters : mapping of str to object
        Parameters of the run, with the values chosen for "auto".
    versions : mapping of str to str
        Versions of libraries.
    command : str
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
    parameters: Mapping[str, object]
    versions: Mapping[str, str]
    command: str


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
