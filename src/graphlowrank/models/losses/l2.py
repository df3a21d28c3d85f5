"""Squared loss."""

from __future__ import annotations

from typing import Any

from ..._backend import Array, namespace
from .base import Loss


class L2(Loss):
    """``r^2``: for small dense noise."""

    name = "l2"
    kernel = 1
    quadratic = True

    def value(self, residual: Array) -> Array:
        """``r^2``."""
        return residual * residual

    def prox(self, X: Array, Y: Array, step: Any) -> Array:
        """``(X + 2 step Y) / (1 + 2 step)``."""
        pull = 2 * step
        return (X + pull * Y) / (1 + pull)

    def irls_weight(self, size: Array) -> Array:
        """1."""
        return namespace(size).ones_like(size)
