"""What the pages of all fits show: choices and reasons, graphs, singular values, times."""

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

from .._typing import Array
from . import drawing
from .page import render

if TYPE_CHECKING:
    from ..estimators.fit_report import FitReport, GraphSummary


def render_fit(
    fit: "FitReport", template: str = "fit.html", *, spectra: Mapping[str, Array], rank: int | None, **shown: Any
) -> str:
    """Render the page as HTML.

    ``spectra`` are decreasing singular values, of which ``rank`` were kept. ``shown`` has the variables of the base,
    see :func:`.page.render`, and those of the template.
    """
    return render(
        template, fit=fit, stages=drawing.stages(fit.seconds), spectrum=drawing.spectrum(spectra, rank),
        choices=[(one.name, one.text, one.reason) for one in fit.choices],
        graphs=[(graph, _hub(graph), graph.verdict) for graph in fit.graphs], **shown,
    )  # fmt: skip


def _hub(graph: "GraphSummary") -> str:
    return f"× {graph.degree_ratio:.3g}" if isfinite(graph.degree_ratio) else drawing.NONE
