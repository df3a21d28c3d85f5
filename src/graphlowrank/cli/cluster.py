"""The command ``graphlowrank cluster``: a label for each sample of a table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._backend import Array
from .._threads import limit_threads
from ..estimators import CompressiveClustering
from ..io import write_labels
from ..io.labels import check_labels_path
from ..linalg.svd import positive_signs
from ..preprocessing.principal import coordinates
from ..report.fit_page import FitPage, Found
from .options import in_options
from .outputs import all_or_none, check_apart
from .preparing import Input, Preparation, Prepared, prepare
from .shell import hearing_warnings, naming_options
from .telling import in_sizes, need_page, versions

PLANE = (
    "The plane in which the centres of the clusters lie furthest apart, among the first principal directions of the "
    "data; clusters that are apart in other directions lie on top of each other."
)


@dataclass(frozen=True)
class Request:
    """What to cluster, how, and where to put it; checked before any work."""

    table: Input
    preparation: Preparation
    output: Path
    report: Path | None
    column: str
    options: dict[str, Any]  # of CompressiveClustering
    command: str

    def __post_init__(self) -> None:
        need_page(self.report)
        with naming_options():
            source = self.source if self.source is not None and self.source.exists() else None
            check_labels_path(self.output, self.column, source)
        in_place = ["output"] if self.source is not None else []
        check_apart(self.table.path, self.written, may_be_source=in_place)

    @property
    def written(self) -> dict[str, Path]:
        """Place of each output by the name of its option."""
        return {"output": self.output, **({} if self.report is None else {"report": self.report})}

    @property
    def source(self) -> Path | None:
        """AnnData to which labels are added, if input and output are both of that kind."""
        both = self.table.path.suffix.lower() == self.output.suffix.lower() == ".h5ad"
        return self.table.path if both and not self.table.transpose else None


def run_cluster(request: Request, say: Callable[[str], None]) -> dict[str, Any]:
    """Read, cluster, write; return what there is to tell."""
    begin = time.perf_counter()
    with hearing_warnings(in_options) as heard, limit_threads(request.options["n_jobs"]):
        say(f"reading {request.table.path}")
        table = request.table.read()
        with all_or_none(request.written.values()) as places:
            data = prepare(table, request.preparation, request.table.path)
            read_seconds = time.perf_counter() - begin
            say(f"clustering {data.X.shape[0]} samples x {data.X.shape[1]} features")
            given = {} if table.graph is None else {"sample_graph": table.graph}
            with naming_options():
                model = CompressiveClustering(**request.options, **given).fit(data.X)
            model.stage_seconds_ = {"reading": read_seconds, **model.stage_seconds_}
            say("writing")
            _write(request, model, data, places, heard)
    return _record(request, model, data, heard)


def _write(request: Request, model: Any, data: Prepared, places: dict[Path, Path], warnings: list[str]) -> None:
    scores = values = None
    in_anndata = request.output.suffix.lower() == ".h5ad"
    if request.report is not None or in_anndata:
        scores, values = coordinates(model._fit_X, model.n_clusters_)  # the data as the model has scaled them
    write_labels(
        places[request.output], model.labels_, data.sample_names, confidence=model.confidence_,
        scores=scores if in_anndata else None, column=request.column, source=request.source,
    )  # fmt: skip
    if request.report is not None:
        assert scores is not None
        assert values is not None
        page = _page(request, model, data, scores, values, warnings)
        places[request.report].write_text(page.to_html(), encoding="utf-8")


def plane_of(scores: Array, labels: Array) -> Array:
    """Places (n_samples, 2) in the plane that holds the centres of the clusters best."""
    counts = np.bincount(labels)
    centres = np.stack([scores[labels == label].mean(axis=0) for label in np.flatnonzero(counts)])
    weights = np.sqrt(counts[counts > 0])[:, None]
    _, values, right = np.linalg.svd(weights * (centres - scores.mean(axis=0)), full_matrices=False)
    axes = right[values > 1e-6 * max(float(values[0]), 1e-300)][:2]
    if len(axes) < 2:  # few clusters: what is left of the data says the rest
        centred = scores - scores.mean(axis=0)
        _, sizes, more = np.linalg.svd(centred - (centred @ axes.T) @ axes, full_matrices=False)
        axes = np.concatenate([axes, more[sizes > 1e-6 * np.linalg.norm(centred)]])[:2]
    axes = axes.T * positive_signs(axes.T)
    places = scores @ axes
    return np.pad(places, ((0, 0), (0, 2 - places.shape[1])))  # a single feature has one axis


# --- telling ---


def _record(request: Request, model: Any, data: Prepared, warnings: list[str]) -> dict[str, Any]:
    sizes = np.bincount(model.labels_, minlength=model.n_clusters_).tolist()
    summary = _summary(request, model, data, sizes)
    return {
        "input": str(request.table.path),
        "written": {name: str(path) for name, path in request.written.items()},
        "samples": data.X.shape[0],
        "features": data.X.shape[1],
        "prepared": list(data.steps),
        "clusters": model.n_clusters_,
        "sizes": sizes,
        "mean_confidence": float(model.confidence_.mean()),
        "conductance": float(model.conductance_),
        "fit": model.report_.as_dict(),
        "warnings": list(warnings),
        "words": "\n".join([*summary, "", *repr(model.report_).splitlines()[2:]]),
    }


def _summary(request: Request, model: Any, data: Prepared, sizes: list[int]) -> list[str]:
    filled = [size for size in sizes if size]
    n_clusters = "1 cluster" if len(filled) == 1 else f"{len(filled)} clusters"
    empty = f" ({len(sizes) - len(filled)} of {len(sizes)} got no sample)" if len(filled) < len(sizes) else ""
    return [
        f"{data.X.shape[0]} samples x {data.X.shape[1]} features of {request.table.path.name}.",
        *(f"Prepared: {step}." for step in data.steps),
        f"{n_clusters} of {in_sizes(filled)}{empty}; mean confidence {model.confidence_.mean():.2f}.",
    ]


def _page(
    request: Request, model: Any, data: Prepared, scores: Array, values: Array, warnings: list[str]
) -> FitPage:  # fmt: skip
    sizes = np.bincount(model.labels_, minlength=model.n_clusters_).tolist()
    cut = "–" if np.isnan(model.conductance_) else f"{model.conductance_:.3f}"
    return FitPage(
        over="Clusters of a table",
        title=request.table.path.name,
        summary=_summary(request, model, data, sizes),
        facts=[
            ("samples", str(data.X.shape[0])),
            ("features", str(data.X.shape[1])),
            ("clusters", str(model.n_clusters_)),
            ("mean confidence", f"{model.confidence_.mean():.2f}"),
            ("conductance, 0 is apart", cut),
        ],
        warnings=warnings,
        fit=model.report_,
        spectra={"input": values},
        rank=None,
        command=request.command,
        versions=versions(),
        clusters=Found(model.labels_, model.confidence_, plane_of(scores, model.labels_), PLANE),
    )
