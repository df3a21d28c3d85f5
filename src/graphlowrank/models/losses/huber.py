"""Huber's loss."""

from __future__ import annotations

from typing import Any

from ..._backend import Array, namespace
from .base import Loss
from .l1 import soft_threshold


class Huber(Loss):
    """``r^2 / (2 delta)`` for ``|r| <= delta``, ``|r| - delta / 2`` beyond: noise and outliers."""

    name = "huber"
    kernel = 2

    def __init__(self, delta: float = 1.0) -> None:
        if not 0 < delta < float("inf"):
            raise ValueError(f"huber_delta must be positive, got {delta}.")
        super().__init__(delta)
        self.huber_delta = delta

    def value(self, residual: Array) -> Array:
        """Loss of each entry."""
        xp = namespace(residual)
        size = xp.abs(residual)
        return xp.where(size <= self.delta, size * size / (2 * self.delta), size - self.delta / 2)

    def prox(self, X: Array, Y: Array, step: Any) -> Array:
        """Shrink small residuals by delta / (delta + step), large ones by step."""
        xp = namespace(X)
        residual = X - Y
        inside = residual * (self.delta / (self.delta + step))
        return Y + xp.where(xp.abs(inside) <= self.delta, inside, soft_threshold(residual, step))

    def irls_weight(self, size: Array) -> Array:
        """``min(1, delta / |r|)``."""
        return self.delta / namespace(size).maximum(size, self.delta)
