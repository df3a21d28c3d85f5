"""Sparse times dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backend import Array
from .._threads import map_ranges

COMPILED_ABOVE = 20_000_000  # multiplications; below, scipy is done before a compiler has started


def spmm(L: Any, X: Array) -> Array:
    """Return ``L @ X`` for a symmetric, usually sparse, ``L``."""
    compiled = (
        isinstance(L, sp.csr_array)
        and isinstance(X, np.ndarray)
        and X.flags.c_contiguous
        and X.dtype == L.dtype
        and L.nnz * X.shape[1] > COMPILED_ABOVE
    )
    if not compiled:
        return L @ X
    from ..kernels.products import csr_times_dense

    out = np.empty_like(X)
    map_ranges(csr_times_dense, L.shape[0], L.indptr, L.indices, L.data, X, out)
    return out
