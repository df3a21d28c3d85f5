"""The command ``graphlowrank recover``: the low-rank matrix of a table, and its residual."""

from pathlib import Path
from typing import Any

from ..estimators import CompressivePCA, FastRobustPCAOnGraphs
from ..estimators.described import residual_of
from ..io import Table, write_matrix
from ..io.formats import find_writer
from .console import Show
from .fit import FitRequest, Outcome, run_fit
from .outputs import check_distinct


def run_recover(request: FitRequest, show: Show, *, compressed: bool) -> tuple[dict[str, Any], str]:
    """Recover the low-rank matrix, and write it and the residual; see :func:`.fit.run_fit` for what is returned."""
    # Pictures are written as a folder of them, unless pixels are left out; residuals are signed.
    pictures = request.path.is_dir() and request.preparation["top_features"] is None
    for name, path in request.outputs.items():
        if name != "report":
            find_writer(path, pictures=pictures and name == "output")  # raises if there is none
    check_distinct({"the input": request.path}, request.outputs)

    def write(model: Any, table: Table, outputs: dict[str, Path]) -> Outcome:
        names = (table.sample_names, table.feature_names)
        write_matrix(outputs["output"], model.low_rank_, *names, picture=table.picture, white=table.white)
        unscaled, _, size = residual_of(model, table.values)
        if "sparse" in outputs:
            write_matrix(outputs["sparse"], unscaled, *names)
        return summarize_recovery(model, size.relative, compressed=compressed)

    estimator = CompressivePCA if compressed else FastRobustPCAOnGraphs
    return run_fit(request, estimator, write, show, only_dense=not compressed)


def summarize_recovery(model: Any, residual: float, *, compressed: bool = True) -> Outcome:
    """Describe a recovered matrix, and its residual relative to the centered data."""
    # Without compression the matrix is smooth, not truncated: its rank is that of its leading directions.
    rank = f"rank {model.n_components_}" if compressed else f"rank about {model.n_components_}"
    units = "" if model.feature_scale_ is None else ", each feature in its own unit"
    return Outcome(
        f"Recovered a matrix of {rank}; the residual is {residual:.3f} of the data, centered{units}.",
        {
            "rank": model.n_components_, "residual": residual,
            "singular_values": [float(value) for value in model.singular_values_],
        },
    )  # fmt: skip
