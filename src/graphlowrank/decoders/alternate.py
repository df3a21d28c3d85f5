"""The alternate decoder: one convex problem on both graphs."""

from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import Array
from ..linalg.svd import leading_svd
from ..sampling import check_reach
from ..sampling.nodes import SampledNodes
from ..solvers.conjugate_gradients import block_pcg
from ..solvers.solution import Solution
from .factors import Decoded
from .low_rank_matrix import LowRankMatrix
from .penalty import REMEDY, Filter, Operator, Penalty, check_filter, node_weights


def decode_alternate(
    X_small: Array,
    samples: SampledNodes,
    features: SampledNodes,
    *,
    n_components: int | None = None,
    gamma_samples: float = 1e-2,
    gamma_features: float = 1e-2,
    filter: Filter = 1,
) -> Decoded:
    """Solve :func:`alternate_matrix` and keep its leading factors around the mean sample.

    Parameters
    ----------
    X_small, samples, features, n_components
        See :func:`~graphlowrank.decoders.decode_subspace`.
    gamma_samples, gamma_features, filter
        See :func:`alternate_matrix`.
    """
    solution = alternate_matrix(
        X_small, samples, features, gamma_samples=gamma_samples, gamma_features=gamma_features, filter=filter
    )
    center = solution.X.mean(axis=0)
    low_rank = LowRankMatrix(*leading_svd(solution.X - center, n_components), center)
    return Decoded(low_rank, solution.n_iter, solution.converged)


def alternate_matrix(
    X_small: Array,
    samples: SampledNodes,
    features: SampledNodes,
    *,
    gamma_samples: float = 1e-2,
    gamma_features: float = 1e-2,
    filter: Filter = 1,
    tol: float = 1e-6,
    max_iter: int = 5000,
) -> Solution:
    """``argmin_X ||M X M - X_small||^2 + gamma_s tr(X^T g(L_s) X) + gamma_f tr(X g(L_f) X^T)`` (alternate decoder).

    Solved as one symmetric system by conjugate gradients, matrix-free; it holds several matrices of the size of the
    data, which the other decoders do not. The answer is close to low-rank, not exactly so.

    Parameters
    ----------
    X_small, samples, features
        See :func:`~graphlowrank.decoders.decode_subspace`; entries count with the product of their importance weights.
    gamma_samples, gamma_features
        Weights of the two penalties, > 0. Laplacians are divided by their mean diagonal.
    filter
        g: m for L^m, or a function of the eigenvalue.
    tol, max_iter
        Of the conjugate gradients, see :func:`graphlowrank.solvers.conjugate_gradients.block_pcg`.
    """
    if gamma_samples <= 0 or gamma_features <= 0:
        raise ValueError(f"gammas must be positive, got {gamma_samples} and {gamma_features}.")
    check_filter(filter)
    dtype = X_small.dtype
    row_penalty, column_penalty = (_penalty(side, filter, dtype) for side in (samples, features))
    fit = np.outer(*(node_weights(side).astype(dtype) for side in (samples, features)))
    known = np.zeros_like(fit)
    known[np.ix_(samples.indices, features.indices)] = X_small
    diagonal = fit.copy()
    if row_penalty is not None:
        diagonal += dtype.type(gamma_samples) * row_penalty.diagonal[:, None]
    if column_penalty is not None:
        diagonal += dtype.type(gamma_features) * column_penalty.diagonal

    def apply(vector: Array) -> Array:
        X = vector.reshape(fit.shape)
        out = fit * X
        if row_penalty is not None:
            out += dtype.type(gamma_samples) * (row_penalty @ X)
        if column_penalty is not None:
            out += dtype.type(gamma_features) * (column_penalty @ X.T).T
        return out.reshape(-1, 1)

    solution = block_pcg(
        Operator(apply), (fit * known).reshape(-1, 1), diagonal=diagonal.ravel(), tol=tol, max_iter=max_iter
    ).warn_unless_converged("The alternate decoder", REMEDY)
    return replace(solution, X=solution.X.reshape(fit.shape))


def _penalty(side: SampledNodes, g: Filter, dtype: Any) -> Penalty | None:
    if side.graph is None:
        return None
    check_reach(side.graph, side.indices)
    return Penalty(side.graph.unit_laplacian().astype(dtype), g)
