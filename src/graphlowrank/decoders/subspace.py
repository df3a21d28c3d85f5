"""Decoders that extend the singular vectors of the compressed matrix over the graphs, one axis at a time."""

from dataclasses import replace
from typing import Any

import numpy as np

from .._typing import Array
from ..graphs import LaplacianKind
from ..sampling.nodes import SampledNodes
from ..solvers.solution import Solution
from .factors import Decoded, factorize, multiply
from .penalty import Filter, fit_smooth


def decode_subspace(
    X_small: Array,
    samples: SampledNodes,
    features: SampledNodes,
    *,
    n_components: int | None = None,
    filter: Filter = 1,
    normalize: bool = False,
    delta: float = 0.0,
    center: bool = True,
    laplacian: LaplacianKind = "combinatorial",
    tol: float = 1e-7,
) -> Decoded:
    """``min tr(U^T g(L) U)  s.t.  M U = U_small`` on each side; ``X = U S V^T`` (Algorithm 2, subspace upsampling).

    The singular vectors of the centered ``X_small``, and its mean sample, are upsampled on the two graphs and
    multiplied: on the sampled block the result is the truncated ``X_small`` itself.

    Parameters
    ----------
    X_small
        (m_samples, m_features) compressed matrix.
    samples, features
        Graph, kept nodes and importance weights of each side.
    n_components
        Factors to keep; None counts the singular values of at least a tenth of the first.
    filter
        g: m for L^m, or a function of the eigenvalue.
    normalize, delta
        Scale the upsampled vectors to unit length and the singular values by
        ``sqrt(n p / (m_samples m_features (1 - delta)))``, as the paper does, instead of interpolating. The constant
        delta is not known; 0 is its ideal value.
    center
        Whether to factorize around the mean sample; the paper does not.
    laplacian, tol
        Of the interpolation, see :func:`~graphlowrank.decoders.fit_smooth`.
    """
    if normalize and not 0 <= delta < 1:
        raise ValueError(f"delta must be in [0, 1), got {delta}.")
    factors = factorize(X_small, samples, features, n_components, center=center)
    options: dict[str, Any] = {"gamma": 0.0, "filter": filter, "laplacian": laplacian, "tol": tol}
    scores = fit_smooth(samples, factors.samples, **options)
    directions = fit_smooth(features, factors.features_and_center, **options)
    if normalize:
        scores = _rescaled(samples, factors.samples, scores)
        directions = _rescaled(features, factors.features, directions)
        scores = replace(scores, X=scores.X / scores.X.dtype.type(np.sqrt(1 - delta)))
    return multiply(scores, directions)


def decode_approximate(
    X_small: Array,
    samples: SampledNodes,
    features: SampledNodes,
    *,
    n_components: int | None = None,
    gamma_samples: float = 1e-2,
    gamma_features: float = 1e-2,
    filter: Filter = 1,
) -> Decoded:
    """``min ||M U - U_small||^2 + gamma tr(U^T g(L) U)`` on each side; ``X = U S V^T`` (approximate decoder).

    It smooths the singular vectors as it extends them; with both gammas at 0 it is :func:`decode_subspace`.

    Parameters
    ----------
    X_small, samples, features, n_components, filter
        See :func:`decode_subspace`.
    gamma_samples, gamma_features
        Weights of the penalties, >= 0 (gamma' in the paper). Laplacians are divided by their mean diagonal.
    """
    factors = factorize(X_small, samples, features, n_components)
    return multiply(
        fit_smooth(samples, factors.samples, gamma=gamma_samples, filter=filter),
        fit_smooth(features, factors.features_and_center, gamma=gamma_features, filter=filter),
    )


def _rescaled(side: SampledNodes, small: Array, extended: Solution) -> Solution:
    """Give columns the norm that the restricted isometry gives them: ``sqrt(n / m)`` times that of the small ones."""
    if side.complete:
        return extended
    k = small.shape[1]
    wanted = np.linalg.norm(side.root_weights()[:, None] * small, axis=0)
    wanted = wanted * np.sqrt(len(extended.X) / len(side.indices))
    found = np.linalg.norm(extended.X[:, :k], axis=0)
    X = extended.X.copy()
    X[:, :k] *= np.divide(wanted, found, out=np.ones_like(found), where=found > 0)
    return replace(extended, X=X)
