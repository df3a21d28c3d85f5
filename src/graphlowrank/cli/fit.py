"""What ``cluster`` and ``recover`` share: read a table, prepare it, fit, write, report."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._files import naming
from .._threads import limit_threads
from ..io import Table
from ..options import check_count, is_auto
from .console import PLOT_EXTRAS, Show, command_line, print_warnings, require_packages
from .options import to_option_names
from .outputs import all_or_none
from .prepare import prepare, quote_formulas, read_table


@dataclass(frozen=True)
class FitRequest:
    """What to fit, and where to write the results."""

    path: Path
    reading: dict[str, Any]  # options of read_table()
    preparation: dict[str, Any]  # options of prepare()
    outputs: dict[str, Path]  # by the name of the option
    quote_formulas: bool  # in text outputs
    options: dict[str, Any]  # of the estimator


@dataclass(frozen=True)
class Outcome:
    """Results in words and numbers."""

    sentence: str  # for the console and the report
    values: dict[str, Any]  # for JSON


def run_fit(
    request: FitRequest, estimator: type, write: Callable[[Any, Table, dict[str, Path]], Outcome], show: Show, *,
    only_dense: bool = False,
) -> tuple[dict[str, Any], str]:  # fmt: skip
    """Read, prepare, fit, ``write`` to temporary paths and report; return the record for JSON and the text to print."""
    begin, path = time.perf_counter(), request.path
    if "report" in request.outputs:
        require_packages("the report", *PLOT_EXTRAS)
    with print_warnings(to_option_names) as warnings, limit_threads(request.options["n_jobs"]):
        show(f"reading {path}")
        table = read_table(path, **request.reading)
        with all_or_none(request.outputs) as outputs:
            table, steps = prepare(table, path, **request.preparation, only_dense=only_dense)
            table = quote_formulas(table) if request.quote_formulas else table
            reading, (n_samples, n_features) = time.perf_counter() - begin, table.shape
            graph = {} if table.graph is None else {"sample_graph": table.graph}
            check_counts(request.options, n_samples, n_features)
            show(f"fitting {n_samples} samples x {n_features} features")
            model = estimator(**request.options, **graph).fit(table.values)
            model.stage_seconds_ = {"reading": reading, **model.stage_seconds_}
            show("writing")
            outcome = write(model, table, outputs)
            summary = [
                f"{n_samples} samples x {n_features} features of {path.name}.",
                *(f"Prepared: {step}." for step in steps),
                outcome.sentence,
            ]
            if "report" in outputs:
                show("drawing the page")
                page = model.report_.to_html(
                    table.values, sample_names=table.sample_names, feature_names=table.feature_names,
                    image_shape=table.picture, logs=table.logs, title=path.name,
                    summary=summary, notes=table.columns.lines() if table.columns else (), warnings=warnings,
                    command=command_line(),
                    python_about=f", where X {'has a picture in each row' if table.picture else 'is the table'}"
                    f"{' as it was prepared' if steps else ''}",
                )  # fmt: skip
                with naming(request.outputs["report"]):
                    outputs["report"].write_text(page, encoding="utf-8")
    record = {
        "input": str(path),
        "written": {name: str(output) for name, output in request.outputs.items()},
        "samples": n_samples,
        "features": n_features,
        "columns": None if table.columns is None else table.columns.as_dict(),
        "prepared": steps,
        **outcome.values,
        "fit": model.report_.as_dict(),
        "warnings": list(warnings),
    }
    return record, "\n".join([*summary, "", *repr(model.report_).splitlines()[2:]])


def check_counts(options: dict[str, Any], n_samples: int, n_features: int) -> None:
    """Refuse more clusters or a higher rank than the table allows, before the command announces a fit."""
    if not is_auto(n_clusters := options.get("n_clusters", "auto")):
        check_count(n_clusters, "n_clusters", at_most=n_samples, what="samples")
    if (rank := options.get("n_components")) is not None:
        check_count(rank, "n_components", at_most=min(n_samples, n_features), what="samples or features")
