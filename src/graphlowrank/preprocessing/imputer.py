"""Missing entries guessed by a low-rank model: for distances, never for the model's loss.

A distance over the entries that two points both have, scaled up by their number, is the usual way out. It is noisy
where they share few, and points of which little is known become everybody's neighbours. With half of the entries
missing it finds 24 % of the true neighbours of a digit, 52 % on MNIST, 26 % on a table of 30 measurements (breast
cancer); distances after filling find 37, 65 and 54 %, and the search is that for complete points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.extmath import randomized_svd

from .._backend import Array
from .._threads import single_threaded_libraries
from ..linalg.regression import weighted_least_squares
from .missing import has_gaps, observed_mean
from .sparse import Data, ShiftedSparse

MOST_DIRECTIONS = 20  # more than there are do no harm: noise decides how far each is trusted
LEARNT_FROM = 8000  # rows: enough to tell the directions
ROUNDS = 10
SETTLED = 1e-3  # change of the guesses to stop at, relative to their distance from the mean
OUT_OF_PROPORTION = 1e8  # times the usual size
FEWEST_FREE = 0.1  # of the observed entries, to tell the noise from, whatever was fitted to them
BLOCK_ENTRIES, FEWEST_TOGETHER = 2_000_000, 64  # of rows that share the products of directions


@dataclass(frozen=True, eq=False)
class Filling:
    """Points around a centre along a few directions: what is observed of a point tells where along them it lies.

    Attributes
    ----------
    centre
        (p,) mean.
    directions
        (d, p) orthonormal rows.
    doubt
        (d,) variance of the noise over that along each direction: little is made of weak ones.
    """

    centre: Array
    directions: Array
    doubt: Array

    def apply(self, X: Array) -> Array:
        """Copy of ``X`` with guesses for NaN; ``X`` itself if there is none. Rows have no say on one another."""
        return in_blocks(X, len(self.directions), self._filled) if has_gaps(X) else X

    def _filled(self, X: Array) -> Array:
        missing = np.isnan(X)
        return np.where(missing, self.expected(X, missing), X)

    def expected(self, X: Array, missing: Array) -> Array:
        """Ridge regression of what is observed of each row on the directions."""
        centred = np.where(missing, 0, X - self.centre)
        ridge = self.doubt + np.sqrt(np.finfo(np.float64).eps)
        scores = weighted_least_squares(centred, self.directions, (~missing).astype(X.dtype), ridge)
        return scores.astype(X.dtype) @ self.directions + self.centre


def in_blocks(X: Array, n_directions: int, rule: Callable[..., Array], *more: Array) -> Array:
    """Apply a rule for rows to all rows of ``X`` and of ``more``, some at a time."""
    found = np.empty(X.shape, dtype=X.dtype)
    rows = max(FEWEST_TOGETHER, BLOCK_ENTRIES // max(X.shape[1], n_directions**2))
    with single_threaded_libraries():  # the same rounding whatever the number of threads
        for start in range(0, len(X), rows):
            block = slice(start, start + rows)
            found[block] = rule(X[block], *(one[block] for one in more))
    return found


def fill_gaps(X: Data, rng: np.random.RandomState) -> Data:
    """``X`` with guesses for NaN; itself if there is none."""
    return learn_filling(X, rng).apply(X) if not isinstance(X, ShiftedSparse) and has_gaps(X) else X


def learn_filling(X: Array, rng: np.random.RandomState) -> Filling:
    """Low-rank model of data with gaps: fill, take the leading singular vectors, fill again by what they expect.

    Parameters
    ----------
    X
        (n, p), NaN where an entry is missing.
    rng
        Draws the rows to learn from, if there are many.
    """
    part = drawn_rows(X, LEARNT_FROM, rng)
    missing = np.isnan(part)
    filled = np.where(missing, observed_mean(part).astype(X.dtype), part)
    for _ in range(ROUNDS):
        filling = directions_of(filled, part, missing)
        before, filled = filled, filling.apply(part)
        spread = np.linalg.norm((filled - filling.centre)[missing])
        if np.linalg.norm((filled - before)[missing]) <= SETTLED * spread:
            break
    return filling


def drawn_rows(X: Array, at_most: int, rng: np.random.RandomState) -> Array:
    """Rows to learn from, in order; all if they are no more."""
    return X if len(X) <= at_most else X[np.sort(rng.choice(len(X), at_most, replace=False))]


def directions_of(filled: Array, X: Array, missing: Array, most: int = MOST_DIRECTIONS) -> Filling:
    """Leading directions of the filled data, and the noise that they leave where ``X`` is observed."""
    n, p = X.shape
    k = max(1, min(most, min(n, p) // 2))
    centre = filled.mean(axis=0, dtype=np.float64).astype(X.dtype)
    centred, unit = _in_range(filled - centre)
    with single_threaded_libraries():
        left, values, directions = randomized_svd(centred, k, n_oversamples=5, n_iter=1, random_state=0)
        left_over = np.where(missing, 0, X - centre) / unit - (left * values) @ directions
    n_observed = missing.size - np.count_nonzero(missing)
    free = max(n_observed - k * (n + p), FEWEST_FREE * n_observed)
    noise = float(np.sum(np.square(left_over, dtype=np.float64), where=~missing)) / free
    doubt = noise / np.maximum(values.astype(np.float64) ** 2 / n, np.finfo(np.float64).tiny)
    return Filling(centre, directions.astype(X.dtype), np.minimum(doubt, np.finfo(np.float32).max))


def _in_range(X: Array) -> tuple[Array, Any]:
    """``X`` over a power of two near its usual size, and that: squares must not leave the range of numbers.

    Single precision is given up where an entry is out of proportion.
    """
    sizes = np.abs(X)
    usual = float(np.median(sizes)) or float(sizes.max(initial=0)) or 1.0
    unit = X.dtype.type(2.0 ** np.floor(np.log2(usual)))
    X = X / unit
    return (X.astype(np.float64) if float(sizes.max(initial=0)) / unit > OUT_OF_PROPORTION else X), unit
