"""Blocks and subsets of rows: what bounds the memory or the time of one step."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from .._threads import map_ranges, map_tasks
from .._typing import Array

Result = TypeVar("Result")

THREADED_ENTRIES = 1_000_000  # entries of a block that is worth a thread
TRANSPOSED_COLUMNS = 16  # columns that are copied together: a cache line of single precision


def row_blocks(n_rows: int, width: int, *, entries: int, min_rows: int = 1) -> Iterator[slice]:
    """Yield slices that cover ``range(n_rows)``, of about ``entries`` entries each, and at least ``min_rows`` rows."""
    step = max(entries // max(width, 1), min_rows, 1)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def map_row_blocks(function: Callable[[Array], Result], X: Array) -> list[Result]:
    """Return ``function(X[block])`` for blocks of rows, computed in threads. The blocks depend on the shape alone."""
    blocks = list(row_blocks(len(X), X.size // max(len(X), 1), entries=THREADED_ENTRIES))
    return [function(X)] if len(blocks) <= 1 else map_tasks(lambda block: function(X[block]), blocks)


def transposed_copy(X: Array) -> Array:
    """C-contiguous copy of ``X.T``, made in threads."""
    copy = np.empty((X.shape[1], X.shape[0]), dtype=X.dtype)

    def fill(start: int, stop: int) -> None:
        for first in range(start * TRANSPOSED_COLUMNS, stop * TRANSPOSED_COLUMNS, TRANSPOSED_COLUMNS):
            copy[first : first + TRANSPOSED_COLUMNS] = X[:, first : first + TRANSPOSED_COLUMNS].T

    map_ranges(fill, -(-X.shape[1] // TRANSPOSED_COLUMNS))
    return copy


def evenly_spaced(n: int, at_most: int) -> Array:
    """Return indices below ``n`` at equal distances, first and last included; all if ``n <= at_most``."""
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).astype(int)) if n > 0 else np.arange(0)
