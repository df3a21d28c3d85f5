"""Denoise further rows by what was learned from some: the linear-time part of :mod:`.denoise`.

The rows are compared with those that were denoised before, whose covariance and singular vectors predict their entries
and shrink them. Each row is treated on its own, so the time is linear in their number.
"""

import numpy as np

from .._threads import map_tasks
from .._typing import Array
from ..graphs.search import nearest_to
from ..linalg.optimal_shrinkage import Spectrum
from ..linalg.products import product
from ..preprocessing.outlier_probability import outlier_probabilities
from .denoise import Denoised
from .entry_regression import N_FOLDS, N_NEIGHBORS, covariances, unexplained

ROUNDS = 2


class RowDenoiser:
    """Predicts and denoises rows like those of ``learned``, which has at least as many rows as columns."""

    def __init__(self, learned: Denoised, width: float) -> None:
        self.learned, self.width = learned, width
        deviations = learned.filled - learned.base
        self.ridge = learned.ridge * float(np.mean(np.square(deviations, dtype=np.float64)))
        none = np.zeros(len(deviations), dtype=bool)
        self.mean, self.eigenvalues, self.vectors = covariances(deviations, [none])[0]
        shrunk_from = deviations if learned.around_neighbors else learned.filled
        self.shrinkage = _Shrinkage(Spectrum.of(shrunk_from), learned.noise)
        folds = [learned.column_folds == fold for fold in range(N_FOLDS)]
        self.spaces = [_Shrinkage(Spectrum.of(learned.filled[:, ~mine]), learned.noise) for mine in folds]

    def complete(self, X: Array, start: Array, suspects: Array | None = None) -> tuple[Array, Array]:
        """Replace missing entries and outliers of ``X`` (n, p); return that and the neighbors' means.

        ``start`` (n, p) is a first guess without missing values; ``suspects`` as for :func:`.denoise.denoise`.
        """
        seen, filled = ~np.isnan(X), start
        suspects = np.zeros(X.shape, dtype=bool) if self.learned.only_signal else suspects
        known, base = np.where(seen, X, X.dtype.type(0)), start
        for _ in range(ROUNDS):
            base = self._base(filled)
            centered = filled - base - self.mean
            if self.ridge > 0:
                predicted = filled - unexplained(centered, self.eigenvalues, self.vectors, self.ridge)
            else:
                predicted = base
            errors = np.where(seen, X - predicted, X.dtype.type(np.nan))
            probability, _ = outlier_probabilities(errors, self.width, filtered=suspects is not None)
            if suspects is not None:
                probability[seen & ~suspects] = 0.0
            weight = (1 - probability).astype(X.dtype)
            filled = weight * known + (1 - weight) * predicted
        return filled, base

    def shrink(self, filled: Array, base: Array) -> Array:
        """Return the denoised rows (n, p) of completed ones."""
        if self.learned.around_neighbors:
            return base + self.shrinkage.of(filled - base)
        return self.shrinkage.of(filled)

    def _base(self, filled: Array) -> Array:
        """Mean of the nearest rows among those learned from, found in the columns of other folds."""
        base = np.empty_like(filled)

        def fill(fold: int) -> None:
            mine = self.learned.column_folds == fold
            space, columns = self.spaces[fold], np.ascontiguousarray(self.learned.filled[:, mine])
            if not space.gains.any():  # nothing but noise
                base[:, mine] = columns.mean(axis=0)
                return
            n_neighbors = min(N_NEIGHBORS, len(columns))
            nearest = nearest_to(space.scores(filled[:, ~mine]), space.learned, n_neighbors)[1]
            base[:, mine] = sum(columns[at] for at in nearest.T) / n_neighbors

        map_tasks(fill, range(N_FOLDS))
        return base


class _Shrinkage:
    """Linear map of rows that shrinks the singular values of the matrix it was learned from."""

    def __init__(self, spectrum: Spectrum, noise: float) -> None:
        shrunk = spectrum.shrunk(noise)  # the leading factors
        kept = len(shrunk.values)
        self.mean, self.right = spectrum.mean, spectrum.right[:, :kept]
        positive = np.maximum(spectrum.values[:kept], np.finfo(spectrum.values.dtype).tiny)
        self.gains = shrunk.values / positive
        self.learned = shrunk.left * shrunk.values

    def scores(self, X: Array) -> Array:
        """Shrunk scores (n, k) of rows."""
        return product(X - self.mean, self.right) * self.gains

    def of(self, X: Array) -> Array:
        """Shrunk rows (n, p)."""
        return product(self.scores(X), np.ascontiguousarray(self.right.T)) + self.mean
