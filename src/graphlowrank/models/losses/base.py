"""What a loss has to offer, and the data-fit term made of one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from ..._backend import namespace
from ..._typing import Array


class Loss(ABC):
    """A convex, even loss of a residual, entry by entry.

    ``delta`` scales the residual, in the units of the data, for losses that have one (``huber_delta``).
    """

    name: ClassVar[str]
    """Value of the option ``loss``."""
    kernel: ClassVar[int | None] = None
    """Code of the loop in :mod:`graphlowrank.kernels.fista_step`; None runs the solver in plain array operations."""
    quadratic: bool = False
    """Whether the IRLS weight is constant, so that one least-squares fit is the answer."""
    singular: bool = False
    """Whether the IRLS weight is infinite at residual 0; regression then bounds residuals from below."""
    huber_delta: float | None = None
    """Huber threshold of the compiled IRLS loop; None if the loss has no compiled IRLS loop."""

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = delta

    @abstractmethod
    def value(self, residual: Array) -> Array:
        """Loss of each entry."""

    @abstractmethod
    def prox(self, X: Array, Y: Array, step: Any) -> Array:
        """``argmin_U step loss(U - Y) + (U - X)^2 / 2`` entry by entry; ``step`` >= 0 may be an array."""

    @abstractmethod
    def irls_weight(self, size: Array) -> Array:
        """``loss'(r) / r`` for residuals of absolute value ``size``, scaled to 1 at 0 where that is finite."""


@dataclass(frozen=True, eq=False)
class DataFit:
    """``sum_ij w_ij loss(X_ij - Y_ij)`` for data Y, as a term of an objective.

    The weights w >= 0 are a number, or broadcast against Y. An entry of weight 0 is missing: it costs nothing and its
    prox is the identity, whatever finite number Y holds there.
    """

    loss: Loss
    Y: Array
    weights: Any = 1.0

    def value(self, X: Array) -> float:
        """Value at X."""
        return float(namespace(X).sum(self.weights * self.loss.value(X - self.Y)))

    def prox(self, X: Array, step: Any) -> Array:
        """Proximal map of ``step`` times the term; each entry may have a step."""
        return self.loss.prox(X, self.Y, self.weights * step)
