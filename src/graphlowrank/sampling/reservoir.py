"""Uniform sample of bounded size of the rows of a stream, the same however the stream is divided into batches.

Every row has a random key that depends on the seed and on its number in the stream. The rows of the smallest keys are
kept: a uniform sample without replacement ("bottom-k sampling"). With a half-life, row i has the key ``E_i / 2^(i /
half_life)``, E_i exponential: a sample in which older rows are less likely (Efraimidis and Spirakis, 2006).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self

import numpy as np
import scipy.sparse as sp

from .._checks import FLOATS, is_count, is_number
from .._typing import Array
from ..preprocessing.missing import has_missing
from ..preprocessing.sparse import Data, ShiftedSparse, dense_rows, is_sparse, like

SLACK = 1.25  # of the rows that are stored, over those that are kept: replaced rows are removed now and then
PER_STEP = 4  # numbers of Philox for each step of its counter
MAX_ROWS = 2**62


@dataclass(frozen=True, eq=False)
class Reservoir:
    """Rows kept of a stream.

    Attributes
    ----------
    size : int
        Rows that are kept at most.
    seed : int
        Seed of the keys.
    half_life : float or None
        Rows after which a row is half as likely to be kept as the newest one; None: all are equally likely.
    n_seen : int
        Rows of the stream so far.
    numbers, keys : ndarray of int64 and of float64, of shape (n_stored,)
        Numbers in the stream, and logarithms of the keys, of the rows that are stored: those kept, and a few more.
    blocks : tuple of (n, n_features) dense or sparse
        Their values, in this order. Written to by nobody, so that reservoirs share them.
    """

    size: int
    seed: int
    half_life: float | None
    n_seen: int
    numbers: Array
    keys: Array
    blocks: tuple[Data, ...] = ()

    @classmethod
    def empty(cls, size: int, seed: int, half_life: float | None = None) -> Self:
        """Reservoir of a stream that has not begun."""
        return cls(size, seed, half_life, 0, np.empty(0, dtype=np.int64), np.empty(0))

    @property
    def n_kept(self) -> int:
        """Rows that :meth:`sample` returns."""
        return min(self.n_seen, self.size)

    def check(self) -> None:
        """Raise ValueError unless the parts fit together."""
        positive = self.half_life is None or (is_number(self.half_life) and self.half_life > 0)
        if not (is_count(self.size) and _is_index(self.seed) and _is_index(self.n_seen) and positive):
            raise ValueError("a reservoir must have a size, a seed, a half-life and a number of rows.")
        numbers, keys = self.numbers, self.keys
        for one, dtype in ((numbers, np.int64), (keys, np.float64)):
            if not isinstance(one, np.ndarray) or one.dtype != dtype or one.ndim != 1 or len(one) != len(numbers):
                raise ValueError("rows of a reservoir must have numbers and keys.")
        rising = not len(numbers) or (numbers[0] >= 0 and np.all(np.diff(numbers) > 0) and numbers[-1] < self.n_seen)
        if not rising or len(numbers) < self.n_kept or not np.isfinite(keys).all():
            raise ValueError("numbers of rows must rise, from 0 to less than the rows seen, and keys must be finite.")
        if not isinstance(self.blocks, tuple) or sum(map(_checked_length, self.blocks)) != len(numbers):
            raise ValueError("blocks of rows must be matrices of float32 or float64, with a number for each row.")
        if any(one.shape[1] != other.shape[1] or type(one) is not type(other) for one, other in pairwise(self.blocks)):
            raise ValueError("blocks of rows must be alike.")

    def updated(self, X: Data) -> Self:
        """Return the reservoir after the rows of ``X``, of which it keeps copies; this one is not changed."""
        if self.blocks:
            X = self._like_stored(X)
        numbers = np.arange(self.n_seen, self.n_seen + len(X))
        keys = np.log(-np.log(uniform_of_rows(self.n_seen, len(X), self.seed)))
        if self.half_life is not None:
            keys -= numbers * (math.log(2) / self.half_life)
        new = np.flatnonzero(keys < self._limit())
        if len(new) > self.size:
            new = np.sort(new[np.argpartition(keys[new], self.size)[: self.size]])
        found = replace(self, n_seen=self.n_seen + len(X))
        if not len(new):
            return found
        numbers, keys = np.r_[self.numbers, numbers[new]], np.r_[self.keys, keys[new]]
        found = replace(found, numbers=numbers, keys=keys, blocks=_merged((*self.blocks, X[new])))
        return found if len(numbers) <= SLACK * self.size else found.compacted()

    def sample(self) -> tuple[Data, Array]:
        """Return the rows that are kept, in the order of the stream, and their numbers."""
        if not self.blocks:
            raise ValueError("no rows were seen.")
        compact = self.compacted()
        return compact.blocks[0], compact.numbers

    def compacted(self) -> Self:
        """Return the reservoir with what it keeps in one block, and nothing else stored."""
        smallest = np.lexsort((self.numbers, self.keys))[: self.size]
        smallest.sort()
        rows = stacked(self.blocks)[smallest]
        return replace(self, numbers=self.numbers[smallest], keys=self.keys[smallest], blocks=(rows,))

    def _limit(self) -> float:
        """Key that a row must be below to be kept."""
        last = self.size - 1
        return math.inf if len(self.keys) < self.size else float(np.partition(self.keys, last)[last])

    def _like_stored(self, X: Data) -> Data:
        """Return rows, sparse or dense and of the precision of those that are stored."""
        stored = self.blocks[0]
        if is_sparse(stored) and has_missing(X):
            raise ValueError("the stream began with sparse data, so new samples must have no NaN.")
        X = like(X, stored)
        if X.dtype == stored.dtype:
            return X
        return ShiftedSparse(X.values.astype(stored.dtype)) if is_sparse(X) else X.astype(stored.dtype)


def uniform_of_rows(first: int, n: int, seed: int) -> Array:
    """Uniform numbers in (0, 1) of rows ``first, ..., first + n - 1``; each depends on the seed and its row alone."""
    bits = np.random.Philox(key=seed)
    bits.advance(first // PER_STEP)
    skipped = first % PER_STEP
    raw = bits.random_raw(skipped + n)[skipped:]
    return ((raw >> np.uint64(11)) + 0.5) * 2.0**-53


def stacked(blocks: Iterable[Data]) -> Data:
    """Rows of blocks that are all dense or all sparse, one below the other."""
    parts = list(blocks)
    if len(parts) == 1:
        return parts[0]
    if any(is_sparse(part) for part in parts):
        return ShiftedSparse(sp.csr_array(sp.vstack([part.values for part in parts if is_sparse(part)], format="csr")))
    return np.concatenate([dense_rows(part) for part in parts])


def _merged(blocks: tuple[Data, ...]) -> tuple[Data, ...]:
    """Blocks each more than twice as long as the next, so that small batches are not copied over and over."""
    while len(blocks) > 1 and len(blocks[-2]) <= 2 * len(blocks[-1]):
        blocks = (*blocks[:-2], stacked(blocks[-2:]))
    return blocks


def _is_index(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(0 <= value < MAX_ROWS)


def _checked_length(block: object) -> int:
    """Rows of a block; -1 unless it is a matrix of floats. The entries of sparse ones were checked when it was read."""
    if isinstance(block, ShiftedSparse):
        return len(block) if block.rows is None and block.columns is None else -1
    if not isinstance(block, np.ndarray) or block.ndim != 2 or block.dtype not in FLOATS:
        return -1
    return len(block) if not np.isinf(block).any() else -1
