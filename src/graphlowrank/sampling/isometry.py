"""Restricted isometry (Theorem 1) of a given draw: how well it preserves norms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from .._backend import Array
from .._typing import RandomState


@dataclass(frozen=True)
class Isometry:
    """Range of ``(n p / (rho_c rho_r)) ||M Y M||^2 / ||Y||^2`` over matrices Y.

    Attributes
    ----------
    lower, upper : float
        Smallest and largest ratio.
    """

    lower: float
    upper: float

    @property
    def delta(self) -> float:
        """Distortion: both ratios lie within 1 +- delta."""
        return max(1 - self.lower, self.upper - 1)

    @property
    def delta_below(self) -> float:
        """Lower half of the distortion, all that bounds of decoders need: ratios are at least 1 - delta."""
        return max(1 - self.lower, 0.0)


def isometry(basis: Array, indices: Array, weights: Array | None = None) -> Isometry:
    """Exact range of norm ratios over all signals in the span of an orthonormal basis, on one graph.

    These are the extreme eigenvalues of ``(n / m) Q_k^T M^T diag(weights) M Q_k``.

    Parameters
    ----------
    basis : ndarray of shape (n, k)
        First k eigenvectors of the Laplacian.
    indices : ndarray of shape (m,)
        Nodes drawn.
    weights : ndarray of shape (m,) or None, default=None
        Importance weights of a draw that is not uniform, see :func:`importance_weights`.

    Examples
    --------
    >>> isometry(np.full((4, 1), 0.5), np.array([0, 3])).delta
    0.0
    """
    part = basis[indices] if weights is None else basis[indices] * np.sqrt(weights)[:, None]
    values = np.linalg.eigvalsh(part.T @ part) * (len(basis) / len(indices))
    return Isometry(float(max(values[0], 0.0)), float(values[-1]))


def joint_isometry(samples: Isometry, features: Isometry) -> Isometry:
    """Exact range over LR(P_k, Q_k), the matrices that are low-rank on two graphs: the ratios of the sides multiply."""
    return Isometry(samples.lower * features.lower, samples.upper * features.upper)


def empirical_rip(
    sample_basis: Array,
    feature_basis: Array,
    sample_indices: Array,
    feature_indices: Array,
    *,
    weights: tuple[Array | None, Array | None] = (None, None),
    n_members: int = 100,
    random_state: RandomState = None,
) -> Isometry:
    """Range of norm ratios over random members ``Q C P^T`` (C normal) of LR(P_k, Q_k): the typical distortion.

    The worst case over all members is :func:`joint_isometry`, which contains this range.

    Parameters
    ----------
    sample_basis, feature_basis : ndarrays of shape (n, k_samples) and (p, k_features)
        First eigenvectors of the two Laplacians.
    sample_indices, feature_indices : ndarrays of int
        Nodes drawn on each side.
    weights : pair of ndarray or None, default=(None, None)
        Importance weights of each side; None for uniform draws.
    n_members : int, default=100
        Number of random matrices.
    random_state : int, RandomState or None, default=None
        Random seed.

    Examples
    --------
    >>> import numpy as np
    >>> from graphlowrank.graphs import grid_graph, lowest_eigenpairs
    >>> Q, P = (lowest_eigenpairs(grid_graph((n, n)), 4)[1] for n in (20, 10))
    >>> found = empirical_rip(Q, P, np.arange(0, 400, 3), np.arange(0, 100, 2), random_state=0)
    >>> 0.85 < found.lower < 1 < found.upper < 1.15
    True
    """
    rng = check_random_state(random_state)
    cores = rng.standard_normal((n_members, sample_basis.shape[1], feature_basis.shape[1]))
    sides = []
    for basis, indices, side_weights in zip(
        (sample_basis, feature_basis), (sample_indices, feature_indices), weights, strict=True
    ):
        scale = np.full(len(indices), len(basis) / len(indices))
        if side_weights is not None:
            scale = scale * side_weights
        sides.append(basis[indices] * np.sqrt(scale)[:, None])
    # ||A C B^T||^2 = tr(C^T (A^T A) C (B^T B)): the sampled matrices need not be formed.
    gram_samples, gram_features = (side.T @ side for side in sides)
    kept = np.einsum("mij,mij->m", gram_samples @ cores @ gram_features, cores)
    ratios = kept / np.einsum("mij,mij->m", cores, cores)
    return Isometry(float(ratios.min()), float(ratios.max()))
