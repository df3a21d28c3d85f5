"""The step of FRPCAG, compiled: the data pass through the cache once an iteration instead of about ten times."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from .._backend import Array
from .._threads import map_ranges
from ..solvers.fista import Advanced, Step
from .losses import LossName
from .smoothness import TwoGraphSmoothness

CACHED_BYTES = 2**20  # rows that are worked on together: their gradient stays in the cache
WHOLE = 64  # rows to a tile of the sparse feature product; a part of one costs as much as all of it
DENSE_ABOVE = 0.25  # share of entries of the feature Laplacian from which BLAS is faster than a sparse product

RowProduct = Callable[[int, int, Array, Array], None]
"""``(start, stop, Z, out)``: write the feature term's share of the gradient to ``out[start:stop]``."""


def compiled_step(
    smooth: TwoGraphSmoothness,
    X: Array,
    loss: LossName,
    huber_delta: float,
    step: float,
    sample_weights: Array,
    feature_weights: Array,
    observed: Array | None = None,
) -> Step:
    """Twin of :func:`graphlowrank.solvers.proximal_step` for FRPCAG; ``observed`` is False where X is only a filling.

    BLAS is called from several threads at once and should be held to one thread each meanwhile.
    """
    from ..kernels.fista_step import LOSS_CODES, fused_step

    L = smooth.L_samples.tocsr()
    scaled = L.data * np.asarray(2 * smooth.gamma_samples, dtype=X.dtype)
    data_matrix = np.ascontiguousarray(X)
    spare = np.empty_like(data_matrix)
    sums = np.empty((X.shape[0], 3), dtype=X.dtype)
    feature_gradient = _feature_gradient(smooth, X.dtype)
    # Numbers, not booleans: one kernel for data with and without gaps, of which the latter reads a single row.
    column_weights = feature_weights[None, :] if observed is None else np.ascontiguousarray(feature_weights * observed)
    n_rows = CACHED_BYTES // max(1, X.shape[1] * X.itemsize)
    n_rows = n_rows // WHOLE * WHOLE or max(1, n_rows)

    def advance_blocks(start: int, stop: int, S: Array, Z: Array, Z_next: Array, momentum: float) -> None:
        for low in range(start * n_rows, min(stop * n_rows, len(Z)), n_rows):
            high = min(low + n_rows, len(Z))
            feature_gradient(low, high, Z, Z_next)
            fused_step(
                low, high, L.indptr, L.indices, scaled, data_matrix, S, Z, Z_next,
                sample_weights, column_weights, step, momentum, LOSS_CODES[loss], huber_delta, sums,
            )  # fmt: skip

    def advance(S: Array, Z: Array, momentum: float) -> Advanced:
        nonlocal spare
        # Blocks of the same rows whatever the number of threads: BLAS rounds a row by the shape of its matrix.
        map_ranges(advance_blocks, -(-len(Z) // n_rows), S, Z, spare, momentum)
        Z, spare = spare, Z
        moved, size, turned = sums.sum(axis=0, dtype=np.float64)
        return Advanced(S, Z, float(np.sqrt(moved)), float(np.sqrt(size)), float(turned))

    return advance


def _feature_gradient(smooth: TwoGraphSmoothness, dtype: np.dtype) -> RowProduct:
    """``out[rows] = 2 gamma_features Z[rows] L_f``, by the faster of a dense and a sparse product."""
    if not smooth.gamma_features:
        return _nothing
    L = smooth.L_features * (2 * smooth.gamma_features)
    if sp.issparse(L) and L.nnz < DENSE_ABOVE * L.shape[0] * L.shape[1]:
        from ..kernels.products import dense_times_csr

        csr = sp.csr_array(L, dtype=dtype)

        def by_tiles(start: int, stop: int, Z: Array, out: Array) -> None:
            dense_times_csr(start, stop, csr.indptr, csr.indices, csr.data, Z, out)

        return by_tiles
    dense = np.asarray(L.toarray() if sp.issparse(L) else L, dtype=dtype)

    def by_blas(start: int, stop: int, Z: Array, out: Array) -> None:
        np.matmul(Z[start:stop], dense, out=out[start:stop])

    return by_blas


def _nothing(start: int, stop: int, Z: Array, out: Array) -> None:
    out[start:stop] = 0
