"""Absolute loss."""

from __future__ import annotations

from typing import Any

from ..._backend import Array, namespace
from .base import Loss


class L1(Loss):
    """``|r|``: the size of an outlier does not matter."""

    name = "l1"
    kernel = 0
    singular = True

    def value(self, residual: Array) -> Array:
        """``|r|``."""
        return namespace(residual).abs(residual)

    def prox(self, X: Array, Y: Array, step: Any) -> Array:
        """``Y + soft(X - Y, step)``."""
        return Y + soft_threshold(X - Y, step)

    def irls_weight(self, size: Array) -> Array:
        """``1 / |r|``."""
        return 1 / size


def soft_threshold(X: Array, threshold: Any) -> Array:
    """``sign(X) max(|X| - threshold, 0)``."""
    return X - namespace(X).clip(X, -threshold, threshold)
