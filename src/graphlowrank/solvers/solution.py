"""What an iterative method returns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Self

from sklearn.exceptions import ConvergenceWarning

from .._backend import Array


class Iterated:
    """Answer of an iterative method, which may have stopped too soon."""

    n_iter: int
    converged: bool
    residual: float

    def warn_unless_converged(self, what: str, remedy: str) -> Self:
        """Issue a ConvergenceWarning that names the step and the remedy; return self."""
        if not self.converged:
            warnings.warn(
                f"{what} did not converge in {self.n_iter} iterations (residual {self.residual:.1e}); {remedy}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self


@dataclass(frozen=True, eq=False)
class Solution(Iterated):
    """Result of an iterative solver.

    Attributes
    ----------
    X
        The solution.
    n_iter
        Iterations made.
    converged
        Whether the stopping rule was met before the iterations ran out.
    residual
        The quantity the stopping rule looks at, at the end.
    objective
        Objective after each iteration, where it was asked for.
    """

    X: Array
    n_iter: int
    converged: bool
    residual: float
    objective: list[float] = field(default_factory=list)

    @classmethod
    def exact(cls, X: Array) -> Solution:
        """Solution that needed no iterations."""
        return cls(X, 0, converged=True, residual=0.0)
