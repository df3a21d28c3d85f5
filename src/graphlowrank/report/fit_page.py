"""The page of ``graphlowrank cluster`` and ``recover``: what was found, what was chosen and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from .._backend import Array
from ..estimators.fit_report import FitReport, GraphSummary
from . import drawing
from .page import render

HUB_DEGREE = 10.0  # in median degrees; larger ones are reported as hubs


@dataclass(frozen=True, eq=False)
class Found:
    """Clusters of the samples, and where to draw them."""

    labels: Array  # (n_samples,)
    confidence: Array  # (n_samples,)
    layout: Array  # (n_samples, 2), positions in a plane
    plane: str  # caption: which plane it is


@dataclass(frozen=True, eq=False)
class Recovered:
    """A few samples before and after recovery, and a histogram of the residual of all entries."""

    names: Sequence[str]  # of these samples
    given: Array  # (n_shown, n_features); standardized features, unless samples are images
    recovered: Array  # like given
    picture: tuple[int, int] | None  # height and width of samples that are images
    counts: Array  # (n_bins,), in equal bins from low to high
    low: float
    high: float
    outside: int  # number of entries out of this range


@dataclass(frozen=True, eq=False)
class FitPage:
    """Everything the page shows."""

    over: str  # kind of result
    title: str  # name of the data
    summary: Sequence[str]  # sentences
    facts: Sequence[tuple[str, str]]  # key numbers: name and value
    warnings: Sequence[str]  # sentences
    fit: FitReport
    spectra: Mapping[str, Array]  # decreasing singular values
    rank: int | None  # number of them that were kept
    command: str  # repeats the run
    versions: Mapping[str, str]  # of libraries
    clusters: Found | None = None
    recovery: Recovered | None = None

    def to_html(self) -> str:
        """Render the page as HTML; it has no script."""
        return render(
            "fit.html", over=self.over, title=self.title, summary=self.summary, facts=self.facts,
            warnings=self.warnings, command=self.command, versions=self.versions,
            stages=drawing.stages(self.fit.seconds),
            graphs=[(graph, _hub(graph), _verdict(graph)) for graph in self.fit.graphs],
            spectrum=drawing.spectrum(self.spectra, self.rank), choices=_choices(self.fit), solved=_solved(self.fit),
            **_clusters(self.clusters), **_recovery(self.recovery),
        )  # fmt: skip


def _clusters(found: Found | None) -> dict[str, Any]:
    if found is None:
        return dict.fromkeys(("scatter", "plane", "sizes", "confidence"))
    low = min(0.9, float(np.floor(10 * found.confidence.min()) / 10))
    return {
        "scatter": drawing.scatter(found.layout, found.labels),
        "plane": found.plane,
        "sizes": drawing.sizes(found.labels, found.confidence),
        "confidence": drawing.histogram(found.confidence, low, 1.0),
    }


def _recovery(found: Recovered | None) -> dict[str, Any]:
    if found is None:
        return dict.fromkeys(("samples", "image_shape", "residual"))
    rows = zip(found.names, found.given, found.recovered, strict=True)
    samples = [{"name": name, "lines": drawing.lines(given, recovered)} for name, given, recovered in rows]
    return {
        "samples": _pictures(found, found.picture) if found.picture else samples,
        "image_shape": found.picture,
        "residual": drawing.histogram_of_counts(found.counts, found.low, found.high, outside=found.outside),
    }


def _pictures(found: Recovered, shape: tuple[int, int]) -> list[dict[str, Any]]:
    """Input and recovered images on one gray scale; residuals around middle gray."""
    low, high = float(found.given.min()), float(found.given.max())
    half = (high - low) / 2
    shown = []
    for name, given, recovered in zip(found.names, found.given, found.recovered, strict=True):
        parts = ((given, low, high), (recovered, low, high), (given - recovered, -half, half))
        uris = [drawing.picture(np.reshape(part, shape), *limits) for part, *limits in parts]
        shown.append({"name": name, "pictures": uris})
    return shown


def _choices(fit: FitReport) -> list[tuple[str, str, str]]:
    rows = []
    for one in fit.choices:
        value = f"{one.value:.4g}" if isinstance(one.value, (float, np.floating)) else str(one.value)
        rows.append((one.name, value, one.reason))
    return rows


def _solved(fit: FitReport) -> str:
    if fit.n_iter == 0:
        return "Closed form, no iterations."
    done = "converged" if fit.converged else "not all solves converged"
    return f"{fit.n_iter} iterations, {done}."


def _verdict(graph: GraphSummary) -> str:
    """Describe the connectivity of a graph, and whether it has hubs."""
    faults = []
    if graph.n_components > 1:
        faults.append(f"has {graph.n_components} connected components")
    if graph.degree_ratio > HUB_DEGREE:
        faults.append("has hubs")
    return " and ".join(faults) or "is connected and has no hubs"


def _hub(graph: GraphSummary) -> str:
    return f"× {graph.degree_ratio:.3g}" if isfinite(graph.degree_ratio) else drawing.NONE
