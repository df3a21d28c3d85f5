"""Denoise many rows, some of which were denoised before: the linear-time part of :mod:`.denoise`.

In a first pass, covariance and singular vectors of those predict the entries of the others, whose outliers and missing
values are replaced. In a second pass, covariance and singular values of all rows denoise every row. Rows are visited in
blocks, so the time is linear in their number; neighbors are always found among the rows denoised before.
"""

from copy import copy
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from .._threads import map_tasks
from .._typing import Array
from ..decoders.scores import robust_scores
from ..graphs.search import nearest_to
from ..linalg.optimal_shrinkage import Spectrum, optimal_values
from ..linalg.products import gram, product
from ..preprocessing.outlier_probability import FEW
from .denoise import Denoised, replace_outliers
from .entry_regression import N_FOLDS, N_NEIGHBORS, unexplained

MAX_START = 40  # directions of the first guess of a row, by least absolute deviations
START_TOL = 1e-2  # of that guess
START_SHARE = 0.25  # of the features at most: more directions would fit outliers, too


@dataclass
class Moments:
    """Number, sum and second moments of rows around ``shift``, in double precision."""

    shift: Array  # near the mean: large means would cancel
    count: int = 0
    total: Array = field(init=False)
    squares: Array = field(init=False)

    def __post_init__(self) -> None:
        p = len(self.shift)
        self.total, self.squares = np.zeros(p), np.zeros((p, p))

    def add(self, rows: Array) -> None:
        """Count more rows (n, p)."""
        moved = rows - self.shift
        self.count += len(rows)
        self.total += moved.sum(axis=0, dtype=np.float64)
        self.squares += gram(moved, np.float64)

    def merge(self, other: Self) -> None:
        """Count the rows of others around the same shift."""
        self.count += other.count
        self.total += other.total
        self.squares += other.squares

    def decompose(self) -> tuple[Array, Array, Array]:
        """Mean, eigenvalues in increasing order, and eigenvectors of the covariance."""
        mean = self.total / self.count
        covariance = self.squares / self.count - np.multiply.outer(mean, mean)
        eigenvalues, vectors = np.linalg.eigh(covariance)
        dtype = self.shift.dtype
        return (mean + self.shift).astype(dtype), np.maximum(eigenvalues, 0.0), vectors.astype(dtype)


@dataclass(frozen=True, eq=False)
class _Shrinkage:
    """Linear map of rows (n, p) that shrinks the singular values of the matrix that it was learned from."""

    mean: Array
    right: Array  # (p, k)
    gains: Array  # (k,)

    @classmethod
    def learned(cls, moments: Moments, noise: float) -> Self:
        mean, eigenvalues, vectors = moments.decompose()
        values = np.sqrt(eigenvalues[::-1] * moments.count)
        shrunk = optimal_values(values, noise, (max(moments.count - 1, 1), len(mean)))
        kept = shrunk > 0
        right = np.ascontiguousarray(vectors[:, ::-1][:, kept])
        return cls(mean, right, (shrunk[kept] / values[kept]).astype(mean.dtype))

    def scores(self, X: Array) -> Array:
        """Shrunk scores (n, k) of rows."""
        return product(X - self.mean, self.right) * self.gains

    def of(self, X: Array) -> Array:
        """Shrunk rows (n, p)."""
        return product(self.scores(X), np.ascontiguousarray(self.right.T)) + self.mean


class RowDenoiser:
    """Predicts and denoises rows like those of ``first``, which has at least as many rows as columns.

    Covariance and singular values are those of ``first``, and after :meth:`learn` those of all rows that were added.
    """

    def __init__(self, first: Denoised, width: float) -> None:
        self.first, self.width = first, width
        self.rows = Moments(first.filled.mean(axis=0))
        self.deviations = Moments(np.zeros_like(self.rows.shift))
        self.add(first.filled, first.base)
        self.ridge = first.ridge * float(np.trace(self.deviations.squares)) / first.filled.size
        self.start, _, vectors = self.rows.decompose()
        k = min(MAX_START, int(START_SHARE * len(self.start)))
        self.directions = np.ascontiguousarray(vectors[:, ::-1][:, :k].T)
        self.spaces = []
        for fold in range(N_FOLDS):
            spectrum = Spectrum.of(first.filled[:, first.column_folds != fold])
            shrunk = spectrum.shrunk(first.noise)
            gains = shrunk.values / spectrum.values[: len(shrunk.values)]
            self.spaces.append((_Shrinkage(shrunk.mean, shrunk.right, gains), shrunk.left * shrunk.values))
        self.learn()

    def add(self, filled: Array, base: Array) -> None:
        """Add completed rows (n, p), and the means of their neighbors, to what is learned from."""
        self.rows.add(filled)
        self.deviations.add(filled - base)

    def learn(self) -> None:
        """Learn from all rows that were added."""
        self.mean, self.eigenvalues, self.vectors = self.deviations.decompose()
        moments = self.deviations if self.first.around_neighbors else self.rows
        self.shrinkage = _Shrinkage.learned(moments, self.first.noise)

    def learned(self, rows: Moments, deviations: Moments) -> Self:
        """Return the denoiser after it has learned from rows that were counted elsewhere."""
        other = copy(self)
        other.rows, other.deviations = rows, deviations
        other.learn()
        return other

    def guess(self, X: Array, suspects: Array | None = None) -> Array:
        """Complete rows (n, p) without their neighbors, from directions that few outliers do not change."""
        loss = "l1" if self.first.share >= FEW else "l2"
        scores = robust_scores(X - self.start, self.directions, loss=loss, tol=START_TOL)
        return self._replace(X, product(scores, self.directions) + self.start, suspects)

    def complete(
        self, X: Array, filled: Array, suspects: Array | None = None, base: Array | None = None
    ) -> tuple[Array, Array]:
        """Replace missing entries and outliers of ``X`` (n, p) by predictions; return that and the neighbors' means.

        ``filled`` (n, p) is a first guess without missing values; ``suspects`` as for :func:`.denoise.denoise`;
        ``base`` the neighbors' means if they are known.
        """
        base = self._base(filled) if base is None else base
        predicted = base
        if self.ridge > 0:
            predicted = filled - unexplained(filled - base - self.mean, self.eigenvalues, self.vectors, self.ridge)
        return self._replace(X, predicted, suspects), base

    def shrink(self, filled: Array, base: Array) -> Array:
        """Return the denoised rows (n, p) of completed ones."""
        if self.first.around_neighbors:
            return base + self.shrinkage.of(filled - base)
        return self.shrinkage.of(filled)

    def _replace(self, X: Array, predicted: Array, suspects: Array | None) -> Array:
        """Replace entries that are missing, or far from their prediction."""
        if self.first.only_signal:
            suspects = np.zeros(X.shape, dtype=bool)
        return replace_outliers(X, predicted, self.width, suspects)[0]

    def _base(self, filled: Array) -> Array:
        """Mean of the nearest rows among the first ones, found in the columns of other folds."""
        base = np.empty_like(filled)

        def fill(fold: int) -> None:
            mine = self.first.column_folds == fold
            (space, learned), columns = self.spaces[fold], np.ascontiguousarray(self.first.filled[:, mine])
            if not space.gains.any():  # nothing but noise
                base[:, mine] = columns.mean(axis=0)
                return
            n_neighbors = min(N_NEIGHBORS, len(columns))
            nearest = nearest_to(space.scores(filled[:, ~mine]), learned, n_neighbors)[1]
            base[:, mine] = sum(columns[at] for at in nearest.T) / n_neighbors

        map_tasks(fill, range(N_FOLDS))
        return base
