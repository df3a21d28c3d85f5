"""Blocks and subsets of rows: what bounds the memory or the time of one step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._backend import Array


def row_blocks(
    n_rows: int, width: int, *, entries: int, min_rows: int = 1, max_rows: int | None = None
) -> Iterator[slice]:
    """Yield consecutive slices that cover ``range(n_rows)``, about ``entries`` entries each.

    Parameters
    ----------
    n_rows
        Rows of the matrix.
    width
        Entries that one row takes; usually the number of columns.
    entries
        Entries of a block, at most, as long as that is at least ``min_rows`` rows.
    min_rows, max_rows
        Bounds on the rows of a block; None for no upper bound. The last block may be shorter.

    Examples
    --------
    >>> list(row_blocks(5, 10, entries=25))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(entries // max(width, 1), min_rows, 1)
    if max_rows is not None:
        step = min(step, max_rows)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def evenly_spaced(n: int, at_most: int) -> Array:
    """Return indices below ``n`` at equal distances, first and last included; all if ``n <= at_most``.

    Examples
    --------
    >>> evenly_spaced(10, 4)
    array([0, 3, 6, 9])
    """
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).astype(int)) if n > 0 else np.arange(0)
