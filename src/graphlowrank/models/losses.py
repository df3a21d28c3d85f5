"""Data-fit terms: how far the low-rank matrix may be from the data, entry by entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .._backend import Array, namespace

LossName = Literal["l1", "l2", "huber"]


@dataclass(frozen=True, eq=False)
class L1Fit:
    """``sum |X - Y|``: indifferent to the size of gross errors."""

    Y: Array

    def value(self, X: Array) -> float:
        """Value at X."""
        xp = namespace(X)
        return float(xp.sum(xp.abs(X - self.Y)))

    def prox(self, X: Array, step: float) -> Array:
        """``Y + soft(X - Y, step)``."""
        return self.Y + soft_threshold(X - self.Y, step)


@dataclass(frozen=True, eq=False)
class L2Fit:
    """``sum (X - Y)^2``: for small dense noise."""

    Y: Array

    def value(self, X: Array) -> float:
        """Value at X."""
        difference = X - self.Y
        return float(namespace(X).sum(difference * difference))

    def prox(self, X: Array, step: float) -> Array:
        """``(X + 2 step Y) / (1 + 2 step)``."""
        return (X + 2 * step * self.Y) / (1 + 2 * step)


@dataclass(frozen=True, eq=False)
class HuberFit:
    """``sum h(X - Y)`` with ``h(r) = r^2 / (2 delta)`` for ``|r| <= delta``, ``|r| - delta / 2`` beyond."""

    Y: Array
    delta: float = 1.0

    def value(self, X: Array) -> float:
        """Value at X."""
        xp = namespace(X)
        size = xp.abs(X - self.Y)
        return float(xp.sum(xp.where(size <= self.delta, size * size / (2 * self.delta), size - self.delta / 2)))

    def prox(self, X: Array, step: float) -> Array:
        """Shrink small residuals by delta / (delta + step), large ones by step."""
        xp = namespace(X)
        residual = X - self.Y
        inside = residual * (self.delta / (self.delta + step))
        return self.Y + xp.where(xp.abs(inside) <= self.delta, inside, soft_threshold(residual, step))


def soft_threshold(X: Array, threshold: float) -> Array:
    """``sign(X) max(|X| - threshold, 0)``."""
    xp = namespace(X)
    return X - xp.clip(X, -threshold, threshold)


def make_loss(name: LossName, Y: Array, huber_delta: float = 1.0) -> L1Fit | L2Fit | HuberFit:
    """Data-fit term called ``name`` around the data ``Y``."""
    if name == "l1":
        return L1Fit(Y)
    if name == "l2":
        return L2Fit(Y)
    if name == "huber":
        if huber_delta <= 0:
            raise ValueError(f"huber_delta must be positive, got {huber_delta}.")
        return HuberFit(Y, huber_delta)
    raise ValueError(f"loss must be 'l1', 'l2' or 'huber', got {name!r}.")
