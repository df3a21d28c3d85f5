"""The residual of a low-rank matrix: its size, and the entries that are outliers."""

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._typing import Array
from ..linalg.blocks import evenly_spaced
from ..preprocessing.counts import blocks, dense
from ..preprocessing.robust_statistics import MAD_TO_STD

SCALE_ROWS = 2000  # of which the noise of each feature is estimated
MIN_NOISE = 0.3  # of the median feature's, in its own unit: one that is recovered to the last digit has no outliers
CUTOFF = 5.0  # standard deviations of the noise; of a normal residual one entry in two million is beyond


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


@dataclass(frozen=True, eq=False)
class Outliers:
    """Entries whose residual is more than :data:`CUTOFF` standard deviations of the noise of their feature.

    Attributes
    ----------
    noise : ndarray of shape (n_features,)
        Robust standard deviation of the residual of each feature; infinite if it has none.
    flagged, missing : ndarray of shape (n_features,)
        Numbers of outliers and of missing values.
    largest : list of (float, int, int)
        Of the largest outliers, most extreme first: residual in standard deviations, sample and feature.
    sparse : bool
        Whether the data are a sparse matrix: the noise of features that are mostly zero is that of their other entries.
    """

    noise: Array
    flagged: Array
    missing: Array
    largest: list[tuple[float, int, int]]
    sparse: bool = False


def find_outliers(residual: Residual, n_largest: int = 12) -> Outliers:
    """Flag the outliers of a residual in two passes over blocks of rows; the noise is that of at most 2000 samples."""
    n_samples, n_features = residual.shape
    noise = _noise(residual, evenly_spaced(n_samples, SCALE_ROWS))
    flagged, missing = (np.zeros(n_features, dtype=np.int64) for _ in range(2))
    largest: list[tuple[float, float, int, int]] = []
    for part, block in blocks(residual):
        relative = block / noise
        absent = np.isnan(relative)
        size = np.where(absent, 0.0, np.abs(relative))
        beyond = size > CUTOFF
        missing += absent.sum(axis=0)
        flagged += beyond.sum(axis=0)
        at = np.flatnonzero(beyond)
        for index in at[np.argsort(-size.ravel()[at], kind="stable")][:n_largest].tolist():
            row, column = divmod(index, n_features)
            largest.append((float(size[row, column]), float(relative[row, column]), part.start + row, column))
    first = heapq.nsmallest(n_largest, largest, key=lambda one: (-one[0], one[2], one[3]))
    return Outliers(
        noise,
        flagged,
        missing,
        [(relative, row, column) for _, relative, row, column in first],
        sp.issparse(residual.X),
    )


def _noise(residual: Residual, rows: Array) -> Array:
    """Robust standard deviation (n_features,) of each feature; infinite for one that is constant or never observed."""
    noise, std = np.zeros(residual.shape[1]), np.zeros(residual.shape[1])
    part, data = (np.asarray(values, dtype=np.float64) for values in (residual[rows], dense(residual.X[rows])))
    known = ~np.isnan(part).all(axis=0)
    noise[known] = MAD_TO_STD * np.nanmedian(np.abs(part[:, known]), axis=0)
    if sp.issparse(residual.X):
        noise = np.maximum(noise, _noise_beside_zeros(part, data))
    std[known] = np.nanstd(data[:, known], axis=0)
    relative = noise[std > 0] / std[std > 0]
    typical = float(np.median(relative)) if len(relative) else 0.0
    noise = np.maximum(noise, MIN_NOISE * typical * std)
    return np.where(noise > 0, noise, np.inf)


def _noise_beside_zeros(residual: Array, data: Array) -> Array:
    """Robust standard deviation (n_features,) over the nonzero entries of features that are mostly zero.

    Infinite for those that are only zero here, 0 for those that are not mostly zero. In counts of genes or words, the
    median is that of the zeros, beside which every other entry would be an outlier.
    """
    noise = np.zeros(data.shape[1])
    counts, zeros = (~np.isnan(data)).sum(axis=0), (data == 0).sum(axis=0)
    noise[zeros == counts] = np.inf
    for feature in np.flatnonzero((zeros > counts / 2) & (zeros < counts)).tolist():
        others = residual[(data[:, feature] != 0) & ~np.isnan(data[:, feature]), feature]
        noise[feature] = MAD_TO_STD * np.median(np.abs(others))
    return noise
