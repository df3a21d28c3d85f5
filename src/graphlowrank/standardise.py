"""The sampled block in units that make one gamma mean the same for any data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._backend import Array
from .graphs.laplacian import LaplacianKind


@dataclass(frozen=True, eq=False)
class Block:
    """``(X[rows, columns] - shift[columns]) / scale``, with ``shift`` known for every feature."""

    X: Array
    shift: Array
    scale: float


def sampled_block(X: Array, rows: Array, columns: Array, laplacian: LaplacianKind) -> Block:
    """Cut the sampled rows and columns out of ``X``, shift and scale them.

    The normalized Laplacian penalises constants, so every feature is centred by its mean. The combinatorial one does
    not see them, and a mean taken from data with gross errors would put errors in (10 % outliers of 10 deviations: 0.13
    relative error against 0.01): one number, the median, is taken off everything and features keep their levels.

    The scale is the mean absolute deviation from the features' centres, which gross errors hardly move.
    """
    kept = X[rows]
    block = np.ascontiguousarray(kept[:, columns]) if len(columns) < X.shape[1] else kept
    if laplacian == "normalized":
        shift = kept.mean(axis=0, dtype=np.float64).astype(X.dtype)
        block = block - shift[columns]
        scale = float(np.mean(np.abs(block), dtype=np.float64))
    else:
        shift = np.full(X.shape[1], np.median(block), dtype=X.dtype)
        scale = float(np.mean(np.abs(block - np.median(block, axis=0)), dtype=np.float64))
        block = block - shift[0]
    if not scale > np.finfo(X.dtype).eps * np.max(np.abs(block)):
        raise ValueError("every feature is constant on the kept samples: there is no structure to recover.")
    block /= block.dtype.type(scale)
    return Block(block, shift, scale)
