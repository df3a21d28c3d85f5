"""The command ``graphlowrank recover``: the low-rank matrix of a table."""

from __future__ import annotations

from typing import Any

from ..estimators import CompressivePCA, FastRobustPCAOnGraphs
from ..io import write_matrix
from ..preprocessing.principal import centered_svd
from .console import Show
from .fit import FitRequest, Fitted, Outcome, run_fit
from .outputs import check_distinct, check_matrix
from .residual import Residual, ResidualSize, examples, residual_size

MIN_SINGULAR_VALUES = 30  # of the input, in the report


def run_recover(request: FitRequest, show: Show, *, compressed: bool) -> tuple[dict[str, Any], str]:
    """Recover the low-rank matrix, and write it and the residual; see :func:`.fit.run_fit` for what is returned."""
    for name in ("output", "sparse"):
        if name in request.outputs:
            check_matrix(request.outputs[name])
    check_distinct(request.table.path, request.outputs)

    def write(fitted: Fitted) -> Outcome:
        model, data, outputs = fitted.model, fitted.data, fitted.outputs
        names = (data.sample_names, data.feature_names)
        write_matrix(outputs["output"], model.low_rank_, *names)
        unscaled = Residual(data.X, model.low_rank_)
        if "sparse" in outputs:
            write_matrix(outputs["sparse"], unscaled, *names)
        scaled = model.feature_scale_ is not None
        residual = unscaled.divided_by(model.feature_scale_) if scaled else unscaled
        size = residual_size(residual, residual.low_rank.offset if scaled else model.offset_)
        # Without compression the matrix is smooth, not truncated: its rank is that of its leading directions.
        rank = f"rank {model.n_components_}" if compressed else f"rank about {model.n_components_}"
        units = ", each feature in its own unit" if scaled else ""
        has_report = "report" in outputs
        extra = _page(fitted, unscaled, residual, size, compressed=compressed) if has_report else ({}, [])
        return Outcome(
            f"Recovered a matrix of {rank}; the residual is {size.relative:.3f} of the data, centered{units}.",
            {
                "rank": model.n_components_, "residual": size.relative,
                "singular_values": [float(value) for value in model.singular_values_],
            },
            [("rank", str(model.n_components_)), ("residual over data", f"{size.relative:.3f}")],
            *extra,
        )  # fmt: skip

    estimator = CompressivePCA if compressed else FastRobustPCAOnGraphs
    return run_fit(request, estimator, write, show, only_dense=not compressed)


def _page(
    fitted: Fitted, unscaled: Residual, residual: Residual, size: ResidualSize, *, compressed: bool
) -> tuple[dict[str, Any], list[str]]:
    model, shape = fitted.model, fitted.table.picture
    _, of_input, _ = centered_svd(residual.X, max(MIN_SINGULAR_VALUES, 2 * model.n_components_))
    image_shape = shape if shape and residual.shape[1] == shape[0] * shape[1] else None
    recovery, n_imputed = examples(unscaled, residual, size, fitted.data.sample_names, image_shape)
    page = {
        "over": "Low-rank matrix of a table",
        "spectra": {"input": of_input, "recovered": model.singular_values_},
        "rank": model.n_components_ if compressed else None,
        "recovery": recovery,
    }
    return page, ["In the samples below, missing values are shown as recovered."] if n_imputed else []
