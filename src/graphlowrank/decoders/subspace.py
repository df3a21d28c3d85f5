"""Decoders that extend the singular vectors of the compressed matrix over the graphs, one axis at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._backend import Array
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
) -> Decoded:
    """``min tr(U^T g(L) U)  s.t.  M U = U_small`` on each side; ``X = U S V^T`` (Algorithm 2, subspace upsampling).

    The mean of the clean samples is taken off, the singular vectors of the rest are upsampled on the two graphs and
    multiplied, and the mean, upsampled too, is put back: on the sampled block the result is the truncated ``X_small``
    itself. The product is re-factored so that its factors are orthonormal.

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
    """
    return _decode(X_small, samples, features, n_components, (0.0, 0.0), filter, delta if normalize else None)


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
    X_small
        (m_samples, m_features) compressed matrix.
    samples, features
        Graph, kept nodes and importance weights of each side.
    n_components
        Factors to keep; None counts the singular values of at least a tenth of the first.
    gamma_samples, gamma_features
        Weights of the penalties, >= 0 (gamma' in the paper). Laplacians are divided by their mean diagonal.
    filter
        g: m for L^m, or a function of the eigenvalue.
    """
    return _decode(X_small, samples, features, n_components, (gamma_samples, gamma_features), filter, None)


def _decode(
    X_small: Array,
    samples: SampledNodes,
    features: SampledNodes,
    n_components: int | None,
    gammas: tuple[float, float],
    g: Filter,
    delta: float | None,
) -> Decoded:
    """Both decoders; ``delta`` applies the paper's normalization."""
    factors = factorize(X_small, samples, features, n_components)
    scores = fit_smooth(samples, factors.samples, gamma=gammas[0], filter=g)
    directions = fit_smooth(features, factors.features_and_center, gamma=gammas[1], filter=g)
    if delta is not None:
        if not 0 <= delta < 1:
            raise ValueError(f"delta must be in [0, 1), got {delta}.")
        scores, directions = (
            _rescaled(samples, factors.samples, scores),
            _rescaled(features, factors.features, directions),
        )
        if not (samples.complete and features.complete):
            scores = replace(scores, X=scores.X / scores.X.dtype.type(np.sqrt(1 - delta)))
    return multiply(scores, directions)


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
