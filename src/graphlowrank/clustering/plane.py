"""A plane to draw clusters in."""

import numpy as np

from .._typing import Array
from ..linalg.svd import positive_signs

JITTER = 0.05  # of the width: samples of a map of one dimension do not hide each other


def project_on_centers(scores: Array, labels: Array) -> Array:
    """Project samples (n_samples, 2) on the leading plane of the cluster centers, weighted by cluster size."""
    given, scores = scores.dtype, scores.astype(np.float64)  # squares of scores may overflow in single precision
    counts = np.bincount(labels)
    centers = np.stack([scores[labels == label].mean(axis=0) for label in np.flatnonzero(counts)])
    weights = np.sqrt(counts[counts > 0])[:, None]
    _, values, right = np.linalg.svd(weights * (centers - scores.mean(axis=0)), full_matrices=False)
    axes = right[values > 1e-6 * max(float(values[0]), 1e-300)][:2]
    if len(axes) < 2:  # one or two clusters: add principal directions of the residual
        centered = scores - scores.mean(axis=0)
        _, sizes, more = np.linalg.svd(centered - (centered @ axes.T) @ axes, full_matrices=False)
        axes = np.concatenate([axes, more[sizes > 1e-6 * np.linalg.norm(centered)]])[:2]
    axes = axes.T * positive_signs(axes.T)
    plane = (scores @ axes).astype(given)
    return np.pad(plane, ((0, 0), (0, 2 - plane.shape[1])))  # a single feature has one axis


def first_two(embedding: Array) -> Array:
    """First two dimensions (n_samples, 2) of a map; random heights, with a fixed seed, if it has one dimension."""
    if embedding.shape[1] > 1:
        return embedding[:, :2]
    heights = np.random.RandomState(0).uniform(-1, 1, embedding.shape) * JITTER * np.ptp(embedding)
    return np.hstack([embedding, heights.astype(embedding.dtype)])
