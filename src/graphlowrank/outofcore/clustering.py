"""Clusters of rows on disk: the stages of :mod:`graphlowrank.pipeline`, of which two go over the blocks."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._typing import Array
from ..clustering import block_means
from ..pipeline import build_graphs, partition, prepare, replace_ends
from ..preprocessing import BlockRows, fit_imputer
from ..records import Clustering, LossWeights, Points, Run
from ..sampling import draw

# Samples from which preprocessing is learned: fewer if they have many features.
MAX_PREPARED, MIN_PREPARED, PREPARED_ENTRIES = 10_000, 2000, 50_000_000


def cluster_blocks(X: BlockRows, weights: LossWeights, run: Run) -> Clustering:
    """Cluster all samples on their graph; what comes before the graph is learned from some of them.

    The graph, the kept samples, and the labels are in memory.
    """
    n_samples = len(X)
    part, run = prepare(X[draw(n_samples, prepared_size(X.shape), random_state=run.rng)], run, n_samples)
    scaling, ends, model = part.scaling.apply, part.ends, part.points.model
    scaled: Any = X.after(scaling) if ends is None else X.after(partial(replace_ends, model=ends), scaling)
    if model is None and X.has_missing:  # the part was complete
        model = fit_imputer(np.asarray(part.points.X), run.rng)
    points: Any = scaled if model is None else scaled.after(model.apply)
    if ends is not None:
        points = X.after(ends.apply, scaling)
    prepared = replace(part, X=scaled, points=Points(points, model))
    return partition(prepared, build_graphs(points, run), weights, run)


def prepared_size(shape: tuple[int, int]) -> int:
    """Return from how many samples preprocessing is learned."""
    n_samples, n_features = shape
    return min(n_samples, MAX_PREPARED, max(MIN_PREPARED, PREPARED_ENTRIES // n_features))


def means_of_blocks(X: BlockRows, labels: Array, n_clusters: int) -> Array:
    """Mean (n_clusters, n_features) of the observed entries of each cluster."""
    return block_means(((X.read(number), labels[rows]) for number, rows in enumerate(X.blocks)), n_clusters)
