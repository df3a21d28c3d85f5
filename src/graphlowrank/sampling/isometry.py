"""Restricted isometry (Theorem 1): the sample size that guarantees it, and how well a given draw preserves norms."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from .._threads import single_threaded_libraries
from .._typing import Array, RandomState


def required_samples(nu: float, k: int, delta: float, epsilon: float, *, joint: bool = True) -> int:
    """Sample size for which sampling keeps the norm of every k-smooth signal within ``delta``, with high probability.

    ``27 / delta^2 nu^2 log(4 k / epsilon)`` on each of two graphs for matrices (Theorem 1), or
    ``3 / delta^2 nu^2 log(2 k / epsilon)`` on one graph for signals and cluster labels. It may exceed n_nodes.

    Parameters
    ----------
    nu : float
        Cumulative coherence of the graph, see :func:`cumulative_coherence`; sqrt(k) for the optimal distribution.
    k : int
        Number of smooth signals.
    delta : float
        Distortion, between 0 and 1.
    epsilon : float
        Probability of failure, between 0 and 1.
    joint : bool, default=True
        Whether both sides of a matrix are sampled, or one.

    Examples
    --------
    >>> required_samples(nu=10**0.5, k=10, delta=0.5, epsilon=0.1)
    6471
    >>> required_samples(nu=10**0.5, k=10, delta=0.5, epsilon=0.1, joint=False)
    636
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta}.")
    return int(np.ceil(_draws_at_delta_one(nu, k, epsilon, joint=joint) / delta**2))


def promised_delta(nu: float, k: int, n_drawn: int, epsilon: float, *, joint: bool = True) -> float:
    """Distortion guaranteed for ``n_drawn`` draws, the inverse of :func:`required_samples`; 1 guarantees nothing.

    Parameters
    ----------
    nu, k, epsilon, joint : float, int, float, bool
        As in :func:`required_samples`.
    n_drawn : int
        Number of nodes drawn, positive.

    Examples
    --------
    >>> round(promised_delta(nu=10**0.5, k=10, n_drawn=6471, epsilon=0.1), 3)
    0.5
    """
    if n_drawn < 1:
        raise ValueError(f"n_drawn must be positive, got {n_drawn}.")
    return float(np.sqrt(_draws_at_delta_one(nu, k, epsilon, joint=joint) / n_drawn))


def _draws_at_delta_one(nu: float, k: int, epsilon: float, *, joint: bool) -> float:
    if not 0 < epsilon < 1:
        raise ValueError(f"epsilon must lie between 0 and 1, got {epsilon}.")
    if k < 1 or not nu > 0:
        raise ValueError(f"k and nu must be positive, got {k} and {nu}.")
    factor, ways = (27, 4) if joint else (3, 2)
    return factor * nu**2 * float(np.log(ways * k / epsilon))


@dataclass(frozen=True)
class Isometry:
    """Smallest and largest ratio ``(n p / (rho_c rho_r)) ||M Y M||^2 / ||Y||^2`` over matrices Y."""

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


@single_threaded_libraries()
def isometry(basis: Array, indices: Array, weights: Array | None = None) -> Isometry:
    """Exact range of norm ratios over signals on one graph: extreme eigenvalues of ``(n/m) Q^T M^T diag(w) M Q``.

    Parameters
    ----------
    basis : ndarray of shape (n, k)
        Orthonormal basis Q of the signals: first k eigenvectors of the Laplacian.
    indices : ndarray of shape (m,)
        Nodes drawn.
    weights : ndarray of shape (m,) or None, default=None
        Importance weights w of a draw that is not uniform, see :func:`importance_weights`.

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


@single_threaded_libraries()
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

    Examples
    --------
    >>> from graphlowrank.graphs import grid_graph, lowest_eigenpairs
    >>> Q, P = (lowest_eigenpairs(grid_graph((n, n)), 4)[1] for n in (20, 10))
    >>> found = empirical_rip(Q, P, np.arange(0, 400, 3), np.arange(0, 100, 2), random_state=0)
    >>> 0.85 < found.lower < 1 < found.upper < 1.15
    True
    """
    rng = check_random_state(random_state)
    cores = rng.standard_normal((n_members, sample_basis.shape[1], feature_basis.shape[1]))
    # ||A C B^T||^2 = tr(C^T (A^T A) C (B^T B)): the sampled matrices need not be formed.
    left, right = _gram(sample_basis, sample_indices, weights[0]), _gram(feature_basis, feature_indices, weights[1])
    ratios = np.einsum("mij,mij->m", left @ cores @ right, cores) / np.einsum("mij,mij->m", cores, cores)
    return Isometry(float(ratios.min()), float(ratios.max()))


def _gram(basis: Array, indices: Array, weights: Array | None) -> Array:
    """``(n / m) Q^T M^T diag(weights) M Q``."""
    scale = np.full(len(indices), len(basis) / len(indices)) * (1.0 if weights is None else weights)
    sampled = basis[indices] * np.sqrt(scale)[:, None]
    return sampled.T @ sampled
