"""Steps of the interior-point method for least absolute deviations, over the entries of a block of rows.

A state is five arrays (n, q): ``seen`` (1, or 0 where an entry is missing), the slacks ``upper = 1 - d`` and
``lower = 1 + d`` of the dual d, and their multipliers ``above`` and ``below``, whose difference is the residual r. At
missing entries ``q`` is 0, so that nothing there moves. See :mod:`graphlowrank.solvers.least_absolute`.
"""

from .._typing import Array
from .compiling import compiled

TO_BOUNDARY = 0.9995  # share of the longest feasible step that is taken


@compiled(fastmath=True)
def weigh(
    r: Array, seen: Array, upper: Array, lower: Array, above: Array, below: Array, q: Array, weighted: Array
) -> None:
    """``q = 1 / (above / upper + below / lower)``, the weights of the normal matrices, and ``weighted = q r``."""
    for i in range(r.shape[0]):
        for j in range(r.shape[1]):
            q[i, j] = seen[i, j] / (above[i, j] / upper[i, j] + below[i, j] / lower[i, j])
            weighted[i, j] = q[i, j] * r[i, j]


@compiled()
def step_length(fastest: float) -> float:
    """Step, at most 1, after which nothing has lost more than ``TO_BOUNDARY`` of itself."""
    return 1.0 if fastest <= TO_BOUNDARY else TO_BOUNDARY / fastest


@compiled(fastmath=True)
def predict(
    r: Array, seen: Array, upper: Array, lower: Array, above: Array, below: Array, q: Array, moved: Array,
    mu: Array, weighted: Array,
) -> None:  # fmt: skip
    """Predictor: towards mu = 0, where the scores change the fit by ``moved``.

    Writes ``mu`` (n,), the point of the central path to aim at, and ``weighted``, the right-hand side of the corrector.
    """
    for i in range(r.shape[0]):
        primal, dual, gap, count = 0.0, 0.0, 0.0, 0.0
        for j in range(r.shape[1]):
            dd = q[i, j] * (r[i, j] - moved[i, j])
            d_above = seen[i, j] * (above[i, j] / upper[i, j] * dd - above[i, j])
            d_below = seen[i, j] * (-below[i, j] / lower[i, j] * dd - below[i, j])
            primal = max(primal, -d_above / above[i, j], -d_below / below[i, j])
            dual = max(dual, dd / upper[i, j], -dd / lower[i, j])
            gap += seen[i, j] * (upper[i, j] * above[i, j] + lower[i, j] * below[i, j])
            count += seen[i, j]
        primal, dual, after = step_length(primal), step_length(dual), 0.0
        for j in range(r.shape[1]):
            dd = q[i, j] * (r[i, j] - moved[i, j])
            d_above = above[i, j] / upper[i, j] * dd - above[i, j]
            d_below = -below[i, j] / lower[i, j] * dd - below[i, j]
            product = (upper[i, j] - dual * dd) * (above[i, j] + primal * d_above)
            after += seen[i, j] * (product + (lower[i, j] + dual * dd) * (below[i, j] + primal * d_below))
        mu[i] = (after / gap) ** 3 * gap / (2 * count)
        for j in range(r.shape[1]):
            dd = q[i, j] * (r[i, j] - moved[i, j])
            d_above = above[i, j] / upper[i, j] * dd - above[i, j]
            d_below = -below[i, j] / lower[i, j] * dd - below[i, j]
            pull = (mu[i] + dd * d_above) / upper[i, j] - (mu[i] - dd * d_below) / lower[i, j]
            weighted[i, j] = q[i, j] * (r[i, j] - pull)


@compiled(fastmath=True)
def correct(
    r: Array, seen: Array, upper: Array, lower: Array, above: Array, below: Array, q: Array, moved: Array,
    mu: Array, moved_by_corrector: Array, primal_steps: Array, scratch: Array,
) -> None:  # fmt: skip
    """Corrector: move slacks and multipliers towards ``mu`` with the products of the predictor; write ``primal_steps``.

    ``moved`` is that of :func:`predict`; it and ``moved_by_corrector`` are overwritten.
    """
    for i in range(r.shape[0]):
        primal, dual = 0.0, 0.0
        for j in range(r.shape[1]):
            dd = q[i, j] * (r[i, j] - moved[i, j])
            slope_above, slope_below = above[i, j] / upper[i, j], below[i, j] / lower[i, j]
            pull_above = (mu[i] + dd * (slope_above * dd - above[i, j])) / upper[i, j]
            pull_below = (mu[i] - dd * (-slope_below * dd - below[i, j])) / lower[i, j]
            dd = q[i, j] * (r[i, j] - pull_above + pull_below - moved_by_corrector[i, j])
            d_above = seen[i, j] * (pull_above - above[i, j] + slope_above * dd)
            d_below = seen[i, j] * (pull_below - below[i, j] - slope_below * dd)
            primal = max(primal, -d_above / above[i, j], -d_below / below[i, j])
            dual = max(dual, dd / upper[i, j], -dd / lower[i, j])
            scratch[i, j], moved[i, j], moved_by_corrector[i, j] = dd, d_above, d_below
        primal, dual = step_length(primal), step_length(dual)
        primal_steps[i] = primal
        for j in range(r.shape[1]):
            upper[i, j] -= dual * scratch[i, j]
            lower[i, j] += dual * scratch[i, j]
            above[i, j] += primal * moved[i, j]
            below[i, j] += primal * moved_by_corrector[i, j]
