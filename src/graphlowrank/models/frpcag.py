"""Fast Robust PCA on Graphs (FRPCAG): the convex problem that CPCA solves on the compressed matrix."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backend import namespace
from .._threads import single_threaded_libraries
from .._typing import Array
from ..graphs.locality import breadth_first_order, renumber
from ..solvers.fista import Callback, fista, proximal_step
from ..solvers.solution import Solution
from .compiled_step import compiled_step
from .losses import DataFit, Loss, make_loss
from .small_solver import CompressedProblem, SmallSolver
from .smoothness import TwoGraphSmoothness, curvature

COMPILED_ABOVE = 2_000_000  # multiplications per iteration; below, numpy is done before a compiler has started
RENUMBERED_ABOVE = 50_000  # rows; neighbors are then far apart in memory
COPIED_UP_TO = 100_000_000  # bytes; reordering larger data costs more than it saves
USUAL_CURVATURE = 10.0  # above this largest curvature, ``tighten_tol`` lowers ``tol``
MIN_CURVATURE = 1e-6  # of the largest: steps of entries without edges are finite
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
    tighten_tol: bool = False,
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
        Weights of the two graph terms, >= 0. If both are zero, U is X, with missing entries as at the start.
    loss, huber_delta
        Name of a loss in :data:`graphlowrank.models.losses.LOSSES`, and its scale, for losses that have one.
    sample_weights, feature_weights
        (n_samples,) and (n_features,) weights >= 0 in the loss: the user's, or the importance weights of a draw that
        was not uniform. None for ones.
    X0
        Initial guess; X if None. A missing entry for which it has no value starts from the median of its feature.
    tol, max_iter, size
        Change of the iterate to stop at, relative to its norm, or to ``size`` if that is smaller, and the iterations
        allowed. Give a size if the feature means are large: they are part of the norm.
    tighten_tol
        Whether to lower ``tol`` where large gammas make steps short, since a small change then does not mean a small
        distance from the solution. For answers whose entries matter; clusters come out the same.
    trace, callback
        Whether to record the objective after each iteration; called with (iteration, relative change).
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
    problem = CompressedProblem(
        X,
        L_samples,
        L_features,
        gammas=(gamma_samples, gamma_features),
        loss=loss,
        huber_delta=huber_delta,
        sample_weights=sample_weights,
        feature_weights=feature_weights,
        X0=X0,
        tol=tol,
        max_iter=max_iter,
        size=size,
        tighten_tol=tighten_tol,
    )
    return minimize_frpcag(problem, callback, trace=trace, compiled=compiled)


def minimize_frpcag(
    problem: CompressedProblem,
    callback: Callback | None = None,
    *,
    trace: bool = False,
    compiled: bool | None = None,
    renumbered_above: int = RENUMBERED_ABOVE,
    dense_features_up_to: int = DENSE_FEATURES_UP_TO,
) -> Solution:
    """:func:`solve_frpcag` with its arguments in one record.

    The model is symmetric in samples and features. Compiled loops want short rows, which stay in the cache, and
    neighbors that are close together in memory.
    """
    of_samples, of_features = problem.gammas
    if of_samples < 0 or of_features < 0:
        raise ValueError(f"gammas must be >= 0, got {of_samples} and {of_features}.")
    gammas = (0.0 if problem.L_samples is None else of_samples, 0.0 if problem.L_features is None else of_features)
    problem = replace(problem, gammas=gammas, X0=problem.complete_start())
    loss = make_loss(problem.loss, problem.huber_delta)
    minimize = partial(
        _run_fista, loss=loss, trace=trace, callback=callback, compiled=compiled, dense_up_to=dense_features_up_to
    )
    X = problem.X
    if X.shape[1] > X.shape[0] and _worth_compiling(transposed := _transposed(problem), loss, compiled):
        solution = minimize(transposed)
        return replace(solution, X=np.ascontiguousarray(solution.X.T))
    if X.shape[0] > renumbered_above and _worth_compiling(problem, loss, compiled) and X.nbytes <= COPIED_UP_TO:
        order = breadth_first_order(problem.L_samples)[1]
        near = renumber(problem.L_samples, order)
        X0, weights = (None if part is None else part[order] for part in (problem.X0, problem.sample_weights))
        solution = minimize(replace(problem, X=X[order], L_samples=near.weights, X0=X0, sample_weights=weights))
        return replace(solution, X=near.restore(solution.X))
    return minimize(problem)


def _transposed(problem: CompressedProblem) -> CompressedProblem:
    """Exchange samples and features; nothing is copied."""
    return replace(
        problem,
        X=problem.X.T,
        L_samples=problem.L_features,
        L_features=problem.L_samples,
        gammas=problem.gammas[::-1],
        sample_weights=problem.feature_weights,
        feature_weights=problem.sample_weights,
        X0=None if problem.X0 is None else problem.X0.T,
    )


def _worth_compiling(problem: CompressedProblem, loss: Loss, compiled: bool | None) -> bool:  # noqa: FBT001
    """Whether compiled loops can run, and are asked for or pay."""
    X: Array = problem.X
    L: Any = problem.L_samples
    possible = problem.gammas[0] > 0 and isinstance(X, np.ndarray) and sp.issparse(L) and X.dtype == L.dtype
    if possible and compiled is None:
        compiled = L.nnz * X.shape[1] > COMPILED_ABOVE
    if not (possible and compiled):
        return False
    from ..kernels.fista_step import LOSS_CODES

    return loss.kernel in LOSS_CODES


def _run_fista(
    problem: CompressedProblem,
    *,
    loss: Loss,
    trace: bool,
    callback: Callback | None,
    compiled: bool | None,
    dense_up_to: int,
) -> Solution:
    """FISTA on the problem as it stands; a missing entry starts at X0 and has weight 0 in the loss."""
    X, observed, tol = problem.X, problem.observed(), problem.tol
    start = X if problem.X0 is None else problem.X0
    X = X if observed is None else np.where(observed, X, start).astype(X.dtype, copy=False)
    L_features: Any = problem.L_features
    terms = zip((problem.L_samples, L_features), problem.gammas, X.shape, strict=True)
    of_samples, of_features = (curvature(*term, uniform=problem.plain) for term in terms)
    largest = float(of_samples.max() + of_features.max())
    if largest == 0:  # no graph term, or graphs without edges
        return Solution.exact(X.copy())
    of_samples = np.maximum(of_samples, MIN_CURVATURE * largest - of_features.min())
    if problem.tighten_tol:  # accelerated methods need about sqrt(curvature) iterations
        tol *= min(1.0, (USUAL_CURVATURE / largest) ** 0.5)
    compiled = _worth_compiling(problem, loss, compiled)
    if not compiled and sp.issparse(L_features) and L_features.shape[0] <= dense_up_to:
        L_features = L_features.toarray()
    smooth = TwoGraphSmoothness(problem.L_samples, L_features, *problem.gammas)
    rows = _ones_if_none(problem.sample_weights, X.shape[0], X)
    columns = _ones_if_none(problem.feature_weights, X.shape[1], X)
    weighted = problem.sample_weights is not None or problem.feature_weights is not None
    weights = rows[:, None] * columns if weighted else 1.0
    fit = DataFit(loss, X, weights if observed is None else weights * observed.astype(X.dtype))
    if compiled:
        step = compiled_step(smooth, X, loss, (of_samples, of_features), rows, columns, observed)
    else:
        steps = 1 / np.add.outer(of_samples, of_features)
        step = proximal_step(smooth, fit, namespace(X).asarray(steps, dtype=X.dtype))
    with single_threaded_libraries():
        return fista(
            step,
            np.ascontiguousarray(start) if compiled else start,  # data may be in column-major order
            tol=tol,
            max_iter=problem.max_iter,
            size=problem.size,
            restart=not problem.plain,
            objective=(lambda U: smooth.value(U) + fit.value(U)) if trace else None,
            callback=callback,
        )


def _ones_if_none(weights: Array | None, n: int, X: Array) -> Array:
    xp = namespace(X)
    return xp.ones(n, dtype=X.dtype) if weights is None else xp.astype(weights, X.dtype)


SOLVER = SmallSolver(
    "frpcag", minimize_frpcag, "FRPCAG", uses_sample_graph=True, uses_feature_graph=True, takes_weights=True,
    takes_loss=True, remedy="raise max_iter or tol, or lower the gammas",
)  # fmt: skip
