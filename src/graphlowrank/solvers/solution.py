"""Results of iterative methods."""

import warnings
from dataclasses import dataclass, field
from typing import Self

from sklearn.exceptions import ConvergenceWarning

from .._typing import Array


class Iterated:
    """Result of an iterative method, which may not have converged."""

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
    """Result of an iterative solver; the residual is the final value of what its stopping rule compares."""

    X: Array
    n_iter: int
    converged: bool
    residual: float
    objective: list[float] = field(default_factory=list)  # after each iteration, if requested

    @classmethod
    def exact(cls, X: Array) -> Self:
        """Solution that needed no iterations."""
        return cls(X, 0, converged=True, residual=0.0)


@dataclass(frozen=True, eq=False)
class LowRankPlusSparse(Iterated):
    """Result of a solver that splits X into a low-rank and a sparse part.

    Attributes
    ----------
    low_rank, rank, sparse
        (n, p) part L and its rank, and (n, p) part S. Zeros of the sparse part are exact.
    dual
        (n, p) multiplier of ``L + S = X``: at the optimum a subgradient of the weighted l1 norm at S, and of the other
        terms at L.
    n_iter, converged, residual
        Iterations made, whether the stopping rule was met, and what it compares: ``||X - L - S||_F / ||X||_F`` of RPCA,
        the larger of the relative primal and dual residuals of RPCAG.
    """

    low_rank: Array
    sparse: Array
    dual: Array
    rank: int
    n_iter: int
    converged: bool
    residual: float

    def solution(self) -> Solution:
        """Return the low-rank part alone."""
        return Solution(self.low_rank, self.n_iter, converged=self.converged, residual=self.residual)
