"""Decoders that interpolate one axis and project the full data on it (the paper's approximate decoders 2 and 3)."""

from typing import Any

import numpy as np

from .._typing import Array
from ..linalg.svd import orthonormal_basis, orthonormal_product
from ..sampling.nodes import SampledNodes
from ..solvers.solution import Solution
from .factors import Decoded, factorize
from .low_rank_matrix import LowRankMatrix
from .penalty import Filter, fit_smooth


def decode_approximate2(
    X_small: Array,
    samples: SampledNodes,
    features: SampledNodes,
    *,
    data: Any,
    n_components: int | None = None,
    filter: Filter = 1,
) -> Decoded:
    """``X = Y V V^T``, V an orthonormal basis of the upsampled feature vectors (approximate decoder 2, U U^T Y there).

    Every sample of the data Y is projected on the recovered feature subspace; the sample graph is not used. Outliers
    in Y pass through the projection: for data with small noise only.

    Parameters
    ----------
    X_small, samples, features, n_components, filter
        See :func:`~graphlowrank.decoders.decode_subspace`.
    data
        (n_samples, n_features) the full data in the units of X_small, or anything with ``data @ B`` and ``A @ data``.
    """
    factors = factorize(X_small, samples, features, n_components)
    extended = fit_smooth(features, factors.features_and_center, gamma=0.0, filter=filter)
    strengths = np.append(np.linalg.norm(factors.samples, axis=0), len(X_small) ** 0.5).astype(X_small.dtype)
    basis = orthonormal_basis(extended.X * strengths)
    return _around_mean(data @ basis, basis, factors.samples.shape[1], extended)


def decode_approximate3(
    X_small: Array,
    samples: SampledNodes,
    features: SampledNodes,
    *,
    data: Any,
    n_components: int | None = None,
    filter: Filter = 1,
) -> Decoded:
    """``X = U U^T Y``, U an orthonormal basis of the upsampled sample vectors (approximate decoder 3, Y V V^T there).

    Every feature of the data Y is projected on the recovered sample subspace, constants included; the feature graph is
    not used. Outliers in Y are averaged, not ignored.

    Parameters
    ----------
    X_small, samples, features, data, n_components, filter
        See :func:`decode_approximate2`.
    """
    factors = factorize(X_small, samples, features, n_components)
    extended = fit_smooth(samples, factors.samples, gamma=0.0, filter=filter)
    strength = np.linalg.norm(extended.X) or 1.0  # as strong as the rest, so that truncation keeps the constant
    constant = np.full(len(extended.X), strength / len(extended.X) ** 0.5, dtype=extended.X.dtype)
    basis = orthonormal_basis(np.column_stack([constant, extended.X]))
    return _around_mean(basis, (basis.T @ data).T, factors.samples.shape[1], extended)


def _around_mean(left: Array, right: Array, n_components: int, extended: Solution) -> Decoded:
    """``left right^T`` around its mean sample, truncated to ``n_components`` factors."""
    if left.shape[1] == 0:  # of a matrix of zeros; other decoders return one factor of it, too
        left, right = (np.zeros((len(factor), 1), dtype=factor.dtype) for factor in (left, right))
    mean = left.mean(axis=0)
    U, values, V = orthonormal_product(left - mean, right)
    kept = slice(n_components)
    low_rank = LowRankMatrix(U[:, kept], values[kept], V[:, kept], right @ mean)
    return Decoded(low_rank, extended.n_iter, extended.converged)
