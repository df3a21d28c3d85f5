"""Factorization of the compressed matrix and the product of its factors: the steps that decoders share."""

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..linalg.svd import leading_svd, orthonormal_product
from ..sampling.nodes import SampledNodes
from ..solvers.solution import Solution
from .low_rank_matrix import LowRankMatrix


@dataclass(frozen=True, eq=False)
class Factors:
    """``X = samples features^T + 1 center^T``."""

    samples: Array  # (m_samples, k) scores
    features: Array  # (m_features, k) directions
    center: Array  # (m_features,) mean sample

    @property
    def features_and_center(self) -> Array:
        """(m_features, k + 1): what is interpolated over the feature graph."""
        return np.column_stack([self.features, self.center])

    def product(self) -> Array:
        """(m_samples, m_features) matrix."""
        return self.samples @ self.features.T + self.center


@dataclass(frozen=True, eq=False)
class Decoded:
    """What a decoder returns.

    Attributes
    ----------
    low_rank
        The matrix on all samples and features.
    n_iter, converged
        Iterations of the slower of its linear solves, 0 where none was needed; whether they all converged.
    chosen
        Name, value and reason of parameters that the decoder reports.
    """

    low_rank: LowRankMatrix
    n_iter: int
    converged: bool
    chosen: tuple[tuple[str, float, str], ...] = ()


def factorize(
    X_small: Array, samples: SampledNodes, features: SampledNodes, n_components: int | None, *, center: bool = True
) -> Factors:
    """Leading factors of the compressed matrix around its mean sample, or around 0.

    With importance weights they are the leading factors of ``sqrt(w_i) X_ij sqrt(v_j)``, in which kept nodes represent
    the nodes left out.
    """
    rows, columns = samples.root_weights().astype(X_small.dtype), features.root_weights().astype(X_small.dtype)
    mean = np.average(X_small, axis=0, weights=rows**2) if center else np.zeros(X_small.shape[1])
    mean = mean.astype(X_small.dtype)
    left, values, right = leading_svd((X_small - mean) * rows[:, None] * columns, n_components)
    return Factors(left * values / rows[:, None], right / columns[:, None], mean)


def multiply(samples: Solution, features: Solution) -> Decoded:
    """Low-rank matrix from scores and directions on all nodes; the last direction is the center."""
    left, values, right = orthonormal_product(samples.X, features.X[:, :-1])
    return Decoded(
        LowRankMatrix(left, values, right, np.ascontiguousarray(features.X[:, -1])),
        max(samples.n_iter, features.n_iter),
        samples.converged and features.converged,
    )
