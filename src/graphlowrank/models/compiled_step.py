"""Compiled FISTA step of FRPCAG: one pass over the data per iteration instead of about ten."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._threads import map_ranges
from .._typing import Array
from ..solvers.fista import Advanced, Step
from .losses import Loss
from .smoothness import TwoGraphSmoothness

BLOCK_BYTES = 2**18  # of the rows processed together: their gradient stays in the cache, and 16 threads have work
TILE_ROWS = 64  # of the sparse feature product; a partial tile costs as much as a full one
DENSE_ABOVE = 0.25  # density of the feature Laplacian above which BLAS is faster than a sparse product

RowProduct = Callable[[int, int, Array, Array], object]
"""``(start, stop, Z, out)``: write the gradient of the feature term to ``out[start:stop]``."""


def compiled_step(
    smooth: TwoGraphSmoothness,
    X: Array,
    loss: Loss,
    curvature: tuple[Array, Array],
    sample_weights: Array,
    feature_weights: Array,
    observed: Array | None = None,
    *,
    block_bytes: int = BLOCK_BYTES,
    dense_above: float = DENSE_ABOVE,
) -> Step:
    """Twin of :func:`graphlowrank.solvers.proximal_step` for FRPCAG; ``observed`` is False where X is missing.

    The step of an entry is 1 / (``curvature`` of its sample + that of its feature). BLAS is called from several threads
    at once; limit it to one thread each meanwhile.
    """
    from ..kernels.fista_step import fused_step

    L = smooth.L_samples.tocsr()
    scaled = L.data * np.asarray(2 * smooth.gamma_samples, dtype=X.dtype)
    data_matrix = np.ascontiguousarray(X)
    of_rows, of_columns = (part.astype(X.dtype) for part in curvature)
    spare = np.empty_like(data_matrix)
    sums = np.empty((X.shape[0], 3), dtype=X.dtype)
    feature_gradient = _feature_gradient(smooth, X.dtype, dense_above)
    # The mask is part of the weights, so one kernel handles both cases; without missing values all samples share a row.
    column_weights = feature_weights[None, :] if observed is None else np.ascontiguousarray(feature_weights * observed)
    n_rows = block_bytes // max(1, X.shape[1] * X.itemsize)
    n_rows = n_rows // TILE_ROWS * TILE_ROWS or max(1, n_rows)

    def advance_blocks(start: int, stop: int, S: Array, Z: Array, Z_next: Array, momentum: float) -> None:
        for low in range(start * n_rows, min(stop * n_rows, len(Z)), n_rows):
            high = min(low + n_rows, len(Z))
            feature_gradient(low, high, Z, Z_next)
            fused_step(
                low, high, L.indptr, L.indices, scaled, data_matrix, S, Z, Z_next,
                sample_weights, column_weights, of_rows, of_columns, momentum, loss.kernel, loss.delta, sums,
            )  # fmt: skip

    def advance(S: Array, Z: Array, momentum: float) -> Advanced:
        nonlocal spare
        # The same blocks for any number of threads: BLAS rounds a row differently in matrices of different shapes.
        map_ranges(advance_blocks, -(-len(Z) // n_rows), S, Z, spare, momentum)
        Z, spare = spare, Z
        moved, size, uphill = sums.sum(axis=0, dtype=np.float64)
        return Advanced(S, Z, float(np.sqrt(moved)), float(np.sqrt(size)), float(uphill))

    return advance


def _feature_gradient(smooth: TwoGraphSmoothness, dtype: np.dtype[Any], dense_above: float) -> RowProduct:
    """``out[rows] = 2 gamma_features Z[rows] L_f``, as a dense or a sparse product, whichever is faster."""
    if not smooth.gamma_features:
        return lambda start, stop, Z, out: out[start:stop].fill(0)
    L = smooth.L_features * (2 * smooth.gamma_features)
    if sp.issparse(L) and L.nnz < dense_above * L.shape[0] * L.shape[1]:
        from ..kernels.products import dense_times_csr

        csr = sp.csr_array(L, dtype=dtype)
        return lambda start, stop, Z, out: dense_times_csr(start, stop, csr.indptr, csr.indices, csr.data, Z, out)
    dense = np.asarray(L.toarray() if sp.issparse(L) else L, dtype=dtype)
    return lambda start, stop, Z, out: np.matmul(Z[start:stop], dense, out=out[start:stop])
