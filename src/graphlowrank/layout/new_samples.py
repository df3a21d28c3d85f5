"""Positions of new samples on a map."""

import numpy as np

from .._threads import map_ranges
from .._typing import Array
from ..preprocessing.sparse import Data, is_sparse
from .forces import REPULSION
from .memberships import calibrated

N_EPOCHS, STEP, N_NEGATIVE = 30, 0.25, 4  # of new samples: they start among their neighbors


def place_new(distances: Array, indices: Array, training: Data, embedding: Array, seed: int) -> Array:
    """Positions (n, d) of new samples: the mean of those of their nearest training samples (n, k), refined by forces.

    The mean is weighted by the memberships of the neighbors. Training samples stay where they are. A copy of training
    samples gets the mean of their positions. The position of a sample depends on no other new sample.
    """
    from ..kernels.layout import move_points

    k = indices.shape[1]
    indptr = np.arange(0, indices.size + 1, k, dtype=np.int32)
    weights = calibrated(indptr, distances.ravel().astype(embedding.dtype), k)
    # Imputed values differ by rounding from those of the fit.
    bound = training.bound() if is_sparse(training) else np.abs(training).max()
    copies = distances <= np.sqrt(np.finfo(training.dtype).eps) * bound
    shares = np.where(copies.any(axis=1, keepdims=True), copies, weights.reshape(indices.shape))
    shares = shares / shares.sum(axis=1, keepdims=True)
    means = np.einsum("ij,ijk->ik", shares, embedding[indices]).astype(embedding.dtype)
    columns = np.ascontiguousarray(indices.ravel(), dtype=np.int32)
    keys = indices[:, 0].astype(np.int64)  # the random numbers of a sample are those of its nearest neighbor
    old, new = means.copy(), np.empty_like(means)
    for epoch in range(N_EPOCHS):
        step = STEP * (1 - epoch / N_EPOCHS)
        map_ranges(
            move_points, len(old), indptr, columns, weights, keys, old, embedding, seed, epoch, step,
            REPULSION, N_NEGATIVE, new,
        )  # fmt: skip
        old, new = new, old
    old[copies.any(axis=1)] = means[copies.any(axis=1)]
    return old
