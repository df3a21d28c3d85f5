"""The orthonormal variant of the approximate decoder (the paper's appendix)."""

from dataclasses import replace

import numpy as np

from .._backend import norm
from .._typing import Array
from ..linalg.eigen import largest_eigenvalue
from ..sampling.nodes import SampledNodes
from ..solvers.solution import Solution
from .factors import Decoded, factorize, multiply
from .penalty import fit_smooth, upsample


def decode_orthonormal(
    X_small: Array,
    samples: SampledNodes,
    features: SampledNodes,
    *,
    n_components: int | None = None,
    radius: float = 0.05,
    coupling: float = 0.1,
    tol: float = 1e-3,
    max_iter: int = 500,
) -> Decoded:
    """``min tr(U^T L U) + coupling dist(M U, ball around U_small)^2  s.t.  U^T U = I`` on each side; ``X = U S V^T``.

    The appendix asks that M U lies in the ball; here leaving it is penalized, see :func:`fit_orthonormal`. The singular
    values S are those of X_small times ``sqrt(n p / (m_samples m_features))``.

    Parameters
    ----------
    X_small, samples, features, n_components
        See :func:`~graphlowrank.decoders.decode_subspace`.
    radius, coupling, tol, max_iter
        See :func:`fit_orthonormal`.
    """
    factors = factorize(X_small, samples, features, n_components)
    values = np.linalg.norm(samples.root_weights()[:, None] * factors.samples, axis=0)
    scores = np.divide(factors.samples, values, out=np.zeros_like(factors.samples), where=values > 0)
    left, right = (
        fit_orthonormal(side, vectors, radius=radius, coupling=coupling, tol=tol, max_iter=max_iter)
        for side, vectors in ((samples, scores), (features, factors.features))
    )
    center = fit_smooth(features, factors.center[:, None], gamma=0.0).X
    scale = values * np.sqrt(len(left.X) * len(right.X) / X_small.size)
    return multiply(
        replace(left, X=left.X * scale.astype(X_small.dtype)),
        replace(right, X=np.column_stack([right.X, center])),
    )


def fit_orthonormal(
    side: SampledNodes,
    values: Array,
    *,
    radius: float = 0.05,
    coupling: float = 0.1,
    tol: float = 1e-3,
    max_iter: int = 500,
) -> Solution:
    """Smoothest orthonormal vectors (n, k) near given ones on the kept nodes.

    Alternates the two steps of the appendix: towards the lowest eigenvectors under orthonormality, and projection on
    the ball around the values. As printed, the first step ignores the data, so a ``coupling`` term is added: with the
    unit Laplacian L,

        ``min_{U, Z}  tr(U^T L U) + coupling ||U - Z||^2   s.t.  U^T U = I,  ||M Z - t|| <= radius ||t||``,

    ``t = sqrt(m / n) values`` being the size that orthonormal vectors on n nodes have on m of them. The step in U is
    the polar factor of ``(lambda_max I - L) U + coupling Z``; neither step can raise the objective.

    Parameters
    ----------
    side, values
        Graph, kept nodes and importance weights; (m, k) vectors, orthonormal under these weights.
    radius, coupling
        Noise allowed in the values, relative to their norm, and the coupling above.
    tol, max_iter
        Stops when the objective falls by less than ``tol``, relative.
    """
    if not 0 <= radius < 1 or coupling <= 0:
        raise ValueError(f"radius must be in [0, 1) and coupling positive, got {radius} and {coupling}.")
    if side.complete:
        return Solution.exact(values)
    graph, keep = side.graph, side.indices
    assert graph is not None
    L = graph.unit_laplacian().astype(np.float64)
    upper = largest_eigenvalue(L)
    target = np.sqrt(len(keep) / graph.n_nodes) * values.astype(np.float64)
    allowed = radius * norm(target)
    U = polar(upsample(graph, keep, target).X)
    history: list[float] = []
    converged = False
    while not converged and len(history) < max_iter:
        Z, away = U.copy(), U[keep] - target
        if (size := norm(away)) > allowed:
            away = away * (allowed / size)
        Z[keep] = target + away
        smooth = L @ U
        history.append(float(np.sum(U * smooth) + coupling * np.sum((U - Z) ** 2)))
        U = polar(upper * U - smooth + coupling * Z)
        converged = len(history) > 1 and history[-2] - history[-1] <= tol * abs(history[-2])
    change = abs(history[-2] - history[-1]) / (abs(history[-2]) or 1.0) if len(history) > 1 else 0.0
    return Solution(U.astype(values.dtype), len(history), converged, change, history).warn_unless_converged(
        "The orthonormal decoder", "raise max_iter or tol"
    )


def polar(X: Array) -> Array:
    """Orthonormal matrix closest to ``X`` (n, k)."""
    left, _, right = np.linalg.svd(X, full_matrices=False)
    return left @ right
