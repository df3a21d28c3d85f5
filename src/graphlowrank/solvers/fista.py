"""FISTA, the paper's Algorithm 1, for any smooth term plus any proximable one.

With adaptive restart (O'Donoghue and Candès, 2015): momentum is reset where it points uphill. On MNIST this saves a
third of the iterations at the same stopping rule, and ends closer to the optimum.
"""

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple, Protocol

from .._backend import namespace, norm
from .._typing import Array
from .solution import Solution

TINY = 1e-30  # avoids division by zero

Callback = Callable[[int, float], None]


class Advanced(NamedTuple):
    """Result of a step: the next point, its extrapolation, and the numbers that stopping and restart depend on."""

    S: Array
    Z: Array
    moved: float  # ||Z_next - Z||
    size: float  # ||Z||
    uphill: float  # <(Z - S_next) / step, S_next - S>: positive where momentum points uphill


Step = Callable[[Array, Array, float], Advanced]
"""``(S, Z, momentum)``: a proximal gradient step from Z, then extrapolation.

A step owns the arrays it is given and may overwrite them.
"""


class Smooth(Protocol):
    """A differentiable term."""

    def grad(self, X: Array) -> Array:
        """Gradient at X."""


class Proximable(Protocol):
    """A convex term with a proximal map."""

    def prox(self, X: Array, step: Any) -> Array:
        """``argmin_U term(U) + sum (U - X)^2 / (2 step)``; a term of separate entries takes a step for each."""


def proximal_step(smooth: Smooth, nonsmooth: Proximable, step: Any) -> Step:
    """Return the step of Algorithm 1 in plain array operations.

    ``step`` is 1 / Lipschitz constant, or an array of steps for the entries: the reciprocals of a diagonal matrix that
    is at least the Hessian of ``smooth``.
    """

    def advance(S: Array, Z: Array, momentum: float) -> Advanced:
        S_next = nonsmooth.prox(Z - step * smooth.grad(Z), step)
        forward = S_next - S
        Z_next = S_next + momentum * forward
        uphill = float(namespace(Z).sum((Z - S_next) * forward / step))
        return Advanced(S_next, Z_next, norm(Z_next - Z), norm(Z), uphill)

    return advance


def fista(
    step: Step,
    X0: Array,
    *,
    tol: float,
    max_iter: int,
    size: float | None = None,
    restart: bool = True,
    objective: Callable[[Array], float] | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Minimize smooth + nonsmooth by accelerated proximal gradient steps from ``X0``.

    Parameters
    ----------
    step
        From :func:`proximal_step`, or a faster function with the same contract.
    X0
        Initial point; not written to.
    tol, max_iter, size
        Stop when the extrapolated point moves by less than ``tol`` relative to its norm, that is
        ``||Z_{j+1} - Z_j||^2 < tol^2 ||Z_j||^2``, or relative to ``size`` if that is smaller; and the iterations
        allowed. After a restart the change is multiplied until momentum is back: steps without momentum are short, also
        far from the minimum.
    restart
        Whether to reset the momentum where it points uphill; Algorithm 1 as printed does not.
    objective, callback
        Evaluated and recorded after each iteration; called with (iteration, relative change).
    """
    S, Z, t = X0 + 0, X0 + 0, 1.0
    values: list[float] = []
    change, lost, n_iter = float("inf"), 0.0, 0  # lost: the momentum before the last restart
    while n_iter < max_iter and not change < tol:
        t_next = (1 + sqrt(1 + 4 * t * t)) / 2
        momentum = (t - 1) / t_next
        S, Z, moved, norm_z, uphill = step(S, Z, momentum)
        change = moved / max(norm_z if size is None else min(norm_z, size), TINY)
        change *= max(1.0, (1 - momentum) / (1 - lost))  # momentum makes steps so much longer
        t, n_iter = t_next, n_iter + 1
        if restart and uphill > 0:
            Z, t, lost = S + 0, 1.0, momentum
        if objective is not None:
            values.append(objective(S))
        if callback is not None:
            callback(n_iter, change)
    return Solution(S, n_iter, converged=change < tol, residual=change, objective=values)
