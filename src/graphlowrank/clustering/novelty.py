"""How far samples are from the clusters of a model: large for samples of a cluster that it does not know."""

import numpy as np

from .._typing import Array
from ..graphs.search import nearest_to
from ..linalg.blocks import row_blocks
from ..preprocessing.sparse import Data, dense_rows

MEASURED = 2000  # training samples that are typical of the others
BLOCK_ENTRIES = 1_000_000  # of samples that are compared with the means of their clusters at a time


def center_distances(X: Data, labels: Array, centers: Array) -> Array:
    """Root mean square (n_samples,) of the observed entries' distances to the mean of the sample's cluster."""
    found = np.empty(len(X))
    for block in row_blocks(len(X), X.shape[1], entries=BLOCK_ENTRIES):
        offset = dense_rows(X[block]).astype(np.float64) - centers[labels[block]]
        largest = np.nanmax(np.abs(offset), axis=1, keepdims=True)
        largest[largest == 0] = 1.0  # in whose units squares do not overflow
        found[block] = largest[:, 0] * np.sqrt(np.nanmean(np.square(offset / largest), axis=1))
    return found


def typical_distances(training: Data, labels: Array, n_clusters: int, n_neighbors: int) -> Array:
    """Median, over samples of each cluster (n_clusters,), of the mean distance to the nearest other samples.

    That of all samples for clusters without any, and of copies of one sample. At most 2000 samples are measured.
    """
    part = np.unique(np.linspace(0, len(training) - 1, MEASURED).astype(np.int64))
    n_neighbors = min(n_neighbors, len(training) - 1)
    distances = nearest_to(training[part], training, n_neighbors + 1)[0][:, 1:].mean(axis=1, dtype=np.float64)
    overall = float(np.median(distances)) or 1.0
    found = np.full(n_clusters, overall)
    for number in np.unique(labels[part]):
        found[number] = float(np.median(distances[labels[part] == number])) or overall
    return found
