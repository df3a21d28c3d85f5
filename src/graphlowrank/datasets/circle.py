"""A curve that no linear subspace of its dimension holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._backend import Array

# Two directions of the plane x + y + z = 0: the circle lies askew, so that every coordinate sees as much of it.
PLANE = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]]) / np.sqrt([[2.0], [6.0]])


@dataclass(frozen=True, eq=False)
class NoisyCircle:
    """Answer of :func:`make_noisy_circle`.

    Attributes
    ----------
    X
        (n_samples, 3) noisy points.
    X_true
        The same points on the circle of radius 1.
    angles
        (n_samples,) where on the circle, between 0 and 2 pi.
    """

    X: Array
    X_true: Array
    angles: Array


def make_noisy_circle(n_samples: int = 500, *, noise: float = 0.1, random_state: Any = None) -> NoisyCircle:
    """Random points of a circle in space, with noise: the first figure of the paper.

    The circle is one-dimensional, yet spans a plane: principal components keep the plane and the noise in it, while
    the smoothest signals of the graph between the points follow the circle.

    Parameters
    ----------
    n_samples
        Number of points.
    noise
        Standard deviation of the normal noise on each coordinate; the radius is 1.
    random_state
        Seed.

    Examples
    --------
    >>> circle = make_noisy_circle(100, noise=0.1, random_state=0)
    >>> np.allclose(np.linalg.norm(circle.X_true, axis=1), 1)
    True
    """
    if n_samples < 1:
        raise ValueError(f"n_samples must be positive, got {n_samples}.")
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise must be a number >= 0, got {noise}.")
    rng = check_random_state(random_state)
    angles = 2 * np.pi * rng.random_sample(n_samples)
    X_true = np.column_stack([np.cos(angles), np.sin(angles)]) @ PLANE
    return NoisyCircle(X_true + noise * rng.standard_normal(X_true.shape), X_true, angles)
