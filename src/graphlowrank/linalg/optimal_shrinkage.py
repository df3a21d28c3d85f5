"""Optimal shrinkage of singular values: the best spectral estimate of a matrix under white noise.

The singular values of a noisy matrix are those of the signal, inflated, and a bulk that follows the Marchenko-Pastur
law. The shrinker of Gavish and Donoho (2017, "Optimal shrinkage of singular values", eq. 7) undoes the inflation and
sets the bulk to zero. No rank is chosen: weak factors are shrunk more than strong ones.
"""

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from .products import product
from .svd import leading_svd

QUANTILES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)  # of the singular values; the upper half is signal
GRID = 4000  # points of the Marchenko-Pastur density
MIN_SHARE = 1e-7  # of the first: smaller singular values are rounding errors


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Singular triplets of a centered matrix, ``X = left diag(values) right^T + mean``."""

    left: Array  # (n, q)
    values: Array  # (q,) in decreasing order
    right: Array  # (p, q)
    mean: Array  # (p,)

    @classmethod
    def of(cls, X: Array) -> "Spectrum":
        """All triplets of a matrix without missing values."""
        mean = X.mean(axis=0)
        return cls(*leading_svd(X - mean, min(X.shape), gram_up_to=min(X.shape)), mean)

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix; centering takes one degree of freedom from the samples."""
        return max(len(self.left) - 1, 1), len(self.right)

    def noise(self, n_constant: int = 0) -> float:
        """Return the standard deviation of white noise that the smaller half of the singular values allows for.

        Each quantile is compared with that of the Marchenko-Pastur law, and the lowest ratio is returned: signal can
        only raise singular values. It is an upper estimate, exact if the signal has low rank. ``n_constant`` features
        are constant and have no noise.
        """
        n, p = self.shape
        p -= n_constant
        if p < 1:
            return 0.0
        values = self.values[: min(n, p)]
        expected = np.sqrt(marchenko_pastur_quantiles(min(n, p) / max(n, p), np.array(QUANTILES)) * max(n, p))
        return float(np.min(np.quantile(values, QUANTILES) / expected))

    def shrunk(self, noise: float) -> "Spectrum":
        """Best estimate of the matrix under white noise of this standard deviation; factors that vanish are left out.

        Without noise it is the matrix itself.
        """
        values = optimal_values(self.values, noise, self.shape)
        kept = values > MIN_SHARE * values.max(initial=0.0)
        return Spectrum(self.left[:, kept], values[kept].astype(self.values.dtype), self.right[:, kept], self.mean)

    def leading(self, squares: float) -> "Spectrum":
        """Leave out the last factors, as long as their squared values add up to no more than ``squares``."""
        k = n_leading(self.values, squares)
        return Spectrum(self.left[:, :k], self.values[:k], self.right[:, :k], self.mean)

    def matrix(self) -> Array:
        """Return the (n, p) matrix."""
        return product(self.left * self.values, np.ascontiguousarray(self.right.T)) + self.mean

    def own_weight(self, noise: float) -> float:
        """Mean derivative of an entry of :meth:`shrunk` by the same entry of the matrix (Candès et al. 2013, eq. 9).

        It is the share of its own noise that an entry keeps.
        """
        s, (n, p) = self.values.astype(np.float64), self.shape
        s = s[: min(n, p)]
        f, slope = optimal_values(s, noise, self.shape), _slopes(s, noise, self.shape)
        positive = s > MIN_SHARE * s.max(initial=0.0)
        ratio = np.divide(f, s, out=np.ones_like(s), where=positive)
        squares = np.subtract.outer(s**2, s**2)
        distinct = np.abs(squares) > np.finfo(np.float64).eps * s.max(initial=0.0) ** 2
        pairs = np.divide(np.subtract.outer(s * f, s * f), squares, out=np.zeros_like(squares), where=distinct)
        # Equal values: the limit of (s f(s) - t f(t)) / (s^2 - t^2) for t -> s.
        limits = np.where(distinct, pairs, (ratio + slope)[:, None] / 2)
        np.fill_diagonal(limits, 0.0)
        total = slope.sum() + abs(n - p) * ratio.sum() + limits.sum()
        return float(min(total / (n * p), 1.0))


def n_leading(values: Array, squares: float) -> int:
    """Count the values, in decreasing order, without the last ones whose squares add up to no more than ``squares``."""
    tail = np.cumsum(np.square(values[::-1], dtype=np.float64))[::-1]
    return int(np.count_nonzero(tail > squares))


def optimal_values(values: Array, noise: float, shape: tuple[int, int]) -> Array:
    """Shrink singular values of a matrix with white noise, for the least squared error of the matrix."""
    longer = max(shape)
    unit = noise * longer**0.5
    if not unit > np.finfo(np.float64).tiny:
        return np.asarray(values, dtype=np.float64)
    beta, y = min(shape) / longer, np.asarray(values, dtype=np.float64) / unit
    squares = np.maximum((y**2 - beta - 1) ** 2 - 4 * beta, 0.0)
    return np.where(y > 1 + beta**0.5, np.sqrt(squares) / np.maximum(y, 1.0), 0.0) * unit


def _slopes(values: Array, noise: float, shape: tuple[int, int]) -> Array:
    """Return the derivative of :func:`optimal_values`."""
    longer = max(shape)
    unit = noise * longer**0.5
    if not unit > np.finfo(np.float64).tiny:
        return np.ones_like(values)
    beta, y = min(shape) / longer, values / unit
    above = y > (1 + beta**0.5) * (1 + 1e-9)
    y = np.where(above, y, 2 + beta)
    root = np.sqrt((y**2 - beta - 1) ** 2 - 4 * beta)
    return np.where(above, 2 * (y**2 - beta - 1) / root - root / y**2, 0.0)


def marchenko_pastur_quantiles(beta: float, shares: Array) -> Array:
    """Quantiles of the eigenvalues of ``Z^T Z / n`` for white noise Z (n, beta n) of variance 1."""
    low, high = (1 - beta**0.5) ** 2, (1 + beta**0.5) ** 2
    # Equidistant angles resolve both edges of the density, where it has the slope of a root.
    angles = (np.arange(GRID) + 0.5) * np.pi / GRID
    x = (low + high) / 2 - (high - low) / 2 * np.cos(angles)
    mass = np.sin(angles) ** 2 / x
    cumulative = np.cumsum(mass) - mass / 2
    return np.interp(shares, cumulative / mass.sum(), x)
