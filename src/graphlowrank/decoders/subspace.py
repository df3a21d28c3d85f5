"""Subspace upsampling, Algorithm 2."""

from __future__ import annotations

import numpy as np

from .._backend import Array
from ..graphs import Graph
from ..linalg.svd import leading_svd, orthonormal_product
from .low_rank_matrix import LowRankMatrix
from .upsample import upsample


def decode_subspace(
    X_small: Array,
    sample_graph: Graph | None,
    feature_graph: Graph | None,
    sample_indices: Array,
    feature_indices: Array,
    *,
    n_components: int | None = None,
    scale: float = 1.0,
    shift: Array | float = 0.0,
) -> LowRankMatrix:
    """Low-rank matrix on all samples and features from its compressed version (Algorithm 2).

    The mean of the clean samples is taken off, the singular vectors of the rest are upsampled on the two graphs and
    multiplied, and the mean, upsampled too, is put back: on the sampled block the result is the truncated ``X_small``
    itself. (The paper instead normalises the upsampled vectors and multiplies by a factor that contains its unknown
    constant delta; interpolation needs none.) The product is re-factored so that its factors are orthonormal.

    Parameters
    ----------
    X_small
        (n_kept_samples, n_kept_features) solution of FRPCAG.
    sample_graph, feature_graph
        Graphs on all samples and features; None where everything was kept.
    sample_indices, feature_indices
        What was kept.
    n_components
        Factors to keep; None counts the singular values of at least a tenth of the first.
    scale, shift
        Units of the data: the result is ``scale * decoded + shift``.
    """
    centre = X_small.mean(axis=0, keepdims=True)
    left, values, right = leading_svd(X_small - centre, n_components)
    samples = _spread(sample_graph, sample_indices, left * values)
    features = _spread(feature_graph, feature_indices, np.column_stack([right, centre.T]))
    left, values, right = orthonormal_product(samples, features[:, :-1])
    offset = features[:, -1] * features.dtype.type(scale) + np.asarray(shift, dtype=features.dtype)
    return LowRankMatrix(left, values * values.dtype.type(scale), right, offset)


def _spread(graph: Graph | None, indices: Array, factors: Array) -> Array:
    return factors if graph is None or len(indices) == graph.n_nodes else upsample(graph, indices, factors).X
