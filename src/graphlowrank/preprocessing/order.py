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
    rng = np.random.RandomState(0)
    direction, missing = rng.standard_normal((2, X.shape[1]))
    if is_sparse(X):
        return np.argsort(np.asarray(X.values @ direction), kind="stable")
    along = np.empty(len(X))
    for block in row_blocks(len(X), X.shape[1], entries=BLOCK_ENTRIES):
        rows = X[block].astype(np.float64)
        # Products and sums of each row by itself: a matrix product may round rows differently by their place.
        along[block] = np.where(np.isnan(rows), missing, rows * direction).sum(axis=1)
    return np.argsort(along, kind="stable")
