"""The command ``graphlowrank recover``: the low-rank matrix of a table."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backend import Array
from .._evenly import evenly
from .._threads import limit_threads
from ..estimators import CompressivePCA, FastRobustPCAOnGraphs
from ..io import Table, write_matrix
from ..io.formats import find_writer
from ..preprocessing.counts import blocks, dense, moments
from ..preprocessing.principal import centred_svd
from ..report.fit_page import FitPage, Recovered
from .options import in_options
from .outputs import all_or_none, check_apart
from .preparing import Input, Preparation, Prepared, prepare
from .shell import hearing_warnings, naming_options
from .telling import need_page, versions

N_SHOWN = 6  # samples on the page
N_BINS, WIDEST = 40, 8.0  # of the residual; in typical residuals
N_VALUES = 30  # singular values of the input, at least


@dataclass(frozen=True)
class Request:
    """What to recover, how, and where to put it; checked before any work."""

    table: Input
    preparation: Preparation
    output: Path
    sparse: Path | None
    report: Path | None
    compressed: bool
    options: dict[str, Any]  # of the estimator
    command: str

    def __post_init__(self) -> None:
        need_page(self.report)
        for path in filter(None, (self.output, self.sparse)):
            find_writer(path)  # raises if the extension is not known or a package is missing
        check_apart(self.table.path, self.written)

    @property
    def written(self) -> dict[str, Path]:
        """Place of each output by the name of its option."""
        places = {"output": self.output, "sparse": self.sparse, "report": self.report}
        return {name: path for name, path in places.items() if path is not None}


@dataclass(frozen=True, eq=False)
class Residual:
    """Data, dense or csr_array, less a matrix, computed where it is asked for; NaN where a value is missing."""

    X: Any
    low_rank: Any

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self.X.shape

    @property
    def dtype(self) -> np.dtype:
        """Of its entries."""
        return self.X.dtype

    def __getitem__(self, index: Any) -> Array:
        """Return the entries that slices name, dense."""
        return dense(self.X[index]) - np.asarray(self.low_rank[index], dtype=self.X.dtype)

    def measured_in(self, units: Array) -> Residual:
        """Return that of features over (n_features,) units, with a copy of the data."""
        over = (1 / units).astype(self.X.dtype)
        X = self.X * over if isinstance(self.X, np.ndarray) else sp.csr_array(self.X @ sp.diags_array(over))
        return Residual(X, self.low_rank.measured_in(1 / units, np.zeros(len(units))))


@dataclass(frozen=True, eq=False)
class Left:
    """What a residual is like where there are data.

    Attributes
    ----------
    share
        Its size over that of the data around the middle of each feature (Frobenius).
    of_samples
        (n_samples,) its size in each.
    typical
        Median of its absolute values, in some of the rows.
    """

    share: float
    of_samples: Array
    typical: float


def run_recover(request: Request, say: Callable[[str], None]) -> dict[str, Any]:
    """Read, recover, write; return what there is to tell."""
    begin = time.perf_counter()
    with hearing_warnings(in_options) as heard, limit_threads(request.options["n_jobs"]):
        say(f"reading {request.table.path}")
        table = request.table.read()
        with all_or_none(request.written.values()) as places:
            # The model of the whole matrix has nothing to gain from zeros.
            data = prepare(table, request.preparation, request.table.path, only_dense=not request.compressed)
            read_seconds = time.perf_counter() - begin
            say(f"recovering {data.X.shape[0]} samples x {data.X.shape[1]} features")
            kind = CompressivePCA if request.compressed else FastRobustPCAOnGraphs
            given = {} if table.graph is None else {"sample_graph": table.graph}
            with naming_options():
                model: Any = kind(**request.options, **given).fit(data.X)
            model.stage_seconds_ = {"reading": read_seconds, **model.stage_seconds_}
            say("writing")
            left = _write(request, model, data, table, places, heard)
    return _record(request, model, data, left, heard)


def _write(
    request: Request, model: Any, data: Prepared, table: Table, places: dict[Path, Path], warnings: list[str]
) -> Left:
    names = (data.sample_names, data.feature_names)
    write_matrix(places[request.output], model.low_rank_, *names)
    residual = Residual(data.X, model.low_rank_)
    if request.sparse is not None:
        write_matrix(places[request.sparse], residual, *names)
    told = residual if model.feature_scale_ is None else residual.measured_in(model.feature_scale_)
    left = left_over(told, model.offset_ if model.feature_scale_ is None else told.low_rank.offset)
    if request.report is not None:
        page = _page(request, model, data, table, told, left, warnings)
        places[request.report].write_text(page.to_html(), encoding="utf-8")
    return left


def left_over(residual: Residual, offset: Array) -> Left:
    """Measure a residual, by blocks of rows; missing entries are left out."""
    squares, whole, typical = [], 0.0, []
    for start, block in blocks(residual):
        wide = block.astype(np.float64)
        squares.append(np.nansum(np.square(wide), axis=1))
        known = np.abs(wide[~np.isnan(wide)])
        typical.append(np.median(known) if len(known) else 0.0)
        away = dense(residual.X[start : start + len(block)]) - offset
        whole += float(np.nansum(np.square(away, dtype=np.float64)))
    of_samples = np.sqrt(np.concatenate(squares))
    share = float(np.sqrt(np.square(of_samples).sum() / whole)) if whole > 0 else 0.0
    return Left(share, of_samples, float(np.median(typical)))


# --- telling ---


def _record(request: Request, model: Any, data: Prepared, left: Left, warnings: list[str]) -> dict[str, Any]:
    return {
        "input": str(request.table.path),
        "written": {name: str(path) for name, path in request.written.items()},
        "samples": data.X.shape[0],
        "features": data.X.shape[1],
        "prepared": list(data.steps),
        "rank": model.n_components_,
        "residual": left.share,
        "singular_values": [float(value) for value in model.singular_values_],
        "fit": model.report_.as_dict(),
        "warnings": list(warnings),
        "words": "\n".join([*_summary(request, model, data, left), "", *repr(model.report_).splitlines()[2:]]),
    }


def _summary(request: Request, model: Any, data: Prepared, left: Left) -> list[str]:
    # The whole-matrix model is smooth, not cut: its rank counts the directions that stand out.
    rank = f"rank {model.n_components_}" if request.compressed else f"rank about {model.n_components_}"
    units = "" if model.feature_scale_ is None else ", each feature in its own unit"
    return [
        f"{data.X.shape[0]} samples x {data.X.shape[1]} features of {request.table.path.name}.",
        *(f"Prepared: {step}." for step in data.steps),
        f"Recovered a matrix of {rank}; the residual is {left.share:.3f} of the data, centred{units}.",
    ]


def _page(
    request: Request, model: Any, data: Prepared, table: Table, residual: Residual, left: Left, warnings: list[str]
) -> FitPage:
    _, of_input, _ = centred_svd(residual.X, max(N_VALUES, 2 * model.n_components_))
    recovery, n_filled = _recovered(data, table, Residual(data.X, model.low_rank_), residual, left)
    filled = ["In the samples below, values that are missing are shown as recovered."] if n_filled else []
    return FitPage(
        over="Low-rank matrix of a table",
        title=request.table.path.name,
        summary=[*_summary(request, model, data, left), *filled],
        facts=[
            ("samples", str(data.X.shape[0])),
            ("features", str(data.X.shape[1])),
            ("rank", str(model.n_components_)),
            ("residual over data", f"{left.share:.3f}"),
        ],
        warnings=warnings,
        fit=model.report_,
        spectra={"input": of_input, "recovered": model.singular_values_},
        rank=model.n_components_ if request.compressed else None,
        command=request.command,
        versions=versions(),
        recovery=recovery,
    )


def _recovered(
    data: Prepared, table: Table, pictures: Residual, residual: Residual, left: Left
) -> tuple[Recovered, int]:
    """Take some samples from the smallest residual to the largest, and the histogram of all.

    ``pictures`` are in the units of the data, the ``residual`` is in those it was measured in.
    Values of these samples that are missing are drawn as recovered; how many is returned, too.
    """
    n = len(left.of_samples)
    ranks = evenly(n, N_SHOWN)
    shown = np.argsort(left.of_samples, kind="stable")[ranks]
    names = [f"row {row + 1}" if data.sample_names is None else data.sample_names[row] for row in shown.tolist()]
    high = WIDEST * left.typical or 1.0
    counts, n_entries = np.zeros(N_BINS, dtype=np.int64), 0
    for _, block in blocks(residual):
        known = block[~np.isnan(block)]
        counts += np.histogram(known, bins=N_BINS, range=(-high, high))[0]
        n_entries += known.size
    picture = table.picture if table.picture and data.X.shape[1] == table.picture[0] * table.picture[1] else None
    drawn = pictures if picture else residual
    given, recovered = dense(drawn.X[shown]), np.asarray(drawn.low_rank[shown])
    missing = np.isnan(given)
    given = np.where(missing, recovered, given)
    if picture is None:
        given, recovered = in_deviations(residual.X, given, recovered)
    found = Recovered(names, given, recovered, picture, counts, -high, high, n_entries - int(counts.sum()))
    return found, int(np.count_nonzero(missing))


def in_deviations(X: Any, *rows: Array) -> tuple[Array, ...]:
    """Rows with every feature of ``X`` brought to zero mean and unit deviation: units differ from column to column."""
    mean, variance = moments(block for _, block in blocks(X))
    return tuple((one - mean) / np.sqrt(np.where(variance > 0, variance, 1.0)) for one in rows)
