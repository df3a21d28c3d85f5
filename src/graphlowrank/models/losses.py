"""Data-fit terms: how far the low-rank matrix may be from the data, entry by entry.

Each entry may have a weight w >= 0: a number, or anything that broadcasts against the data. Where it is zero the entry
is missing: it costs nothing and its prox is the identity, whatever finite number the data hold there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._backend import Array, namespace
from .._literals import LossName


@dataclass(frozen=True, eq=False)
class L1Fit:
    """``sum w |X - Y|``: indifferent to the size of gross errors."""

    Y: Array
    weights: Any = 1.0

    def value(self, X: Array) -> float:
        """Value at X."""
        xp = namespace(X)
        return float(xp.sum(self.weights * xp.abs(X - self.Y)))

    def prox(self, X: Array, step: float) -> Array:
        """``Y + soft(X - Y, w step)``."""
        return self.Y + soft_threshold(X - self.Y, self.weights * step)


@dataclass(frozen=True, eq=False)
class L2Fit:
    """``sum w (X - Y)^2``: for small dense noise."""

    Y: Array
    weights: Any = 1.0

    def value(self, X: Array) -> float:
        """Value at X."""
        difference = X - self.Y
        return float(namespace(X).sum(self.weights * difference * difference))

    def prox(self, X: Array, step: float) -> Array:
        """``(X + 2 w step Y) / (1 + 2 w step)``."""
        pull = self.weights * (2 * step)
        return (X + pull * self.Y) / (1 + pull)


@dataclass(frozen=True, eq=False)
class HuberFit:
    """``sum w h(X - Y)`` with ``h(r) = r^2 / (2 delta)`` for ``|r| <= delta``, ``|r| - delta / 2`` beyond."""

    Y: Array
    delta: float = 1.0
    weights: Any = 1.0

    def value(self, X: Array) -> float:
        """Value at X."""
        xp = namespace(X)
        size = xp.abs(X - self.Y)
        loss = xp.where(size <= self.delta, size * size / (2 * self.delta), size - self.delta / 2)
        return float(xp.sum(self.weights * loss))

    def prox(self, X: Array, step: float) -> Array:
        """Shrink small residuals by delta / (delta + w step), large ones by w step."""
        xp = namespace(X)
        residual = X - self.Y
        threshold = self.weights * step
        inside = residual * (self.delta / (self.delta + threshold))
        return self.Y + xp.where(xp.abs(inside) <= self.delta, inside, soft_threshold(residual, threshold))


def soft_threshold(X: Array, threshold: Any) -> Array:
    """``sign(X) max(|X| - threshold, 0)``."""
    xp = namespace(X)
    return X - xp.clip(X, -threshold, threshold)


def make_loss(name: LossName, Y: Array, huber_delta: float = 1.0, weights: Any = 1.0) -> L1Fit | L2Fit | HuberFit:
    """Data-fit term called ``name`` around the data ``Y``, each entry weighted by ``weights``."""
    if name == "l1":
        return L1Fit(Y, weights)
    if name == "l2":
        return L2Fit(Y, weights)
    if name == "huber":
        if huber_delta <= 0:
            raise ValueError(f"huber_delta must be positive, got {huber_delta}.")
        return HuberFit(Y, huber_delta, weights)
    raise ValueError(f"loss must be 'l1', 'l2' or 'huber', got {name!r}.")
