"""The one seam to array libraries.

Dense arithmetic below the estimators goes through the array-API namespace of its arrays; every sparse
operation is a product with a symmetric matrix on the left. A library that offers both can run the solvers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace
from numpy.typing import NDArray

from ._threads import map_ranges

Array = NDArray[Any]
"""A dense array. The annotation says numpy because that is what users pass; solvers accept any namespace."""


def namespace(*arrays: Any) -> Any:
    """Array-API namespace shared by the dense ``arrays``."""
    return array_namespace(*arrays)


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
    from .kernels.products import csr_times_dense

    out = np.empty_like(X)
    map_ranges(csr_times_dense, L.shape[0], L.indptr, L.indices, L.data, X, out)
    return out


def norm(X: Array) -> float:
    """Frobenius norm of ``X``, accumulated by its own library."""
    return float(namespace(X).linalg.vector_norm(X))
