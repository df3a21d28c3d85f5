"""Sample sizes that guarantee the restricted isometry, and the distortion that a sample size guarantees."""

from __future__ import annotations

import numpy as np


def required_samples(nu: float, k: int, delta: float, epsilon: float, *, joint: bool = True) -> int:
    """Sample size for which sampling keeps the norm of every k-smooth signal within ``delta``, with high probability.

    ``27 / delta^2 nu^2 log(4 k / epsilon)`` on each of two graphs for matrices (Theorem 1), or
    ``3 / delta^2 nu^2 log(2 k / epsilon)`` on one graph for signals and cluster labels.

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

    Returns
    -------
    int
        Number of nodes to draw; it may exceed the number of nodes.

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
    """Distortion guaranteed for ``n_drawn`` draws, the inverse of :func:`required_samples`.

    Parameters
    ----------
    nu, k, epsilon, joint
        As in :func:`required_samples`.
    n_drawn : int
        Number of nodes drawn.

    Returns
    -------
    float
        Distortion delta; 1 or more guarantees nothing.

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
