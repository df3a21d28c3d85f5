"""Fast Robust PCA on Graphs (FRPCAG): the convex problem that CPCA solves on the compressed matrix."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backend import Array, namespace
from .._threads import single_threaded_libraries
from ..graphs.locality import Renumbered, breadth_first_order, renumber
from ..linalg.eigen import largest_eigenvalue
from ..preprocessing.missing import column_median
from ..solvers.fista import Callback, fista, proximal_step
from ..solvers.solution import Solution
from .compiled_step import compiled_step
from .losses import DataFit, Loss, make_loss
from .small_solver import CompressedProblem, SmallSolver
from .smoothness import TwoGraphSmoothness

COMPILED_ABOVE = 2_000_000  # multiplications per iteration; below, numpy is done before a compiler has started
RENUMBERED_ABOVE = 50_000  # rows; neighbors are then far apart in memory
COPIED_UP_TO = 100_000_000  # bytes; reordering larger data costs more than it saves
USUAL_LIPSCHITZ = 10.0  # above this Lipschitz constant, ``short_steps`` tightens ``tol``
DENSE_FEATURES_UP_TO = 1024  # a dense Laplacian of 4 MB beats scipy's sparse product with two transposes


def solve_frpcag(
    X: Array,
    L_samples: Any,
    L_features: Any,
    *,
    gamma_samples: float,
    gamma_features: float,
    loss: str = "l1",
    huber_delta: float = 1.0,
    sample_weights: Array | None = None,
    feature_weights: Array | None = None,
    X0: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
    size: float | None = None,
    short_steps: bool = False,
    trace: bool = False,
    callback: Callback | None = None,
    compiled: bool | None = None,
) -> Solution:
    """``argmin_U loss(U - X) + gamma_samples tr(U^T L_s U) + gamma_features tr(U L_f U^T)`` (eq. for FRPCAG).

    With weights v and w the loss is ``sum_ij v_i w_j loss(U_ij - X_ij)``. Entries of X that are NaN are missing: the
    sum leaves them out, and the graph terms alone determine U there.

    Parameters
    ----------
    X
        (n_samples, n_features) data, NaN where an entry is missing.
    L_samples, L_features
        Laplacians (n_samples, n_samples) and (n_features, n_features), sparse, or None for no such term.
    gamma_samples, gamma_features
        Weights of the two graph terms, >= 0. If both are zero the answer is X itself, with missing entries as at the
        start.
    loss
        Name of a loss in :data:`graphlowrank.models.losses.LOSSES`.
    huber_delta
        Scale of the loss, for losses that have one.
    sample_weights, feature_weights
        (n_samples,) and (n_features,) weights >= 0 in the loss: the user's, or the importance weights of a draw that
        was not uniform. None for ones.
    X0
        Initial guess; X if None. A missing entry for which it has no value starts from the median of its feature.
    tol, max_iter
        Change of the iterate to stop at, relative to ``size``, and the iterations allowed.
    size
        Reference norm of ``tol``. None uses the norm of the iterate; avoid it if the feature means are large.
    short_steps
        Whether to lower ``tol`` where large gammas make steps short, since a small change then does not mean a small
        distance from the solution. For answers whose entries matter; clusters come out the same.
    trace
        Whether to record the objective after each iteration.
    callback
        Called with (iteration, relative change).
    compiled
        Whether to run compiled loops; None uses them for large problems. Results differ by rounding. Ignored for
        losses without a compiled loop and for arrays of other libraries than numpy.

    Examples
    --------
    >>> import numpy as np
    >>> from graphlowrank.graphs import path_graph
    >>> X = np.array([[1.0], [1.0], [9.0], [1.0], [1.0]])
    >>> solve_frpcag(X, path_graph(5).laplacian(), None, gamma_samples=1, gamma_features=0).X.ravel().round(2)
    array([1.  , 1.  , 1.25, 1.  , 1.  ])
    """
    if gamma_samples < 0 or gamma_features < 0:
        raise ValueError(f"gammas must be >= 0, got {gamma_samples} and {gamma_features}.")
    gammas = (0.0 if L_samples is None else gamma_samples, 0.0 if L_features is None else gamma_features)
    X, X0, observed = _impute_start(X, X0)
    problem = _Problem(
        X, L_samples, L_features, *gammas, sample_weights, feature_weights, X0, observed, make_loss(loss, huber_delta)
    )
    options: dict[str, Any] = {
        "tol": tol, "max_iter": max_iter, "size": size, "short_steps": short_steps, "trace": trace,
        "callback": callback, "compiled": compiled,
    }  # fmt: skip
    # The model is symmetric in samples and features. Compiled loops want short rows, which stay in the cache, and
    # neighbors that are close together in memory.
    if X.shape[1] > X.shape[0] and problem.transposed().worth_compiling(compiled):
        solution = _minimize(problem.transposed(), **options)
        return replace(solution, X=np.ascontiguousarray(solution.X.T))
    if X.shape[0] > RENUMBERED_ABOVE and problem.worth_compiling(compiled) and X.nbytes <= COPIED_UP_TO:
        near = renumber(L_samples, breadth_first_order(L_samples)[1])
        solution = _minimize(problem.renumbered(near), **options)
        return replace(solution, X=near.restore(solution.X))
    return _minimize(problem, **options)


@dataclass(frozen=True, eq=False)
class _Problem:
    """Arguments of :func:`solve_frpcag`; X is finite, ``observed`` is False where it was imputed, None if nowhere."""

    X: Array
    L_samples: Any
    L_features: Any
    gamma_samples: float
    gamma_features: float
    sample_weights: Array | None
    feature_weights: Array | None
    X0: Array | None
    observed: Array | None
    loss: Loss

    def transposed(self) -> _Problem:
        """Return the same problem with samples and features exchanged; nothing is copied."""
        start = None if self.X0 is None else self.X0.T
        observed = None if self.observed is None else self.observed.T
        return _Problem(
            self.X.T, self.L_features, self.L_samples, self.gamma_features, self.gamma_samples,
            self.feature_weights, self.sample_weights, start, observed, self.loss,
        )  # fmt: skip

    def renumbered(self, near: Renumbered) -> _Problem:
        """Return the same problem with the samples in the order of their renumbered Laplacian."""
        weights = None if self.sample_weights is None else self.sample_weights[near.order]
        start = None if self.X0 is None else self.X0[near.order]
        observed = None if self.observed is None else self.observed[near.order]
        return replace(
            self, X=self.X[near.order], L_samples=near.weights, sample_weights=weights, X0=start, observed=observed
        )

    def data_fit(self, rows: Array, columns: Array) -> DataFit:
        """Loss term; entries that are missing have weight 0."""
        weighted = self.sample_weights is not None or self.feature_weights is not None
        weights = rows[:, None] * columns if weighted else 1.0
        if self.observed is not None:
            weights = weights * self.observed.astype(self.X.dtype)
        return DataFit(self.loss, self.X, weights)

    def lipschitz(self) -> float:
        """Lipschitz constant of the gradient of the graph terms, from above."""
        terms = ((self.gamma_samples, self.L_samples), (self.gamma_features, self.L_features))
        return sum((2 * gamma * largest_eigenvalue(L) for gamma, L in terms if gamma), 0.0)

    def without_graphs(self) -> Array:
        """Return the solution for gammas of 0: the data, and missing entries as at the start."""
        if self.observed is None or self.X0 is None:
            return self.X.copy()
        return np.where(self.observed, self.X, self.X0)

    def worth_compiling(self, compiled: bool | None) -> bool:  # noqa: FBT001
        """Whether compiled loops can run, and are asked for or pay."""
        possible = (
            self.gamma_samples > 0
            and self.loss.kernel is not None
            and isinstance(self.X, np.ndarray)
            and sp.issparse(self.L_samples)
            and self.X.dtype == self.L_samples.dtype
        )
        return possible and (self.L_samples.nnz * self.X.shape[1] > COMPILED_ABOVE if compiled is None else compiled)


def _minimize(
    problem: _Problem,
    *,
    tol: float,
    max_iter: int,
    size: float | None,
    short_steps: bool,
    trace: bool,
    callback: Callback | None,
    compiled: bool | None,
) -> Solution:
    """FISTA on the problem as it stands."""
    X, L_features, lipschitz = problem.X, problem.L_features, problem.lipschitz()
    if lipschitz == 0:  # no graph term, or graphs without edges
        return Solution(problem.without_graphs(), 0, converged=True, residual=0.0)
    if short_steps:  # accelerated steps of 1 / L cover a distance in about sqrt(L) iterations
        tol *= min(1.0, (USUAL_LIPSCHITZ / lipschitz) ** 0.5)
    rows = _ones_if_none(problem.sample_weights, X.shape[0], X)
    columns = _ones_if_none(problem.feature_weights, X.shape[1], X)
    fit = problem.data_fit(rows, columns)
    compiled = problem.worth_compiling(compiled)
    if not compiled and sp.issparse(L_features) and L_features.shape[0] <= DENSE_FEATURES_UP_TO:
        L_features = L_features.toarray()
    smooth = TwoGraphSmoothness(problem.L_samples, L_features, problem.gamma_samples, problem.gamma_features)
    if compiled:
        step = compiled_step(smooth, X, problem.loss, 1 / lipschitz, rows, columns, problem.observed)
    else:
        step = proximal_step(smooth, fit, 1 / lipschitz)
    start = X if problem.X0 is None else problem.X0
    with single_threaded_libraries() if compiled else nullcontext():
        return fista(
            step,
            np.ascontiguousarray(start) if compiled else start,  # data may be in column-major order
            tol=tol,
            max_iter=max_iter,
            size=size,
            objective=(lambda U: smooth.value(U) + fit.value(U)) if trace else None,
            callback=callback,
        )


def _impute_start(X: Array, X0: Array | None) -> tuple[Array, Array | None, Array | None]:
    """X and X0 without NaN, and the mask of observed entries; None if there is no NaN, with X0 as it was."""
    xp = namespace(X)
    missing = xp.isnan(X)
    if not xp.any(missing):
        return X, X0, None
    if xp.all(missing):
        raise ValueError("every entry of X is missing.")
    given = None if X0 is None else np.where(missing, X0, X).astype(X.dtype, copy=False)
    imputed = given if given is not None and not np.isnan(given).any() else np.where(missing, column_median(X), X)
    return imputed, imputed if X0 is None else np.where(np.isnan(X0), imputed, X0), ~missing


def _ones_if_none(weights: Array | None, n: int, X: Array) -> Array:
    xp = namespace(X)
    return xp.ones(n, dtype=X.dtype) if weights is None else xp.astype(weights, X.dtype)


def _minimize_compressed(problem: CompressedProblem, callback: Callback | None) -> Solution:
    return solve_frpcag(
        problem.X,
        problem.L_samples,
        problem.L_features,
        gamma_samples=problem.gammas[0],
        gamma_features=problem.gammas[1],
        loss=problem.loss,
        huber_delta=problem.huber_delta,
        sample_weights=problem.sample_weights,
        feature_weights=problem.feature_weights,
        X0=problem.X0,
        tol=problem.tol,
        max_iter=problem.max_iter,
        size=problem.size,
        short_steps=problem.short_steps,
        callback=callback,
    )


SOLVER = SmallSolver(
    "frpcag", _minimize_compressed, "FRPCAG", uses_sample_graph=True, uses_feature_graph=True, takes_weights=True,
    remedy="raise max_iter or tol, or lower the gammas",
)  # fmt: skip
