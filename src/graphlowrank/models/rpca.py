"""Robust PCA (principal component pursuit): low-rank plus sparse, without graphs."""

from dataclasses import replace
from typing import Any

import numpy as np

from .._checks import is_number
from .._typing import Array
from ..solvers.fista import Callback
from ..solvers.inexact_alm import inexact_alm
from ..solvers.solution import LowRankPlusSparse, Solution
from .checks import as_real, check_mask, largest_entry
from .small_solver import CompressedProblem, SmallSolver

GROWTH = 0.5  # of the penalty per iteration, if every entry is observed
EPS_FLOOR = 8  # residuals below 8 eps are rounding
COMPRESSED_TOL = 1e-2  # of the problem's tol: FISTA compares the change of an iteration, RPCA the residual X - L - S


def solve_rpca(
    X: Array,
    *,
    weight: float | None = None,
    mask: Array | None = None,
    tol: float = 1e-7,
    max_iter: int = 1000,
    growth: float | None = None,
    callback: Callback | None = None,
) -> LowRankPlusSparse:
    """``argmin_{L, S} ||L||_* + weight ||S||_1`` subject to ``L + S = X`` on the observed entries.

    Inexact augmented Lagrange multipliers (Lin, Chen and Ma 2010), in the precision of X.

    Parameters
    ----------
    X
        (n, p) data, finite where observed; not written to.
    weight
        Weight of the l1 norm, > 0; None for ``1 / sqrt(observed max(n, p))``, the choice of Candès et al. (2011), where
        ``observed`` is the share of observed entries.
    mask
        (n, p) booleans, True where X is observed; None for everywhere. S is zero elsewhere, and L is free.
    tol, max_iter
        Relative residual to stop at, and iterations allowed. Values below 8 eps (1e-6 in single precision) mean 8 eps,
        the rounding error.
    growth
        Factor > 1 by which the penalty grows per iteration. A smaller one is slower and ends closer to the optimum,
        which the residual does not measure. None for 1.5, and less the fewer entries are observed: missing ones are
        imputed step by step, and a penalty that grows too soon stops them half way.
    callback
        Called with (iteration, residual).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.outer(np.ones(20), np.arange(1.0, 21.0))
    >>> X[3, 4] += 50
    >>> answer = solve_rpca(X)
    >>> answer.rank, np.argwhere(answer.sparse).tolist(), round(float(answer.sparse[3, 4]), 3)
    (1, [[3, 4]], 50.0)
    """
    X, mask, weight, largest = check_pursuit(X, mask, weight)
    growth = 1 + GROWTH * _observed(mask) ** 2 if growth is None else growth
    if not tol >= 0 or max_iter < 1 or not (is_number(growth) and growth > 1):
        raise ValueError(f"needs tol >= 0, max_iter >= 1, growth > 1; got {tol}, {max_iter} and {growth}.")
    if largest == 0:
        return LowRankPlusSparse(X.copy(), X.copy(), X.copy(), 0, 0, converged=True, residual=0.0)
    unit = largest if not 1e-12 < largest < 1e12 else 1.0  # squares must neither overflow nor underflow
    scaled = X if unit == 1 else X / X.dtype.type(unit)
    found = inexact_alm(
        scaled, mask, weight=weight, largest=largest / unit, growth=growth,
        tol=max(tol, EPS_FLOOR * float(np.finfo(X.dtype).eps)), max_iter=max_iter, callback=callback,
    )  # fmt: skip
    if unit != 1:
        found = replace(found, low_rank=found.low_rank * unit, sparse=found.sparse * unit)
    return found


def check_pursuit(X: Any, mask: Any, weight: float | None) -> tuple[Array, Array | None, float, float]:
    """``X`` in single or double precision, zero where not observed; mask; weight, None being Candès's; largest |X|."""
    X = as_real(X)
    mask = check_mask(mask, X.shape)
    if mask is not None:
        X = np.where(mask, X, X.dtype.type(0))
    largest = largest_entry(X)
    weight = 1 / float(np.sqrt(_observed(mask) * max(X.shape))) if weight is None else float(weight)
    if not 0 < weight < np.inf:
        raise ValueError(f"weight must be positive, got {weight}.")
    return X, mask, weight, largest


def _observed(mask: Array | None) -> float:
    """Share of the observed entries."""
    return 1.0 if mask is None else float(mask.mean())


def minimize_compressed(problem: CompressedProblem, callback: Callback | None) -> Solution:
    """RPCA of the compressed matrix."""
    options: dict[str, Any] = {"tol": COMPRESSED_TOL * problem.tol, "max_iter": problem.max_iter}
    return solve_rpca(problem.X, mask=problem.observed(), callback=callback, **options).solution()


SOLVER = SmallSolver("rpca", minimize_compressed, "RPCA")
