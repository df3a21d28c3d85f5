"""Some rows that represent all: a uniform draw, and rows far from all that were drawn."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._typing import Array
from ..auto import choose_recovery_scaling
from ..decoders import LowRankMatrix
from ..graphs.search import nearest_neighbors
from ..linalg.products import product
from ..models.denoise_rows import Moments
from ..preprocessing import LowRankImputer, Scaling, fit_imputer, has_missing
from ..preprocessing.rows import fixed_blocks
from .checks import Contents, check_contents, contents_of
from .extension import extended, reduced_blocks
from .sources import Source

RARE_SHARE, MIN_RARE = 0.05, 50  # rows that are added to the draw: a share of it, and at least so many
FAR = 3.0  # times the 99th percentile of the distances between drawn rows and their nearest other one
PERCENTILE = 99
MIN_VALUE = 1e-6  # of the first singular value: smaller ones are rounding errors of the covariance
SEARCHED = 20_000  # drawn rows that others are compared with


@dataclass(frozen=True, eq=False)
class Part:
    """Rows in memory, and their numbers in the source."""

    X: Array
    indices: Array


def draw_part(source: Source, size: int, rng: np.random.RandomState) -> Part:
    """Draw rows without replacement; every row of the source is read, and checked."""
    n = source.shape[0]
    seed = int(rng.randint(2**31 - 1))
    # A Generator draws without an array of all n numbers.
    drawn = np.sort(np.random.default_rng(seed).choice(n, min(size, n), replace=False, shuffle=False))
    blocks = fixed_blocks(source.shape)
    places = np.searchsorted(drawn, [rows.start for rows in blocks])
    chosen = [part - rows.start for part, rows in zip(np.split(drawn, places[1:]), blocks, strict=True)]
    found = list(reduced_blocks(source, _take, chosen))
    check_contents([contents for _, contents in found], found[0][0].dtype)
    return Part(np.concatenate([rows for rows, _ in found]), drawn)


def _take(X: Array, rows: Array) -> tuple[Array, Contents]:
    return X[rows], contents_of(X)


@dataclass(frozen=True, eq=False)
class Far:
    """Finds rows that are far from all drawn ones."""

    scaling: Scaling
    imputer: LowRankImputer | None
    index: Any  # of the drawn rows
    limit: float
    at_most: int
    seed: int

    def points(self, X: Array) -> Array:
        """Rows as distances see them."""
        scaled = np.asarray(self.scaling.apply(X))
        return scaled if self.imputer is None else self.imputer.apply(scaled)

    def of(self, X: Array, number: int) -> tuple[Array, Array, Array]:
        """Keys, numbers and rows of a random choice among the far rows of a block; the largest keys are kept."""
        distances = self.index.query(self.points(X), 1)[0][:, 0]
        far = np.flatnonzero(distances > self.limit)
        keys = np.random.default_rng([self.seed, number]).random(len(X))[far]
        first = np.argsort(-keys, kind="stable")[: self.at_most]
        return keys[first], far[first], X[far[first]]


def with_rare_rows(source: Source, part: Part, rng: np.random.RandomState) -> Part:
    """Add rows of groups that the draw has missed: a random choice of those far from all drawn rows.

    A group of g such rows among f is represented by about g/f of the rows that are added.
    """
    from ..graphs.cell_index import CellIndex

    at_most = max(round(RARE_SHARE * len(part.X)), MIN_RARE)
    seed = int(rng.randint(2**31 - 1))
    some = np.sort(rng.choice(len(part.X), min(SEARCHED, len(part.X)), replace=False))
    scaling = choose_recovery_scaling(part.X)[0]
    points = np.asarray(scaling.apply(part.X[some]))
    imputer = fit_imputer(points, rng) if has_missing(points) else None
    points = points if imputer is None else imputer.apply(points)
    near = nearest_neighbors(points, 1, random_state=rng)[0][:, 0]
    limit = FAR * float(np.percentile(near, PERCENTILE))
    index = CellIndex.build(points, 1, random_state=rng)
    far = Far(scaling, imputer or fit_imputer(points, rng), index, limit, at_most, seed)
    blocks = fixed_blocks(source.shape)
    best: tuple[Array, Array, Array] | None = None
    for rows, (keys, numbers, values) in zip(blocks, reduced_blocks(source, far.of, range(len(blocks))), strict=True):
        found = keys, numbers + rows.start, values
        joined = found if best is None else tuple(map(np.concatenate, zip(best, found, strict=True)))
        first = np.argsort(-joined[0], kind="stable")[:at_most]
        best = joined[0][first], joined[1][first], joined[2][first]
    assert best is not None
    new = ~np.isin(best[1], part.indices)
    indices = np.concatenate([part.indices, best[1][new]])
    order = np.argsort(indices, kind="stable")
    return Part(np.concatenate([part.X, best[2][new]])[order], indices[order])


def low_rank_of_scores(scores: Any, components: Array, offset: Array, units: Array | None) -> LowRankMatrix:
    """Return the matrix ``scores components`` (times units, plus offset) with orthonormal factors; scores stay lazy.

    One pass over the scores (n, k), a dask array, finds their covariance.
    """
    source = Source(scores, "the scores")
    moments = Moments(np.zeros(scores.shape[1], dtype=scores.dtype))
    for found in reduced_blocks(source, _moments_of):
        moments.merge(found)
    mean, eigenvalues, vectors = moments.decompose()
    values = np.sqrt(eigenvalues[::-1] * moments.count)
    k = max(int(np.count_nonzero(values > MIN_VALUE * values.max(initial=0.0))), 1)
    rotation, values = np.ascontiguousarray(vectors[:, ::-1][:, :k]), values[:k].astype(mean.dtype)
    left = extended(source, partial(_rotated, mean, rotation / values), k, scores.dtype)
    center = mean @ components if units is None else (mean @ components) * units
    return LowRankMatrix(left, values, components.T @ rotation, (offset + center).astype(offset.dtype), units)


def _moments_of(X: Array) -> Moments:
    moments = Moments(np.zeros(X.shape[1], dtype=X.dtype))
    moments.add(X)
    return moments


def _rotated(mean: Array, rotation: Array, X: Array) -> Array:
    return product(X - mean, rotation)
