"""Predict every entry of a matrix from the other entries of its row.

A row x is modelled as normal around b, the mean of the rows nearest to it, with a covariance ``K = S + ridge I`` that
the deviations of other rows have. Given the rest of the row, the expectation of entry j is (K^-1 as a precision matrix)

    x_j - [K^-1 (x - b)]_j / [K^-1]_jj

so one eigendecomposition of S predicts a row without any of its entries seeing itself. To keep that true, S comes from
the rows of other folds, and neighbors are found in the columns of other folds: otherwise the noise of an entry would
choose the rows that it is compared with.
"""

from collections.abc import Callable

import numpy as np

from .._threads import map_tasks
from .._typing import Array
from ..graphs import nearest_neighbors
from ..linalg.optimal_shrinkage import Spectrum
from ..linalg.products import gram, product

N_FOLDS = 5
N_NEIGHBORS = 10
RIDGES = tuple(10.0**power for power in range(-5, 2))  # of the mean square of the deviations
MIN_REMAINDER = 1e-6  # of the variance of an entry that the others leave open


def assign_folds(n: int, rng: np.random.RandomState) -> Array:
    """Return a fold (n,) for each row or column; folds differ in size by one at most."""
    return rng.permutation(n) % N_FOLDS


def neighbor_means(X: Array, column_folds: Array, noise: float) -> Array:
    """Mean (n, p) of the rows nearest to each row, found in the columns of other folds.

    Distances are those of the columns after shrinkage of their singular values for white ``noise``.
    """
    means = np.empty_like(X)

    def fill(fold: int) -> None:
        mine = column_folds == fold
        others = Spectrum.of(X[:, ~mine]).shrunk(noise)
        columns = np.ascontiguousarray(X[:, mine])
        if not others.values.any():  # nothing but noise
            means[:, mine] = columns.mean(axis=0)
            return
        nearest = nearest_neighbors(others.left * others.values, min(N_NEIGHBORS, len(X) - 1), random_state=0)[1]
        means[:, mine] = sum(columns[at] for at in nearest.T) / nearest.shape[1]

    map_tasks(fill, range(N_FOLDS))
    return means


def predict_left_out(
    X: Array, base: Array, row_folds: Array, loss: Callable[[Array], float] | None, start: int = len(RIDGES) // 2
) -> tuple[Array, int]:
    """Predict every entry (n, p) from the rest of its row, with the ridge of least loss.

    Parameters
    ----------
    X
        (n, p) data without missing values.
    base
        (n, p) expectation of each row, found without the entry itself.
    row_folds
        (n,) fold of each row: its covariance is that of the others.
    loss
        Of a prediction (n, p); None keeps the ridge of ``start``.
    start
        Place in ``RIDGES`` where the search begins; it goes on while the loss falls. The second output is its end.
    """
    deviations = X - base
    unit = float(np.einsum("ij,ij->", deviations, deviations, dtype=np.float64)) / X.size
    if unit == 0:
        return base.copy(), start
    models = covariances(deviations, [row_folds == fold for fold in range(N_FOLDS)])

    def predict(ridge: float) -> Array:
        found = np.empty_like(X)
        for fold, (mean, eigenvalues, vectors) in enumerate(models):
            rows = row_folds == fold
            centered = deviations[rows] - mean
            found[rows] = X[rows] - unexplained(centered, eigenvalues, vectors, ridge * unit)
        return found

    best, at = predict(RIDGES[start]), start
    if loss is None:
        return best, at
    best_loss = loss(best)
    for step in (1, -1):
        while 0 <= at + step < len(RIDGES) and (other_loss := loss(other := predict(RIDGES[at + step]))) < best_loss:
            best, best_loss, at = other, other_loss, at + step
        if at != start:
            break
    return best, at


def unexplained(deviations: Array, eigenvalues: Array, vectors: Array, ridge: float) -> Array:
    """``[K^-1 d]_j / [K^-1]_jj`` for each row d (n, p), with ``K = vectors diag(eigenvalues + ridge) vectors^T``."""
    gains = (eigenvalues / (eigenvalues + ridge)).astype(deviations.dtype)
    left = deviations - product(product(deviations, vectors) * gains, np.ascontiguousarray(vectors.T))
    return left / np.maximum(1 - vectors**2 @ gains, MIN_REMAINDER)


def covariances(deviations: Array, omitted: list[Array]) -> list[tuple[Array, Array, Array]]:
    """Mean, eigenvalues and eigenvectors of the covariance of all rows but those omitted, for each mask of rows."""
    parts = [np.ascontiguousarray(deviations[rows]) for rows in omitted]
    sums, squares = [part.sum(axis=0, dtype=np.float64) for part in parts], [gram(part, np.float64) for part in parts]
    total, total_squares = deviations.sum(axis=0, dtype=np.float64), gram(deviations, np.float64)

    def decompose(place: int) -> tuple[Array, Array, Array]:
        count = max(len(deviations) - len(parts[place]), 1)
        mean = (total - sums[place]) / count
        covariance = (total_squares - squares[place]) / count - np.multiply.outer(mean, mean)
        eigenvalues, vectors = np.linalg.eigh(covariance)
        dtype = deviations.dtype
        return mean.astype(dtype), np.maximum(eigenvalues, 0.0), vectors.astype(dtype)

    return map_tasks(decompose, range(len(omitted)))
