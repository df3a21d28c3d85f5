"""Fast Robust PCA on Graphs: the convex problem that CPCA solves on the compressed matrix."""

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
from ..preprocessing.missing import observed_median
from ..solvers.fista import Callback, fista, proximal_step
from ..solvers.solution import Solution
from .compiled_step import compiled_step
from .losses import LossName, make_loss
from .smoothness import TwoGraphSmoothness

COMPILED_ABOVE = 2_000_000  # multiplications an iteration; below, numpy is done before a compiler has started
ROWS_RENUMBERED_ABOVE = 50_000  # rows: their neighbours are then far apart in memory
COPIED_UP_TO = 100_000_000  # bytes: reordering larger data costs more than it saves
USUAL_LIPSCHITZ = 10.0  # of the smooth term: up to it, gammas are such that a change by ``tol`` means what it says
DENSE_FEATURES_UP_TO = 1024  # a dense Laplacian of 4 MB beats scipy's sparse product with a transpose on either side


def solve_frpcag(
    X: Array,
    L_samples: Any,
    L_features: Any,
    *,
    gamma_samples: float,
    gamma_features: float,
    loss: LossName = "l1",
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
) -> Solution:
    """``argmin_U loss(U - X) + gamma_samples tr(U^T L_s U) + gamma_features tr(U L_f U^T)`` (eq. for FRPCAG).

    With importance weights v and w the loss is ``sum_ij v_i w_j loss(U_ij - X_ij)``. Entries of X that are NaN are
    missing: the sum leaves them out, and the graphs alone say what U is there.

    Parameters
    ----------
    X
        (n_samples, n_features) data, NaN where an entry is missing.
    L_samples, L_features
        Laplacians (n_samples, n_samples) and (n_features, n_features), sparse, or None for no such term.
    gamma_samples, gamma_features
        Weights of the two terms, >= 0. If both are zero the answer is X itself, with missing entries as at the start.
    loss, huber_delta
        "l1", "l2" or "huber".
    sample_weights, feature_weights
        (n_samples,) and (n_features,) weights >= 0: a user's, or of a draw that was not uniform; None for ones.
    X0
        Warm start; X if None. A missing entry that it does not give, or gives as NaN, starts from the median of its
        feature.
    tol, max_iter
        Change of the iterate to stop at, relative to ``size``, and the iterations allowed.
    size
        Norm that counts as 1; None takes that of the iterate, which is misleading for data with large levels.
    short_steps
        Whether to lower ``tol`` where large gammas make steps short: a small change then says little of the distance
        that is left. For answers whose entries matter; clusters come out the same.
    trace
        Record the objective after each iteration.
    callback
        Called with (iteration, relative change).

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
    gamma_samples = 0.0 if L_samples is None else gamma_samples
    gamma_features = 0.0 if L_features is None else gamma_features
    X, X0, observed = _without_gaps(X, X0)
    problem = Problem(
        X, L_samples, L_features, gamma_samples, gamma_features, sample_weights, feature_weights, X0, observed
    )
    options: dict[str, Any] = {
        "loss": loss, "huber_delta": huber_delta, "tol": tol, "max_iter": max_iter, "size": size,
        "short_steps": short_steps, "trace": trace, "callback": callback,
    }  # fmt: skip
    # Samples and features are alike to the model; compiled loops want short rows, which stay in the cache, and
    # neighbours that are close together in memory.
    if X.shape[1] > X.shape[0] and problem.turned().worth_compiling():
        solution = _minimise(problem.turned(), **options)
        return replace(solution, X=np.ascontiguousarray(solution.X.T))
    if X.shape[0] > ROWS_RENUMBERED_ABOVE and problem.worth_compiling() and X.nbytes <= COPIED_UP_TO:
        near = renumber(L_samples, breadth_first_order(L_samples)[1])
        solution = _minimise(problem.renumbered(near), **options)
        return replace(solution, X=near.restore(solution.X))
    return _minimise(problem, **options)


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, Laplacians and weights of one instance; see :func:`solve_frpcag`.

    X is finite; ``observed`` is False where it was filled in, None if nothing was.
    """

    X: Array
    L_samples: Any
    L_features: Any
    gamma_samples: float
    gamma_features: float
    sample_weights: Array | None
    feature_weights: Array | None
    X0: Array | None
    observed: Array | None = None

    def turned(self) -> Problem:
        """Return the same with samples for features and features for samples; nothing is copied."""
        start = None if self.X0 is None else self.X0.T
        observed = None if self.observed is None else self.observed.T
        return Problem(
            self.X.T, self.L_features, self.L_samples, self.gamma_features, self.gamma_samples,
            self.feature_weights, self.sample_weights, start, observed,
        )  # fmt: skip

    def renumbered(self, near: Renumbered) -> Problem:
        """Return the same with the samples in the order of their renumbered Laplacian."""
        weights = None if self.sample_weights is None else self.sample_weights[near.order]
        start = None if self.X0 is None else self.X0[near.order]
        observed = None if self.observed is None else self.observed[near.order]
        return replace(
            self, X=self.X[near.order], L_samples=near.weights, sample_weights=weights, X0=start, observed=observed
        )

    def entry_weights(self, rows: Array, columns: Array) -> Any:
        """Weight of each entry of the loss, zero where it is missing."""
        weighted = self.sample_weights is not None or self.feature_weights is not None
        weights = rows[:, None] * columns if weighted else 1.0
        return weights if self.observed is None else weights * self.observed.astype(self.X.dtype)

    def at_rest(self) -> Array:
        """Return the answer where no graph pulls: the data, and what is missing as it was at the start."""
        if self.observed is None or self.X0 is None:
            return self.X.copy()
        return np.where(self.observed, self.X, self.X0)

    def worth_compiling(self) -> bool:
        """Whether compiled loops pay."""
        return (
            self.gamma_samples > 0
            and isinstance(self.X, np.ndarray)
            and sp.issparse(self.L_samples)
            and self.X.dtype == self.L_samples.dtype
            and self.L_samples.nnz * self.X.shape[1] > COMPILED_ABOVE
        )


def _minimise(
    problem: Problem,
    *,
    loss: LossName,
    huber_delta: float,
    tol: float,
    max_iter: int,
    size: float | None,
    short_steps: bool,
    trace: bool,
    callback: Callback | None,
) -> Solution:
    """FISTA on one problem as it stands."""
    X, L_features = problem.X, problem.L_features
    lipschitz = 2 * problem.gamma_samples * largest_eigenvalue(problem.L_samples) if problem.gamma_samples else 0.0
    if problem.gamma_features:
        lipschitz += 2 * problem.gamma_features * largest_eigenvalue(L_features)
    rows = _ones_if_none(problem.sample_weights, X.shape[0], X)
    columns = _ones_if_none(problem.feature_weights, X.shape[1], X)
    fit = make_loss(loss, X, huber_delta, problem.entry_weights(rows, columns))
    if lipschitz == 0:  # no term, or graphs without edges: nothing pulls away from the data
        return Solution(problem.at_rest(), 0, converged=True, residual=0.0)
    if short_steps:  # accelerated steps of 1 / L cover a distance in about sqrt(L) iterations
        tol *= min(1.0, (USUAL_LIPSCHITZ / lipschitz) ** 0.5)
    compiled = problem.worth_compiling()
    if not compiled and sp.issparse(L_features) and L_features.shape[0] <= DENSE_FEATURES_UP_TO:
        L_features = L_features.toarray()
    smooth = TwoGraphSmoothness(problem.L_samples, L_features, problem.gamma_samples, problem.gamma_features)
    if compiled:
        step = compiled_step(smooth, X, loss, huber_delta, 1 / lipschitz, rows, columns, problem.observed)
    else:
        step = proximal_step(smooth, fit, 1 / lipschitz)
    start = X if problem.X0 is None else problem.X0
    with single_threaded_libraries() if compiled else nullcontext():
        return fista(
            step,
            np.ascontiguousarray(start) if compiled else start,  # tables often come column by column
            tol=tol,
            max_iter=max_iter,
            size=size,
            objective=(lambda U: smooth.value(U) + fit.value(U)) if trace else None,
            callback=callback,
        )


def _without_gaps(X: Array, X0: Array | None) -> tuple[Array, Array | None, Array | None]:
    """X and the start with missing entries filled, and where X is observed; None for everywhere, with X0 as it was."""
    xp = namespace(X)
    missing = xp.isnan(X)
    if not xp.any(missing):
        return X, X0, None
    if xp.all(missing):
        raise ValueError("every entry of X is missing.")
    given = None if X0 is None else np.where(missing, X0, X).astype(X.dtype, copy=False)
    filled = given if given is not None and not np.isnan(given).any() else np.where(missing, observed_median(X), X)
    return filled, filled if X0 is None else np.where(np.isnan(X0), filled, X0), ~missing


def _ones_if_none(weights: Array | None, n: int, X: Array) -> Array:
    xp = namespace(X)
    return xp.ones(n, dtype=X.dtype) if weights is None else xp.astype(weights, X.dtype)
