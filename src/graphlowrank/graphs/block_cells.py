"""Cells of data in blocks: a sample of the rows determines them, and each block is sorted by cell into files."""

import pickle
import time
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from sklearn.utils.random import sample_without_replacement

from .._typing import Array
from .block_tasks import Cost, Rows, Stages
from .candidates import nearest_of
from .cell_files import CellFiles
from .cell_index import PointIndex, index_points
from .locality import bisection_order
from .projection import PROJECTED_DIMENSIONS, Projection, fit_projection
from .search import safe_divisor
from .search_cells import (
    CELLS_PER_ROOT,
    MAX_CANDIDATES,
    TRAINING_ROWS_PER_CELL,
    TRIAL_CANDIDATES,
    TRIAL_QUERIES,
    cell_centers,
)  # fmt: skip
from .search_exact import SPARE_CANDIDATES, exact_candidates

ROWS_PER_CELL = 1000  # at most, on average: the time per row does not grow with the number of rows
SAMPLED_ROWS = 20_000  # at least
INDEXED_CENTERS = 1000  # above, the nearest centers are found by an index of their own
TUNED_PROBES = 32  # that the index of the centers is tuned for


@dataclass(frozen=True, eq=False)
class CellModel:
    """What all tasks know: the projection, the cells, and the trial rows that the search is tuned on."""

    n_neighbors: int
    divisor: float  # of the data, where the squares of their entries would overflow or vanish
    files: CellFiles
    number_dtype: np.dtype
    projection: Projection
    centers: Array  # (n_cells, d)
    index: PointIndex  # of the centers
    trial: Array  # (n_trial, p)
    trial_numbers: Array  # (n_trial,)

    def points(self, X: Array) -> Array:
        """Coordinates (n, d) of rows; those of a row do not depend on the others."""
        return self.projection.apply(X, padded=True)

    def nearest_cells(self, points: Array, n_probes: int) -> Array:
        """Nearest cells (n, n_probes), nearest first; those of a point do not depend on the others."""
        found = self.index.nearest(points, n_probes)[1]
        short = np.flatnonzero(found[:, -1] < 0)
        if len(short):
            found[short] = PointIndex.of_one_cell(self.centers).nearest(points[short], n_probes)[1]
            found[found[:, -1] < 0] = np.arange(n_probes)  # of an enormous row: any different ones
        return found


@dataclass(frozen=True)
class SavedModel:
    """A model in a file, for tasks in other processes."""

    path: Path
    token: str  # of this search: the folder may have had another model

    def load(self) -> CellModel:
        """Read the model, if this process has not."""
        return _load(self)


@lru_cache(maxsize=1)
def _load(saved: SavedModel) -> CellModel:
    with saved.path.open("rb") as file:
        return pickle.load(file)


# --- a sample determines the cells -------------------------------------------------------------------------


def learn_cells(rows: Rows, n_neighbors: int, folder: Path, stages: Stages, rng: np.random.RandomState) -> CellModel:
    """Projection and cells from a sample of the rows, which depends on their number and the seed only."""
    n = rows.n_rows
    n_cells = max(1, min(max(int(CELLS_PER_ROOT * np.sqrt(n)), n // ROWS_PER_CELL), n // 8))
    n_sampled = min(n, max(TRAINING_ROWS_PER_CELL * n_cells, SAMPLED_ROWS))
    numbers = np.sort(sample_without_replacement(n, n_sampled, random_state=rng))
    sample = np.concatenate(stages.run("sample", partial(_read_sample, rows, numbers), range(len(rows.blocks))))
    divisor = float(safe_divisor(sample))
    sample = divided(sample, divisor)
    projection = fit_projection(sample, PROJECTED_DIMENSIONS, rng)
    points = projection.apply(sample, padded=True)
    centers = np.unique(cell_centers(points, n_cells, rng, partial(_nearest_centers, rng)), axis=0)
    centers = centers[bisection_order(centers)]  # near cells get near numbers: the cells around a group are few
    trial = rng.choice(len(sample), min(len(sample), TRIAL_QUERIES), replace=False)
    number_dtype = np.dtype(np.int32 if n < 2**31 else np.int64)
    columns = {"rows": (rows.dtype, (rows.n_columns,)), "numbers": (number_dtype, ())}
    if projection.directions is not None:
        columns["points"] = (np.dtype(np.float32), (points.shape[1],))
    files = CellFiles(folder, len(rows.blocks), columns)
    index = _index_centers(centers, rng)
    return CellModel(
        n_neighbors, divisor, files, number_dtype, projection, centers, index, sample[trial], numbers[trial]
    )


def _read_sample(rows: Rows, numbers: Array, block: int) -> tuple[Array, Cost]:
    """Rows of a block that are in the sample."""
    begin, part = time.perf_counter(), rows.blocks[block]
    first, last = np.searchsorted(numbers, [part.start, part.stop])
    if first == last:
        return np.empty((0, rows.n_columns), dtype=rows.dtype), Cost()
    X = _read(rows, block)
    sample = X[numbers[first:last] - part.start]
    return sample, Cost(1, time.perf_counter() - begin, X.nbytes)


def _read(rows: Rows, block: int) -> Array:
    """Read a block and check it."""
    part = rows.blocks[block]
    X = np.ascontiguousarray(rows.read(block))
    if X.shape != (part.stop - part.start, rows.n_columns) or X.dtype != rows.dtype:
        raise ValueError(
            f"block {block} (rows {part.start} to {part.stop - 1}) has shape {X.shape} and dtype {X.dtype}; expected "
            f"{(part.stop - part.start, rows.n_columns)} and {rows.dtype}."
        )
    if not np.all(np.isfinite(X)):
        raise ValueError(f"block {block} (rows {part.start} to {part.stop - 1}) has NaN or infinite entries.")
    return X


def divided(X: Array, divisor: float) -> Array:
    """Divide in the precision of the data, if there is anything to do."""
    return X if divisor == 1 else X / X.dtype.type(divisor)


def _index_centers(centers: Array, rng: np.random.RandomState) -> PointIndex:
    return PointIndex.of_one_cell(centers) if len(centers) <= INDEXED_CENTERS else index_points(
        centers, TUNED_PROBES, rng
    )  # fmt: skip


def _nearest_centers(rng: np.random.RandomState, points: Array, centers: Array) -> Array:
    """Nearest center (n,) to each point."""
    return np.maximum(_index_centers(centers, rng).nearest(points, 1)[1][:, 0], 0)


# --- each block of rows is sorted by cell ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Assigned:
    """Sizes of the cells in a block, and its rows nearest to each trial row."""

    sizes: Array  # (n_cells,)
    distances: Array  # (n_trial, n_near)
    numbers: Array
    cells: Array
    projected: Array  # squared distances in the projection
    near: Array  # (n_trial, n_projected) smallest of all rows; no columns if nothing is projected


def assign(saved: SavedModel, rows: Rows, block: int) -> tuple[Assigned, Cost]:
    """Sort the rows of a block by cell, into files."""
    begin, model = time.perf_counter(), saved.load()
    X = divided(_read(rows, block), model.divisor)
    points, n_cells = model.points(X), len(model.centers)
    cells = model.nearest_cells(points, 1)[:, 0]
    first = rows.blocks[block].start
    arrays = {"rows": X, "numbers": np.arange(first, first + len(X), dtype=model.number_dtype), "points": points}
    written = model.files.write(block, cells, n_cells, {name: arrays[name] for name in model.files.columns})
    sizes = np.bincount(cells, minlength=n_cells)
    assigned = Assigned(sizes, *_nearest_to_trial(model, X, points, cells, first))
    return assigned, Cost(1, time.perf_counter() - begin, X.nbytes, written)


def _nearest_to_trial(
    model: CellModel, X: Array, points: Array, cells: Array, first: int
) -> tuple[Array, Array, Array, Array, Array]:
    """Rows of a block nearest to each trial row, and the smallest distances in the projection."""
    projection, n_neighbors = model.projection, model.n_neighbors
    unprojected = Projection(projection.center, projection.scale, None)
    n_candidates = min(TRIAL_CANDIDATES * n_neighbors + SPARE_CANDIDATES, len(X))
    whole = points if projection.directions is None else unprojected.apply(X)
    candidates = exact_candidates(unprojected.apply(model.trial), whole, n_candidates)
    distances, near = nearest_of(X, candidates, min(n_neighbors + 1, len(X)), model.trial, compiled=True)
    trial = model.points(model.trial)
    projected = ((trial[:, None] - points[near]) ** 2).sum(axis=2)
    smallest = np.empty((len(trial), 0), dtype=np.float32)
    if projection.directions is not None:
        n_smallest = min(MAX_CANDIDATES * n_neighbors + SPARE_CANDIDATES, len(X))
        smallest = nearest_of(points, exact_candidates(trial, points, n_smallest), n_smallest, trial, compiled=True)[0]
    return distances, near + first, cells[near], projected, smallest**2
