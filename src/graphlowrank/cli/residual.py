"""The residual of a recovered matrix: its size, its histogram, and samples to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backend import Array
from ..linalg.blocks import evenly_spaced
from ..preprocessing.counts import blocks, dense, moments
from ..report.fit_page import Recovered

N_SHOWN = 6  # samples
N_BINS, MAX_RESIDUAL = 40, 8.0  # of the histogram; in median absolute residuals


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
        dtype: np.dtype[Any] = self.X.dtype
        return dtype

    def __getitem__(self, index: Any) -> Array:
        """Return the indexed entries, dense."""
        low_rank: Array = np.asarray(self.low_rank[index], dtype=self.X.dtype)
        return np.asarray(dense(self.X[index]) - low_rank)

    def divided_by(self, units: Array) -> Residual:
        """Return the residual with each feature divided by its unit (n_features,); the data are copied."""
        inverse = (1 / units).astype(self.X.dtype)
        X = self.X * inverse if isinstance(self.X, np.ndarray) else sp.csr_array(self.X @ sp.diags_array(inverse))
        return Residual(X, self.low_rank.measured_in(1 / units, np.zeros(len(units))))


@dataclass(frozen=True, eq=False)
class ResidualSize:
    """Size of a residual over the observed entries.

    Attributes
    ----------
    relative
        Frobenius norm over that of the centered data.
    of_samples
        (n_samples,) norm of each row.
    typical
        Median over row blocks of the median absolute value.
    """

    relative: float
    of_samples: Array
    typical: float


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
) -> tuple[Recovered, int]:  # fmt: skip
    """Return samples from the smallest residual to the largest, the histogram of all, and the number imputed.

    ``residual`` is in the units in which it was measured, ``unscaled`` in those of the data: images are shown in these,
    other samples standardized. Missing values of the samples are shown as recovered; they are counted.
    """
    shown = np.argsort(size.of_samples, kind="stable")[evenly_spaced(len(size.of_samples), N_SHOWN)]
    high = MAX_RESIDUAL * size.typical or 1.0
    counts, n_entries = np.zeros(N_BINS, dtype=np.int64), 0
    for _, block in blocks(residual):
        observed = block[~np.isnan(block)]
        counts += np.histogram(observed, bins=N_BINS, range=(-high, high))[0]
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
    found = Recovered(titles, given, recovered, image_shape, counts, -high, high, n_entries - int(counts.sum()))
    return found, int(np.count_nonzero(missing))
