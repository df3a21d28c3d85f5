"""Some of many, at even distances: what looks at a part of the data without a draw."""

from __future__ import annotations

import numpy as np

from ._backend import Array


def evenly(n: int, at_most: int) -> Array:
    """Numbers from 0 to n - 1 at even distances, the first and the last among them; all if they are no more.

    Examples
    --------
    >>> evenly(10, 4)
    array([0, 3, 6, 9])
    """
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).astype(int)) if n > 0 else np.arange(0)
