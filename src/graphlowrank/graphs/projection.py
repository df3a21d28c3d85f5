"""Projection of the data on a few principal directions, in single precision: the coordinates that a search works in."""

from dataclasses import dataclass

import numpy as np

from .._threads import map_ranges
from .._typing import Array
from ..linalg.svd import gram_directions, sketched_directions
from ..preprocessing.sparse import Data, is_sparse
from .search_exact import center_and_scale, to_single

PROJECTED_DIMENSIONS = 96  # chosen with the constants of search_cells
PROJECTION_ROWS = 8000  # rows that the principal directions are estimated on
GRAM_UP_TO = 2000  # features: the Gram matrix takes up to 32 MB and less time than products with the rows
CACHED_ROWS = 4096  # rows processed together, so that their intermediates stay in the cache
PADDED_ROWS = 256  # the same, where a few rows must cost little


@dataclass(frozen=True, eq=False)
class Projection:
    """Centers and scales rows, and multiplies them by directions if there are any."""

    center: Array  # (p,)
    scale: float
    directions: Array | None  # (p, d); None keeps the columns

    def apply(self, X: Array, *, padded: bool = False) -> Array:
        """Return float32 coordinates (n, d) of rows.

        The product of a row with the directions varies in the last place with the number of rows multiplied together.
        ``padded`` always multiplies the same number, so that the coordinates of a row do not depend on the other rows.
        """
        if self.directions is None:
            return to_single(X, self.center, self.scale)
        points = np.empty((len(X), self.directions.shape[1]), dtype=np.float32)
        size = PADDED_ROWS if padded else CACHED_ROWS

        def multiply(first: int, last: int, directions: Array) -> None:
            for start in range(first * size, min(last * size, len(X)), size):
                # Centered before the product: a large offset would cost all digits.
                part = X[start : start + size] - self.center
                rows = slice(start, start + len(part))
                if padded and len(part) < size:
                    part = np.pad(part, ((0, size - len(part)), (0, 0)))
                points[rows] = (part @ directions)[: rows.stop - start]

        map_ranges(multiply, -(-len(X) // size), self.directions)
        points /= np.float32(self.scale)
        return points


def fit_projection(X: Array, n_dimensions: int, rng: np.random.RandomState) -> Projection:
    """Projection of dense data on their leading principal directions, which are estimated on a subset of the rows."""
    center, scale = center_and_scale(X)
    if X.shape[1] <= n_dimensions:
        return Projection(center, scale, None)
    subset = X[rng.choice(len(X), min(len(X), PROJECTION_ROWS), replace=False)] - center
    find = gram_directions if X.shape[1] <= GRAM_UP_TO else sketched_directions
    directions = find(subset, min(n_dimensions, len(subset)), rng)
    return Projection(center, scale, np.ascontiguousarray(directions))


def project(X: Data, n_dimensions: int, rng: np.random.RandomState) -> Array:
    """float32 coordinates along the leading principal directions, which are estimated on a subset of the rows."""
    if not is_sparse(X):
        return fit_projection(X, n_dimensions, rng).apply(X)
    center, scale = center_and_scale(X)
    if X.shape[1] <= n_dimensions:
        return to_single(X, center, scale)
    rows = rng.choice(len(X), min(len(X), PROJECTION_ROWS), replace=False)
    centered = X.moved(-center)
    projected: Array = centered @ sketched_directions(centered[rows], n_dimensions, rng) / scale
    return projected.astype(np.float32)
