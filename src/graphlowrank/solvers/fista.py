"""FISTA, the paper's Algorithm 1, for any smooth term plus any proximable one."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Protocol

from .._backend import Array, norm
from ..solution import Solution

TINY = 1e-30

Callback = Callable[[int, float], None]

Step = Callable[[Array, Array, float], tuple[Array, Array, float, float]]
"""``(S, Z, momentum) -> (S_next, Z_next, ||Z_next - Z||, ||Z||)``: a proximal gradient step from Z, then extrapolation.

A step owns the arrays it is given and may overwrite them.
"""


class Smooth(Protocol):
    """A differentiable term."""

    def value(self, X: Array) -> float:
        """Value at X."""

    def grad(self, X: Array) -> Array:
        """Gradient at X."""


class Proximable(Protocol):
    """A convex term with a proximal map."""

    def value(self, X: Array) -> float:
        """Value at X."""

    def prox(self, X: Array, step: float) -> Array:
        """``argmin_U value(U) + ||U - X||^2 / (2 step)``."""


def proximal_step(smooth: Smooth, nonsmooth: Proximable, step: float) -> Step:
    """Make the step of Algorithm 1 in plain array operations, for ``step`` = 1 / Lipschitz constant."""

    def advance(S: Array, Z: Array, momentum: float) -> tuple[Array, Array, float, float]:
        S_next = nonsmooth.prox(Z - step * smooth.grad(Z), step)
        Z_next = S_next + momentum * (S_next - S)
        return S_next, Z_next, norm(Z_next - Z), norm(Z)

    return advance


def fista(
    step: Step,
    X0: Array,
    *,
    tol: float,
    max_iter: int,
    size: float | None = None,
    objective: Callable[[Array], float] | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Minimise smooth + nonsmooth by accelerated proximal gradient steps from ``X0``.

    Stops when the extrapolated point moves by less than ``tol`` relative to its norm, that is
    ``||Z_{j+1} - Z_j||^2 < tol^2 ||Z_j||^2``, or relative to ``size`` if given.

    Parameters
    ----------
    step
        From :func:`proximal_step`, or a faster function with the same contract.
    X0
        First point; not written to.
    tol, max_iter, size
        Stopping rule.
    objective
        Evaluated and recorded after each iteration if given.
    callback
        Called with (iteration, relative change).
    """
    S, Z, t = X0 + 0, X0 + 0, 1.0
    values: list[float] = []
    change, n_iter = float("inf"), 0
    while n_iter < max_iter and not change < tol:
        t_next = (1 + sqrt(1 + 4 * t * t)) / 2
        S, Z, moved, length = step(S, Z, (t - 1) / t_next)
        change = moved / max(length if size is None else size, TINY)
        t, n_iter = t_next, n_iter + 1
        if objective is not None:
            values.append(objective(S))
        if callback is not None:
            callback(n_iter, change)
    return Solution(S, n_iter, converged=change < tol, residual=change, objective=values)
