"""Conjugate gradients for quadratic problems, optionally with non-negative unknowns."""

from collections.abc import Callable

import numpy as np

from .._typing import Array
from .solution import Solution

PROPORTION = 1.0  # ratio of free to chopped gradient below which zeros are freed before CG continues
ROUNDING = 1e-12  # of the norm; smaller curvature counts as zero


def bounded_cg(
    apply: Callable[[Array], Array],
    b: Array,
    x0: Array,
    *,
    norm: float,
    nonnegative: bool = False,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> Solution:
    """``argmin x^T H x / 2 - b^T x``, over all x or over x >= 0, for a symmetric positive semi-definite H.

    Without the bound: conjugate gradients. With it: the modified proportioning of Dostál and Schöberl (2005), conjugate
    gradients on the non-zero entries, and a step along the chopped gradient, which frees zeros, where that dominates. A
    step that would make entries negative is projected (Kružík et al. 2020: a third of the iterations on images), or, if
    that lowers the objective more, ends at the first zero and is followed by a projected gradient step. The objective
    never increases.

    Parameters
    ----------
    apply, norm
        ``H @ x``, and an upper bound of the largest eigenvalue of H: the step of the projected gradient is 1 / norm.
    b, x0
        (n,) right-hand side and initial guess, which is projected if there is a bound.
    nonnegative
        Whether x >= 0.
    tol, max_iter
        Stop when the norm of the projected gradient, which vanishes at the solution and is the ``residual`` returned,
        is below ``tol ||b||``; and the products with H allowed.
    """
    lower = 0.0 if nonnegative else -np.inf
    x = np.maximum(x0, lower)
    gradient = apply(x) - b
    length = float(np.linalg.norm(b)) or 1.0
    history, n_iter = [0.5 * float(x @ (gradient - b))], 1
    free = np.where(x > lower, gradient, 0)
    p = free.copy()
    while True:
        chopped = np.where(x > lower, 0, np.minimum(gradient, 0))
        residual = float(np.sqrt(free @ free + chopped @ chopped)) / length
        if residual <= tol or n_iter >= max_iter:
            return Solution(x, n_iter, residual <= tol, residual, history)
        stuck = chopped @ chopped > PROPORTION**2 * (free @ free)
        direction = chopped if stuck else p
        Hp = apply(direction)
        n_iter += 1
        curvature = float(direction @ Hp)
        if curvature <= ROUNDING * norm * float(direction @ direction):  # flat direction
            return Solution(x, n_iter, residual <= tol, residual, history)
        step = float(gradient @ direction) / curvature
        falling = direction > 0
        longest = float(np.min((x[falling] - lower) / direction[falling], initial=np.inf))
        if step <= longest:
            x = np.maximum(x - step * direction, lower)
            gradient = gradient - step * Hp
            free = np.where(x > lower, gradient, 0)
            p = free.copy() if stuck else free - float(free @ Hp) / curvature * p
        else:
            ahead = np.maximum(x - step * direction, lower)
            slope = apply(ahead) - b
            n_iter += 1
            at_the_bound = longest * (float(gradient @ direction) - 0.5 * longest * curvature)
            if 0.5 * float((x - ahead) @ (gradient + slope)) >= at_the_bound:  # decrease of the objective
                x, gradient = ahead, slope
            else:
                x = x - longest * direction
                gradient = gradient - longest * Hp
                x = np.maximum(x - np.where(x > lower, gradient, 0) / norm, lower)
                gradient = apply(x) - b
                n_iter += 1
            free = np.where(x > lower, gradient, 0)
            p = free.copy()
        history.append(0.5 * float(x @ (gradient - b)))
