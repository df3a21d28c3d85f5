"""An order of samples that depends on their values alone."""

import numpy as np

from .._typing import Array
from ..linalg.blocks import row_blocks
from .sparse import Data, is_sparse

BLOCK_ENTRIES = 1_000_000


def canonical_order(X: Data) -> Array:
    """Order (n,) of the samples by a random projection: the same sequence of rows for any permutation of ``X``.

    Random draws and ties between distances then do not depend on where a sample stands. Equal samples keep their order.
    """
    direction, missing = np.random.RandomState(0).standard_normal((2, X.shape[1]))
    along = _project(X, direction, missing)
    if len(np.unique(along)) == len(along):
        return np.argsort(along, kind="stable")
    # Equal samples, or a feature so large that the others are lost in rounding: project features of equal range, too.
    low, width = _range(X)
    ranged = _project(X, direction / np.where(width > 0, width, 1), missing, low)
    return np.lexsort((ranged, along))


def _project(X: Data, direction: Array, missing: Array, low: Array | float = 0.0) -> Array:
    """``(X - low) direction`` (n,), with ``missing`` (p,) for the products of missing values."""
    if is_sparse(X):
        return np.asarray(X.values @ direction)
    along = np.empty(len(X))
    for block in row_blocks(len(X), X.shape[1], entries=BLOCK_ENTRIES):
        rows = X[block].astype(np.float64) - low
        # Products and sums of each row by itself: a matrix product may round rows differently by their place.
        along[block] = np.where(np.isnan(rows), missing, rows * direction).sum(axis=1)
    return along


def _range(X: Data) -> tuple[Array, Array]:
    """Smallest value (p,) of each feature and its range; of sparse ones, 0 and the largest modulus."""
    if is_sparse(X):
        return np.zeros(X.shape[1]), abs(X.values).max(axis=0).toarray().ravel().astype(np.float64)
    low = np.fmin.reduce(X, axis=0).astype(np.float64)
    return low, np.fmax.reduce(X, axis=0) - low
