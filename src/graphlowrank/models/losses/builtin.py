"""The losses that come with the library."""

from typing import Any

from ..._backend import namespace
from ..._typing import Array
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
        size, delta = xp.abs(residual), self._delta_of(residual)
        return xp.where(size <= delta, size * size / (2 * delta), size - delta / 2)

    def prox(self, X: Array, Y: Array, step: Any) -> Array:
        """Shrink small residuals by delta / (delta + step), large ones by step."""
        xp, delta = namespace(X), self._delta_of(X)
        residual = X - Y
        inside = residual * (delta / (delta + step))
        return Y + xp.where(xp.abs(inside) <= delta, inside, soft_threshold(residual, step))

    def irls_weight(self, size: Array) -> Array:
        """``min(1, delta / |r|)``."""
        delta = self._delta_of(size)
        return delta / namespace(size).maximum(size, delta)

    def _delta_of(self, X: Array) -> float:
        """Return delta within the range of the numbers of X."""
        return min(self.delta, float(namespace(X).finfo(X.dtype).max) / 4)


def soft_threshold(X: Array, threshold: Any) -> Array:
    """``sign(X) max(|X| - threshold, 0)``."""
    return X - namespace(X).clip(X, -threshold, threshold)
