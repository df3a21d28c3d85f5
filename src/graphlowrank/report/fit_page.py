"""The page of ``graphlowrank cluster`` and ``recover``: what was found, what was chosen and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from .._typing import Array
from ..estimators.fit_report import HUB_RATIO, FitReport, GraphSummary, value_text
from . import drawing
from .page import render


def render_fit(fit: FitReport, *, spectra: Mapping[str, Array], rank: int | None, **shown: Any) -> str:
    """Render the page as HTML; it has no script.

    ``spectra`` are decreasing singular values, of which ``rank`` were kept. ``shown`` has the variables of the base,
    see :func:`.page.render`, and those of :func:`draw_clusters` or :func:`draw_recovery`.
    """
    return render(
        "fit.html", fit=fit, stages=drawing.stages(fit.seconds), spectrum=drawing.spectrum(spectra, rank),
        choices=[(one.name, value_text(one.value), one.reason) for one in fit.choices],
        graphs=[(graph, _hub(graph), _verdict(graph)) for graph in fit.graphs], **shown,
    )  # fmt: skip


def draw_clusters(labels: Array, confidence: Array, layout: Array) -> dict[str, Any]:
    """Draw clusters, given the label (n_samples,), confidence and place (n_samples, 2) of each sample."""
    low = min(0.9, float(np.floor(10 * confidence.min()) / 10))
    counts, _ = np.histogram(confidence, bins=drawing.N_BINS, range=(low, 1.0))
    return {
        "scatter": drawing.scatter(layout, labels),
        "sizes": drawing.sizes(labels, confidence),
        "confidence": drawing.histogram(counts, low, 1.0),
    }


@dataclass(frozen=True, eq=False)
class Recovered:
    """A few samples before and after recovery, and a histogram of the residual of all entries."""

    names: Sequence[str]  # of these samples
    given: Array  # (n_shown, n_features); standardized features, unless samples are images
    recovered: Array  # like given
    image_shape: tuple[int, int] | None  # height and width of samples that are images
    counts: Array  # (n_bins,), in equal bins from -limit to limit
    limit: float
    outside: int  # number of entries out of this range
    n_imputed: int  # values of these samples that are missing, and shown as recovered


def draw_recovery(found: Recovered) -> dict[str, Any]:
    """Draw samples as images on one gray scale, with residuals around middle gray, or as lines."""
    low, high = float(found.given.min()), float(found.given.max())
    half = (high - low) / 2
    samples: list[dict[str, Any]] = []
    for name, given, recovered in zip(found.names, found.given, found.recovered, strict=True):
        if found.image_shape is None:
            samples.append({"name": name, "lines": drawing.lines(given, recovered)})
            continue
        parts = ((given, low, high), (recovered, low, high), (given - recovered, -half, half))
        uris = [drawing.picture(np.reshape(part, found.image_shape), *limits) for part, *limits in parts]
        samples.append({"name": name, "pictures": uris})
    residual = drawing.histogram(found.counts, -found.limit, found.limit, outside=found.outside)
    return {"samples": samples, "found": found, "residual": residual}


def _verdict(graph: GraphSummary) -> str:
    """Describe the connectivity of a graph, and whether it has hubs."""
    faults = []
    if graph.n_components > 1:
        faults.append(f"has {graph.n_components} connected components")
    if graph.degree_ratio > HUB_RATIO:
        faults.append("has hubs")
    return " and ".join(faults) or "is connected and has no hubs"


def _hub(graph: GraphSummary) -> str:
    return f"× {graph.degree_ratio:.3g}" if isfinite(graph.degree_ratio) else drawing.NONE
