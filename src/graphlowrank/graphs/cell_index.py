"""An index of points in Voronoi cells, for the nearest of them to many new rows."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from sklearn.utils import check_random_state

from .._threads import map_ranges, single_threaded_libraries
from .._typing import Array, RandomState
from ..linalg.blocks import row_blocks
from .candidates import nearest_of
from .locality import bisection_order
from .projection import PROJECTED_DIMENSIONS, Projection, fit_projection
from .search import nearest_to, safe_divisor
from .search_cells import CELLS_PER_ROOT, candidates_needed, cell_centers, ranks_of, true_neighbors

EXACT_POINTS = 4000  # up to so many, comparing all pairs takes no longer
TRIAL_QUERIES = 512
CELLS_AROUND = 512  # at most, that are looked at
AROUND_RECALL = 0.998  # share of the true neighbors that lie in them
LIMIT_RECALL = 0.993  # and that lie in the cells searched
CHUNK = 65_536  # rows whose nearest points are found together


@dataclass(frozen=True, eq=False)
class Cells:
    """Points cell by cell, as :mod:`graphlowrank.kernels.cell_query` takes them."""

    coordinates: Array  # flat
    starts: Array  # (n_cells + 1,)
    numbers: Array  # (n_places,)

    @classmethod
    def of(cls, points: Array, cells: Array, n_cells: int) -> Self:
        """Sort points (m, d) into the cells (m,) they belong to, by number."""
        from ..kernels.cell_query import LANES, PADDING

        sizes = np.bincount(cells, minlength=n_cells)
        starts = np.concatenate([[0], np.cumsum(-(-sizes // LANES) * LANES)])
        order = np.argsort(cells, kind="stable")
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        places = np.arange(len(points)) + np.repeat(starts[:-1] - first, sizes)
        numbers = np.full(starts[-1], -1, dtype=np.int32)
        numbers[places] = order
        padded = np.full((starts[-1], points.shape[1]), PADDING, dtype=np.float32)
        padded[places] = points[order]
        parts = [padded[begin:end].T.ravel() for begin, end in pairwise(starts)]
        return cls(np.concatenate(parts), starts, numbers)

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """What the kernels take."""
        return self.coordinates, self.starts, self.numbers


@dataclass(frozen=True, eq=False)
class PointIndex:
    """Index of points in single precision: the cells around a query that may hold its nearest points are searched."""

    centers: Cells  # in one cell
    around: Cells  # of each cell the centers of those around it, itself first
    inverses: Array  # 1 / (2 distance) of these from the first
    cells: Cells
    limit: float  # see kernels.cell_query.nearest_in_cells

    @classmethod
    def build(cls, points: Array, centers: Array, trial: Array, truth: Array) -> Self:
        """Sort points (m, d) into the cells of different centers, and tune the search.

        So that it finds nearly all true neighbors ``truth`` (n_trials, k) of the points ``trial`` (n_trials,).
        """
        points, padded = padded_columns(points), padded_columns(centers)
        of_centers = Cells.of(padded, np.zeros(len(centers), dtype=np.int64), 1)
        homes = _nearest_of_all(of_centers, points, 1)[1][:, 0]
        squared, near = _nearest_of_all(of_centers, padded, min(CELLS_AROUND, len(centers)))
        ranks = np.argmax(near[homes[trial]][:, None, :] == homes[truth][:, :, None], axis=2)  # 0 if not among them
        n_around = int(np.quantile(ranks, AROUND_RECALL, method="higher")) + 1
        squared, near = squared[:, :n_around], near[:, :n_around]
        around = Cells.of(padded[near.ravel()], np.repeat(np.arange(len(centers)), n_around), len(centers))
        inverses = np.zeros(len(around.numbers), dtype=np.float32)
        real = around.numbers >= 0
        around.numbers[real] = near.ravel()
        with np.errstate(divide="ignore"):
            inverses[real] = np.where(squared > 0, 0.5 / np.sqrt(squared), 0).ravel()
        limit = _tuned_limit(points, centers, homes, near, trial, truth)
        return cls(of_centers, around, inverses, Cells.of(points, homes, len(centers)), limit)

    @classmethod
    def of_one_cell(cls, points: Array) -> Self:
        """Index that compares every query with every point."""
        points, one = padded_columns(points), np.zeros(1, dtype=np.int64)
        center = Cells.of(np.zeros((1, points.shape[1]), dtype=np.float32), one, 1)
        inverses = np.zeros(len(center.numbers), dtype=np.float32)
        return cls(center, center, inverses, Cells.of(points, np.repeat(one, len(points)), 1), 0.0)

    def nearest(self, queries: Array, n_nearest: int) -> tuple[Array, Array, Array]:
        """Squared distances and numbers (n, n_nearest) of the nearest points, -1 for none; queries cell by cell."""
        from ..kernels.cell_query import nearest_in_cells

        queries = padded_columns(queries)
        homes = _nearest_of_all(self.centers, queries, 1)[1][:, 0]
        order = np.argsort(homes, kind="stable")
        squared = np.empty((len(queries), n_nearest), dtype=np.float32)
        found = np.empty((len(queries), n_nearest), dtype=np.int32)
        places = self.cells.arrays, self.around.arrays, self.inverses, self.limit
        map_ranges(nearest_in_cells, len(queries), order, queries, homes, *places, squared, found)
        return squared, found, order


def index_points(points: Array, n_neighbors: int, rng: np.random.RandomState) -> PointIndex:
    """Index of points, tuned for their own neighbors."""
    trial = rng.choice(len(points), min(len(points), TRIAL_QUERIES), replace=False)
    truth = true_neighbors(points, trial, n_neighbors)
    return PointIndex.build(points, different_centers(points, rng), trial, truth)


def different_centers(points: Array, rng: np.random.RandomState) -> Array:
    """Centers of cells of about the root of the number of points, near ones with near numbers."""
    n_cells = max(1, min(int(CELLS_PER_ROOT * np.sqrt(len(points))), len(points) // 8))
    centers = np.unique(cell_centers(points, n_cells, rng), axis=0)  # copies of a point may have become several
    return centers[bisection_order(centers)]


@dataclass(frozen=True, eq=False)
class CellIndex:
    """Nearest rows of a training set to new rows; the answer for a row does not depend on the other rows.

    Up to :data:`EXACT_POINTS` training rows are compared with every new row (:func:`.search.nearest_to`). More are
    sorted into cells, of which the nearest are searched; how many is tuned for a recall of about 0.98 on training rows.
    All fields are arrays or numbers: an index can be pickled and sent to other processes.
    """

    X: Array  # (m, p)
    divisor: float  # of X, where the squares of its entries would overflow or vanish
    projection: Projection | None  # None: the points are the rows of X / divisor themselves
    points: PointIndex | None  # None if all pairs are compared
    candidates: float  # per neighbor, whose distances are measured

    @classmethod
    def build(
        cls, X: Array, n_neighbors: int = 10, *, random_state: RandomState = None, exact_up_to: int = EXACT_POINTS
    ) -> Self:
        """Build the index of a training set.

        Parameters
        ----------
        X : ndarray of shape (m, p)
            float32 or float64, finite. Kept, not copied, if it is C-contiguous.
        n_neighbors : int, default=10
            Neighbors that queries will ask for.
        random_state : int, RandomState or None, default=None
            Seed of the cells.
        exact_up_to : int
            Training rows up to which all pairs are compared.
        """
        X, rng = np.ascontiguousarray(X), check_random_state(random_state)
        divisor = float(safe_divisor(X))
        if len(X) <= max(exact_up_to, n_neighbors):
            return cls(X, divisor, None, None, 1.0)
        with single_threaded_libraries():
            return cls(X, divisor, *_tuned(X if divisor == 1 else X / X.dtype.type(divisor), n_neighbors, rng))

    def query(self, rows: Array, n_neighbors: int) -> tuple[Array, Array]:
        """Nearest training rows to each row.

        Parameters
        ----------
        rows : ndarray of shape (n, p)
            Finite; converted to the dtype of the training set.
        n_neighbors : int
            At most m.

        Returns
        -------
        distances : ndarray of shape (n, n_neighbors)
            In the dtype of the training set, nearest first.
        indices : ndarray of shape (n, n_neighbors), int64
        """
        if not 1 <= n_neighbors <= len(self.X):
            raise ValueError(f"n_neighbors={n_neighbors} must be between 1 and the {len(self.X)} rows of the index.")
        distances = np.empty((len(rows), n_neighbors), dtype=self.X.dtype)
        indices = np.empty((len(rows), n_neighbors), dtype=np.int64)
        with single_threaded_libraries():  # the same rounding for any number of threads
            for block in row_blocks(len(rows), 1, entries=CHUNK):
                part = np.ascontiguousarray(rows[block], dtype=self.X.dtype)
                if self.points is None:
                    distances[block], indices[block] = nearest_to(part, self.X, n_neighbors)
                else:
                    distances[block], indices[block] = self._query(part, self.points, n_neighbors)
        return distances, indices

    def _query(self, rows: Array, index: PointIndex, n_neighbors: int) -> tuple[Array, Array]:
        """Nearest training rows by the cells."""
        divisor = self.X.dtype.type(self.divisor)
        scaled, X = (rows, self.X) if divisor == 1 else (rows / divisor, self.X / divisor)
        points = scaled if self.projection is None else self.projection.apply(scaled, padded=True)
        n_candidates = min(int(np.ceil(self.candidates * n_neighbors)), len(X))
        squared, found, order = index.nearest(points, n_candidates)
        short = np.flatnonzero(found[:, n_neighbors - 1] < 0)
        found[short] = np.arange(n_candidates)  # replaced below
        if self.projection is None:
            distances, indices = np.sqrt(squared), found.astype(np.int64)
        else:
            distances, indices = nearest_of(X, found, n_neighbors, scaled, order=order, compiled=True)
        if len(short):  # the cells hold too few points
            distances[short], indices[short] = nearest_to(scaled[short], X, n_neighbors)
        return distances * divisor, indices


def _tuned(X: Array, n_neighbors: int, rng: np.random.RandomState) -> tuple[Projection | None, PointIndex, float]:
    """Projection, index of the points and candidates per neighbor of a :class:`CellIndex`."""
    projection = fit_projection(X, PROJECTED_DIMENSIONS, rng)
    points = projection.apply(X, padded=True)
    centers = different_centers(points, rng)
    trial = rng.choice(len(X), min(len(X), TRIAL_QUERIES), replace=False)
    truth = true_neighbors(X, trial, n_neighbors)
    if X.dtype == np.float32 and projection.directions is None:  # differences need no center, products do
        centers = np.unique(centers * np.float32(projection.scale) + projection.center, axis=0)
        return None, PointIndex.build(X, centers, trial, truth), 1.0
    ranks = None if projection.directions is None else ranks_of(points, trial, truth)
    n_candidates = candidates_needed(n_neighbors, ranks) - 1
    return projection, PointIndex.build(points, centers, trial, truth), n_candidates / n_neighbors


def padded_columns(points: Array) -> Array:
    """Points with columns of zeros up to a multiple of those that the kernel adds at a time."""
    from ..kernels.cell_query import TERMS

    missing = -points.shape[1] % TERMS
    return np.pad(points, ((0, 0), (0, missing))) if missing else np.ascontiguousarray(points)


def _nearest_of_all(points: Cells, queries: Array, n_nearest: int) -> tuple[Array, Array]:
    """Squared distances and numbers (n, n_nearest) of the nearest points, which are in one cell."""
    from ..kernels.cell_query import nearest_in_cell

    squared = np.empty((len(queries), n_nearest), dtype=np.float32)
    found = np.empty((len(queries), n_nearest), dtype=np.int32)
    map_ranges(nearest_in_cell, len(queries), queries, points.arrays, squared, found)
    return squared, found


def _tuned_limit(points: Array, centers: Array, homes: Array, near: Array, trial: Array, truth: Array) -> float:
    """Limit within which nearly all true neighbors of the trial points are found, see ``nearest_in_cells``."""
    queries, home, cell = points[trial].astype(np.float64), homes[trial], homes[truth]
    centers = np.pad(centers.astype(np.float64), ((0, 0), (0, queries.shape[1] - centers.shape[1])))
    own = ((queries - centers[home]) ** 2).sum(axis=1)
    to_cell = ((queries[:, None] - centers[cell]) ** 2).sum(axis=2)
    apart = ((centers[home][:, None] - centers[cell]) ** 2).sum(axis=2)
    radius = ((queries[:, None] - points[truth]) ** 2).sum(axis=2).max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.maximum(to_cell - own[:, None], 0) ** 2 / (4 * apart) / radius[:, None]
    share[cell == home[:, None]] = 0
    share[np.isnan(share)] = 0
    share[~(near[home][:, None, :] == cell[:, :, None]).any(axis=2)] = np.inf
    limit = float(np.quantile(share, LIMIT_RECALL, method="higher"))
    return limit if np.isfinite(limit) else float(share[np.isfinite(share)].max())
