"""Blocks and subsets of rows: what bounds the memory or the time of one step."""

from collections.abc import Iterator

import numpy as np

from .._typing import Array


def row_blocks(n_rows: int, width: int, *, entries: int, min_rows: int = 1) -> Iterator[slice]:
    """Yield slices that cover ``range(n_rows)``, of about ``entries`` entries each, and at least ``min_rows`` rows."""
    step = max(entries // max(width, 1), min_rows, 1)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def evenly_spaced(n: int, at_most: int) -> Array:
    """Return indices below ``n`` at equal distances, first and last included; all if ``n <= at_most``."""
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).astype(int)) if n > 0 else np.arange(0)
