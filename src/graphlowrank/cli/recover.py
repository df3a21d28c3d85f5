"""The command ``graphlowrank recover``: the low-rank matrix of a table, and its residual."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._typing import Array
from ..estimators import CompressivePCA, FastRobustPCAOnGraphs
from ..io import Table, write_matrix
from ..io.formats import find_writer
from ..linalg.blocks import evenly_spaced
from ..preprocessing.counts import blocks, dense, moments
from ..preprocessing.principal import centered_svd
from ..report.fit_page import Recovered, draw_recovery
from .console import Show
from .fit import FitRequest, Outcome, run_fit
from .outputs import check_distinct

MIN_SINGULAR_VALUES = 30  # of the input, in the report
N_SHOWN = 6  # samples
N_BINS, MAX_RESIDUAL = 40, 8.0  # of the histogram; in median absolute residuals


def run_recover(request: FitRequest, show: Show, *, compressed: bool) -> tuple[dict[str, Any], str]:
    """Recover the low-rank matrix, and write it and the residual; see :func:`.fit.run_fit` for what is returned."""
    for name, path in request.outputs.items():
        if name != "report":
            find_writer(path)  # raises if there is none
    check_distinct({"the input": request.path}, request.outputs)

    def write(model: Any, table: Table, outputs: dict[str, Path]) -> Outcome:
        names = (table.sample_names, table.feature_names)
        write_matrix(outputs["output"], model.low_rank_, *names)
        unscaled = Residual(table.values, model.low_rank_)
        if "sparse" in outputs:
            write_matrix(outputs["sparse"], unscaled, *names)
        scaled = model.feature_scale_ is not None
        residual = unscaled.divided_by(model.feature_scale_) if scaled else unscaled
        size = residual_size(residual, residual.low_rank.offset if scaled else model.offset_)
        # Without compression the matrix is smooth, not truncated: its rank is that of its leading directions.
        rank = f"rank {model.n_components_}" if compressed else f"rank about {model.n_components_}"
        units = ", each feature in its own unit" if scaled else ""
        page: dict[str, Any] = {}
        if "report" in outputs:
            _, of_input, _ = centered_svd(residual.X, max(MIN_SINGULAR_VALUES, 2 * model.n_components_))
            page = {
                "over": "Low-rank matrix of a table",
                "spectra": {"input": of_input, "recovered": model.singular_values_},
                "rank": model.n_components_ if compressed else None,
                **draw_recovery(examples(unscaled, residual, size, table.sample_names, table.picture)),
            }
        return Outcome(
            f"Recovered a matrix of {rank}; the residual is {size.relative:.3f} of the data, centered{units}.",
            {
                "rank": model.n_components_, "residual": size.relative,
                "singular_values": [float(value) for value in model.singular_values_],
            },
            [("rank", str(model.n_components_)), ("residual over data", f"{size.relative:.3f}")],
            page,
        )  # fmt: skip

    estimator = CompressivePCA if compressed else FastRobustPCAOnGraphs
    return run_fit(request, estimator, write, show, only_dense=not compressed)


@dataclass(frozen=True, eq=False)
class Residual:
    """Data, dense or csr_array, minus a low-rank matrix, computed when indexed; NaN where a value is missing."""

    X: Any
    low_rank: Any

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self.X.shape[0], self.X.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """Type of the entries."""
        return self.X.dtype

    def __getitem__(self, index: Any) -> Array:
        """Return the indexed entries, dense."""
        low_rank: Array = np.asarray(self.low_rank[index], dtype=self.X.dtype)
        return np.asarray(dense(self.X[index]) - low_rank)

    def divided_by(self, units: Array) -> "Residual":
        """Return the residual with each feature divided by its unit (n_features,); the data are copied."""
        inverse = (1 / units).astype(self.X.dtype)
        X = self.X * inverse if isinstance(self.X, np.ndarray) else sp.csr_array(self.X @ sp.diags_array(inverse))
        return Residual(X, self.low_rank.measured_in(1 / units, np.zeros(len(units))))


@dataclass(frozen=True, eq=False)
class ResidualSize:
    """Size of a residual over the observed entries."""

    relative: float  # Frobenius norm over that of the centered data
    of_samples: Array  # (n_samples,), norm of each row
    typical: float  # median over row blocks of the median absolute value


def residual_size(residual: Residual, offset: Array) -> ResidualSize:
    """Measure a residual in blocks of rows; ``offset`` (n_features,) centers the data."""
    squares, total, medians = [], 0.0, []
    for rows, block in blocks(residual):
        wide = block.astype(np.float64)
        squares.append(np.nansum(np.square(wide), axis=1))
        observed = np.abs(wide[~np.isnan(wide)])
        medians.append(np.median(observed) if len(observed) else 0.0)
        centered = dense(residual.X[rows]) - offset
        total += float(np.nansum(np.square(centered, dtype=np.float64)))
    of_samples = np.sqrt(np.concatenate(squares))
    relative = float(np.sqrt(np.square(of_samples).sum() / total)) if total > 0 else 0.0
    return ResidualSize(relative, of_samples, float(np.median(medians)))


def examples(
    unscaled: Residual, residual: Residual, size: ResidualSize, names: tuple[str, ...] | None,
    image_shape: tuple[int, int] | None,
) -> Recovered:  # fmt: skip
    """Return samples from the smallest residual to the largest, and the histogram of all.

    Images are shown in the units of the data, as in ``unscaled``, other samples standardized.
    """
    shown = np.argsort(size.of_samples, kind="stable")[evenly_spaced(len(size.of_samples), N_SHOWN)]
    limit = MAX_RESIDUAL * size.typical or 1.0
    counts, n_entries = np.zeros(N_BINS, dtype=np.int64), 0
    for _, block in blocks(residual):
        observed = block[~np.isnan(block)]
        counts += np.histogram(observed, bins=N_BINS, range=(-limit, limit))[0]
        n_entries += observed.size
    source = unscaled if image_shape else residual
    given, recovered = dense(source.X[shown]), np.asarray(source.low_rank[shown])
    missing = np.isnan(given)
    given = np.where(missing, recovered, given)
    if image_shape is None:
        mean, variance = moments(block for _, block in blocks(residual.X))
        std = np.sqrt(np.where(variance > 0, variance, 1.0))
        given, recovered = (given - mean) / std, (recovered - mean) / std
    titles = [f"row {row + 1}" if names is None else names[row] for row in shown.tolist()]
    outside = n_entries - int(counts.sum())
    return Recovered(titles, given, recovered, image_shape, counts, limit, outside, int(np.count_nonzero(missing)))
