"""ADMM (alternating direction method of multipliers) for a sum of terms that are known by their proximal maps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .._typing import Array
from .fista import Callback

RELAXATION = 1.6  # over-relaxation (Boyd et al. 2011, section 3.4.3): a third fewer iterations
# Balancing of the penalty (section 3.4.1). It ends, since a penalty that changed for ever might never converge.
BALANCED_EVERY, BALANCED_UNTIL = 10, 300  # iterations
UNBALANCED = 4.0  # ratio of the residuals that changes the penalty

Prox = Callable[[Array, float], Array]
"""``(V, step)``: ``argmin_U term(U) + ||U - V||^2 / (2 step)``."""


@dataclass(frozen=True, eq=False)
class ADMMState:
    """Iterates of :func:`admm`: the solution, and what is needed to continue."""

    X: Array
    copies: tuple[Array, ...]  # of X, one for each of the other terms
    duals: tuple[Array, ...]  # scaled multipliers of X = copy; the multipliers are penalty * dual
    penalty: float
    n_iter: int = 0
    converged: bool = False
    residual: float = float("inf")


def admm(
    first: Prox,
    others: Sequence[Prox],
    start: ADMMState,
    *,
    size: float,
    tol: float,
    max_iter: int,
    balance: bool = False,
    exact: Callable[[], bool] = lambda: True,
    callback: Callback | None = None,
) -> ADMMState:
    """``argmin_X first(X) + sum_i others_i(X)``, each term with a copy of X of its own.

    A step is, with penalty rho, copies Z_i and scaled multipliers Y_i ::

        X   = first.prox(mean_i(Z_i - Y_i), 1 / (m rho))        m copies
        V_i = relaxed X + Y_i
        Z_i = others_i.prox(V_i, 1 / rho)
        Y_i = V_i - Z_i

    There are two blocks, X and the copies, so it converges for any penalty.

    Stops when both ``sum_i ||X - Z_i||`` and the change of the copies are below ``tol size``, if the last prox of
    ``first`` was ``exact``. ``balance`` adapts the penalty to the ratio of these two.
    """
    X, copies, duals, penalty = start.X, list(start.copies), list(start.duals), start.penalty
    n_iter, residual = 0, float("inf")
    while n_iter < max_iter and not residual < tol:
        target = copies[0] - duals[0]
        for copy, dual in zip(copies[1:], duals[1:], strict=True):
            target += copy
            target -= dual
        if len(copies) > 1:
            target /= len(copies)
        X = first(target, 1 / (len(copies) * penalty))
        apart = moved = 0.0
        for i, prox in enumerate(others):
            ahead = RELAXATION * X + (1 - RELAXATION) * copies[i] + duals[i]
            copy = prox(ahead, 1 / penalty)
            duals[i] = ahead - copy
            apart += float(np.linalg.norm(X - copy))
            moved += float(np.linalg.norm(copy - copies[i]))
            copies[i] = copy
        residual, n_iter = max(apart, moved) / size if exact() else float("inf"), n_iter + 1
        if callback is not None:
            callback(n_iter, residual)
        if balance and n_iter % BALANCED_EVERY == 0 and n_iter <= BALANCED_UNTIL and not residual < tol:
            factor = 2.0 if apart > UNBALANCED * moved else 0.5 if moved > UNBALANCED * apart else 1.0
            penalty, duals = penalty * factor, [dual / factor for dual in duals]
    return ADMMState(X, tuple(copies), tuple(duals), penalty, n_iter, residual < tol, residual)
