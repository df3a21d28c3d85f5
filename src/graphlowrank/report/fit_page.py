"""The page of a fit from the command line: what was found, what was chosen and why, in one file of HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import isfinite
from typing import Any

import numpy as np

from .._backend import Array
from ..estimators.fit_report import FitReport, GraphSummary
from . import fit_drawing as drawing

MANY_HUBS = 10.0  # times the usual weight, from which a node is a hub


@dataclass(frozen=True, eq=False)
class Found:
    """Clusters.

    Attributes
    ----------
    labels, confidence
        (n_samples,).
    layout
        (n_samples, 2) places of the samples in the plane; ``plane`` says which plane it is.
    """

    labels: Array
    confidence: Array
    layout: Array
    plane: str


@dataclass(frozen=True, eq=False)
class Recovered:
    """A few samples before and after, and the residual of all.

    Attributes
    ----------
    names
        Of these samples.
    given, recovered
        (n_shown, n_features); of what is drawn as lines, in deviations of each feature around its mean.
    picture
        (height, width) if samples are pictures.
    counts, low, high
        Histogram of the residual in equal bins between two numbers; ``outside`` are beyond.
    """

    names: Sequence[str]
    given: Array
    recovered: Array
    picture: tuple[int, int] | None
    counts: Array
    low: float
    high: float
    outside: int


@dataclass(frozen=True, eq=False)
class FitPage:
    """Everything the page of a fit shows.

    Attributes
    ----------
    over, title
        What it is about, and the name of the data.
    summary
        What was done, a sentence each.
    facts
        The few numbers that say how it went: name and value.
    warnings
        What the reader must know; often none.
    fit
        What the model says about itself.
    spectra
        Name to decreasing singular values; ``rank`` of them count.
    command, versions
        How to repeat it, and with what.
    clusters, recovery
        What was found; None where it was not asked for.
    """

    over: str
    title: str
    summary: Sequence[str]
    facts: Sequence[tuple[str, str]]
    warnings: Sequence[str]
    fit: FitReport
    spectra: Mapping[str, Array]
    rank: int | None
    command: str
    versions: Mapping[str, str]
    clusters: Found | None = None
    recovery: Recovered | None = None

    def to_html(self) -> str:
        """Return the page: pictures are data URIs, style is inline, nothing is fetched, there is no script."""
        from jinja2 import Environment, StrictUndefined

        source = files(__package__).joinpath("fit_page.html.j2").read_text(encoding="utf-8")
        environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
        page = environment.from_string(source).render(
            page=self, stages=drawing.stages(self.fit.seconds),
            graphs=[(graph, _hub(graph), _verdict(graph)) for graph in self.fit.graphs],
            spectrum=drawing.spectrum(self.spectra, self.rank), choices=_choices(self.fit), solved=_solved(self.fit),
            **_clusters(self.clusters), **_recovery(self.recovery),
        )  # fmt: skip
        return page.encode(errors="replace").decode()  # a file name may hold bytes that are no text


def _clusters(found: Found | None) -> dict[str, Any]:
    if found is None:
        return {"scatter": None, "sizes": None, "confidence": None}
    low = min(0.9, float(np.floor(10 * found.confidence.min()) / 10))
    return {
        "scatter": drawing.scatter(found.layout, found.labels),
        "sizes": drawing.sizes(found.labels, found.confidence),
        "confidence": drawing.histogram(found.confidence, low, 1.0),
    }


def _recovery(found: Recovered | None) -> dict[str, Any]:
    if found is None:
        return {"samples": None, "residual": None}
    return {
        "samples": _pictures(found, found.picture) if found.picture else _lines(found),
        "residual": drawing.drawn_counts(found.counts, found.low, found.high, outside=found.outside),
    }


def _lines(found: Recovered) -> list[dict[str, Any]]:
    rows = zip(found.names, found.given, found.recovered, strict=True)
    return [{"name": name, "lines": drawing.lines(given, recovered)} for name, given, recovered in rows]


def _pictures(found: Recovered, shape: tuple[int, int]) -> list[dict[str, Any]]:
    """Input and recovered in the same greys; what is between them around middle grey."""
    low, high = float(found.given.min()), float(found.given.max())
    most = (high - low) / 2
    shown = []
    for name, given, recovered in zip(found.names, found.given, found.recovered, strict=True):
        parts = ((given, low, high), (recovered, low, high), (given - recovered, -most, most))
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
    done = "converged" if fit.converged else "not all of which converged"
    return f"{fit.n_iter} iterations, {done}."


def _verdict(graph: GraphSummary) -> str:
    """Say what is wrong with a graph, if anything is."""
    wrong = []
    if graph.n_components > 1:
        wrong.append(f"falls into {graph.n_components} pieces, between which nothing is shared")
    if graph.degree_ratio > MANY_HUBS:
        wrong.append("has hubs, which pull others towards them")
    return "; it ".join(wrong) or "is in one piece and has no hubs"


def _hub(graph: GraphSummary) -> str:
    return f"× {graph.degree_ratio:.3g}" if isfinite(graph.degree_ratio) else drawing.NONE
