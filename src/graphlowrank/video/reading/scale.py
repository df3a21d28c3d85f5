"""Smaller pictures by averages over areas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._backend import Array


@dataclass(frozen=True)
class Shrinking:
    """Averages over the areas that the pixels of a smaller picture cover; build with :meth:`of`.

    Not Pillow's box filter: that takes a pixel whole or not at all, which is an average over an area only when the
    sizes divide each other, and it knows no pixels of 16 bits.
    """

    rows: Any
    columns: Any
    shape: tuple[int, ...]
    dtype: np.dtype

    @classmethod
    def of(cls, shape: tuple[int, ...], dtype: np.dtype, scale: float) -> Shrinking | None:
        """Return what shrinks frames of ``shape``, (h, w) or (h, w, 3); None if they keep their size."""
        height, width = (max(1, round(length * scale)) for length in shape[:2])
        if (height, width) == shape[:2]:
            return None
        work = np.result_type(dtype, np.float32)
        rows, columns = _averages(shape[0], height, work), _averages(shape[1], width, work)
        return cls(rows, columns, (height, width, *shape[2:]), dtype)

    def __call__(self, frame: Array) -> Array:
        """Return the smaller picture of one frame, in the frame's own dtype."""
        height, width, *channels = self.shape
        tall = frame.astype(self.rows.dtype).reshape(frame.shape[0], -1)
        low = (self.rows @ tall).reshape(height, frame.shape[1], -1)  # (height, old width, channels)
        across = low.swapaxes(0, 1).reshape(frame.shape[1], -1)
        small = (self.columns @ across).reshape(width, height, -1).swapaxes(0, 1)
        if self.dtype.kind == "u":
            small = np.rint(small)
        return small.reshape(height, width, *channels).astype(self.dtype)


def _averages(n: int, m: int, dtype: np.dtype) -> Any:
    """Weights (m, n): the share of the i-th of m equal intervals that the j-th of n covers."""
    cuts = np.union1d(np.arange(n) * m, np.arange(m) * n)  # in units of 1 / (n m), so exact
    lengths = np.diff(np.append(cuts, n * m))
    return sp.csr_array((lengths / n, (cuts // n, cuts // m)), shape=(m, n), dtype=dtype)
