"""What ``cluster`` and ``recover`` share: read a table, prepare it, fit, write, report."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._threads import limit_threads
from ..io import Table
from ..report import library_versions
from ..report.fit_page import FitPage
from .console import Show, option_names_in_errors, print_warnings
from .options import to_option_names
from .outputs import all_or_none, check_report
from .prepare import Input, Preparation, Prepared, prepare


@dataclass(frozen=True)
class FitRequest:
    """What to fit, and where to write the results.

    Attributes
    ----------
    table, preparation
        Data, and their preprocessing.
    outputs
        Path of each output by the name of its option.
    options
        Parameters of the estimator.
    command
        Command line, for the report.
    """

    table: Input
    preparation: Preparation
    outputs: dict[str, Path]
    options: dict[str, Any]
    command: str

    def __post_init__(self) -> None:
        check_report(self.outputs.get("report"))


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model, its data, and the temporary path of each output."""

    model: Any
    data: Prepared
    table: Table
    outputs: dict[str, Path]


@dataclass(frozen=True)
class Outcome:
    """Results in words and numbers.

    Attributes
    ----------
    sentence
        For the console and the report.
    values
        For JSON, by name.
    facts
        For the report, name and value.
    page
        Further arguments of :class:`~graphlowrank.report.fit_page.FitPage`, if there is a report.
    notes
        Further sentences for the report.
    """

    sentence: str
    values: dict[str, Any]
    facts: list[tuple[str, str]]
    page: dict[str, Any]
    notes: list[str] = field(default_factory=list)


def run_fit(
    request: FitRequest, estimator: type, write: Callable[[Fitted], Outcome], show: Show, *, only_dense: bool = False
) -> tuple[dict[str, Any], str]:
    """Read, prepare, fit, write and report; return the record for JSON and the text for the console."""
    begin, path = time.perf_counter(), request.table.path
    with print_warnings(to_option_names) as warnings, limit_threads(request.options["n_jobs"]):
        show(f"reading {path}")
        table = request.table.read()
        with all_or_none(request.outputs) as outputs:
            data = prepare(table, request.preparation, path, only_dense=only_dense)
            reading, (n_samples, n_features) = time.perf_counter() - begin, data.X.shape
            show(f"fitting {n_samples} samples x {n_features} features")
            graph = {} if table.graph is None else {"sample_graph": table.graph}
            with option_names_in_errors():
                model = estimator(**request.options, **graph).fit(data.X)
            model.stage_seconds_ = {"reading": reading, **model.stage_seconds_}
            show("writing")
            outcome = write(Fitted(model, data, table, outputs))
            summary = [
                f"{n_samples} samples x {n_features} features of {path.name}.",
                *(f"Prepared: {step}." for step in data.steps),
                outcome.sentence,
            ]
            if "report" in outputs:
                page = FitPage(
                    title=path.name,
                    summary=summary + outcome.notes,
                    facts=[("samples", str(n_samples)), ("features", str(n_features)), *outcome.facts],
                    warnings=warnings,
                    fit=model.report_,
                    command=request.command,
                    versions=library_versions(),
                    **outcome.page,
                )
                outputs["report"].write_text(page.to_html(), encoding="utf-8")
    record = {
        "input": str(path),
        "written": {name: str(output) for name, output in request.outputs.items()},
        "samples": n_samples,
        "features": n_features,
        "prepared": list(data.steps),
        **outcome.values,
        "fit": model.report_.as_dict(),
        "warnings": list(warnings),
    }
    return record, "\n".join([*summary, "", *repr(model.report_).splitlines()[2:]])
