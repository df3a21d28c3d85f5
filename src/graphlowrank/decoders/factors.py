"""From a matrix to its factors and back: the steps that decoders share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._backend import Array
from ..linalg.svd import leading_svd, orthonormal_product
from ..sampling.nodes import Side
from ..solvers.solution import Solution
from .low_rank_matrix import LowRankMatrix


@dataclass(frozen=True, eq=False)
class Factors:
    """``X = samples features^T + 1 centre^T``.

    Attributes
    ----------
    samples
        (m_samples, k) scores.
    features
        (m_features, k) directions.
    centre
        (m_features,) mean sample.
    """

    samples: Array
    features: Array
    centre: Array

    @property
    def features_and_centre(self) -> Array:
        """(m_features, k + 1): what is to be spread over the feature graph."""
        return np.column_stack([self.features, self.centre])


@dataclass(frozen=True, eq=False)
class Decoded:
    """What a decoder returns.

    Attributes
    ----------
    low_rank
        The matrix on all samples and features.
    n_iter
        Iterations of the slower of its linear solves; 0 where none was needed.
    converged
        Whether they all converged.
    """

    low_rank: LowRankMatrix
    n_iter: int
    converged: bool


def factorise(X_small: Array, samples: Side, features: Side, n_components: int | None) -> Factors:
    """Leading factors of the compressed matrix around its mean sample; None asks the rank rule.

    With importance weights they are the leading ones of ``sqrt(w_i) X_ij sqrt(v_j)``, in which kept nodes stand for the
    nodes left out as often as they should.
    """
    rows, columns = samples.root_weights().astype(X_small.dtype), features.root_weights().astype(X_small.dtype)
    centre = np.average(X_small, axis=0, weights=rows**2).astype(X_small.dtype)
    left, values, right = leading_svd((X_small - centre) * rows[:, None] * columns, n_components)
    return Factors(left * values / rows[:, None], right / columns[:, None], centre)


def multiply(samples: Solution, features: Solution) -> Decoded:
    """Low-rank matrix from the spread scores and the spread directions, whose last column is the centre."""
    left, values, right = orthonormal_product(samples.X, features.X[:, :-1])
    return Decoded(
        LowRankMatrix(left, values, right, np.ascontiguousarray(features.X[:, -1])),
        max(samples.n_iter, features.n_iter),
        samples.converged and features.converged,
    )
