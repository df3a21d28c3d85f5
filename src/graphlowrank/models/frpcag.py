"""Fast Robust PCA on Graphs: the convex problem that CPCA solves on the compressed matrix."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backend import Array, namespace
from .._threads import single_threaded_libraries
from ..linalg.eigen import largest_eigenvalue
from ..solution import Solution
from ..solvers.fista import Callback, fista, proximal_step
from .compiled_step import compiled_step
from .losses import LossName, make_loss
from .smoothness import TwoGraphSmoothness

COMPILED_ABOVE = 5_000_000  # multiplications an iteration; below, numpy is done before a compiler has started
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
    trace: bool = False,
    callback: Callback | None = None,
) -> Solution:
    """``argmin_U loss(U - X) + gamma_samples tr(U^T L_s U) + gamma_features tr(U L_f U^T)`` (eq. for FRPCAG).

    With importance weights v and w the loss is ``sum_ij v_i w_j loss(U_ij - X_ij)``.

    Parameters
    ----------
    X
        (n_samples, n_features) data.
    L_samples, L_features
        Laplacians (n_samples, n_samples) and (n_features, n_features), sparse, or None for no such term.
    gamma_samples, gamma_features
        Weights of the two terms, >= 0. If both are zero the answer is X itself.
    loss, huber_delta
        "l1", "l2" or "huber".
    sample_weights, feature_weights
        (n_samples,) and (n_features,) positive weights of a draw that was not uniform; None for ones.
    X0
        Warm start; X if None.
    tol, max_iter
        Change of the iterate to stop at, relative to ``size``, and the iterations allowed.
    size
        Norm that counts as 1; None takes that of the iterate, which is misleading for data with large levels.
    trace
        Record the objective after each iteration.
    callback
        Called with (iteration, relative change).

    Examples
    --------
    >>> import numpy as np
    >>> from graphlowrank.graphs import chain_graph
    >>> X = np.array([[1.0], [1.0], [9.0], [1.0], [1.0]])
    >>> solve_frpcag(X, chain_graph(5).laplacian(), None, gamma_samples=1, gamma_features=0).X.ravel().round(2)
    array([1.  , 1.  , 1.25, 1.  , 1.  ])
    """
    if gamma_samples < 0 or gamma_features < 0:
        raise ValueError(f"gammas must be >= 0, got {gamma_samples} and {gamma_features}.")
    gamma_samples = 0.0 if L_samples is None else gamma_samples
    gamma_features = 0.0 if L_features is None else gamma_features
    if X.shape[1] > X.shape[0] and _worth_compiling(X.T, L_features, gamma_features):
        # Samples and features are alike to the model; compiled loops want short rows, which stay in the cache.
        solution = solve_frpcag(
            np.ascontiguousarray(X.T), L_features, L_samples, gamma_samples=gamma_features,
            gamma_features=gamma_samples, loss=loss, huber_delta=huber_delta, sample_weights=feature_weights,
            feature_weights=sample_weights, X0=None if X0 is None else np.ascontiguousarray(X0.T), tol=tol,
            max_iter=max_iter, size=size, trace=trace, callback=callback,
        )  # fmt: skip
        return replace(solution, X=np.ascontiguousarray(solution.X.T))
    lipschitz = 2 * gamma_samples * largest_eigenvalue(L_samples) if gamma_samples else 0.0
    if gamma_features:
        lipschitz += 2 * gamma_features * largest_eigenvalue(L_features)
    rows = _ones_if_none(sample_weights, X.shape[0], X)
    columns = _ones_if_none(feature_weights, X.shape[1], X)
    weighted = sample_weights is not None or feature_weights is not None
    fit = make_loss(loss, X, huber_delta, rows[:, None] * columns if weighted else 1.0)
    if lipschitz == 0:  # no term, or graphs without edges: nothing pulls away from the data
        return Solution(X.copy(), 0, converged=True, residual=0.0)
    compiled = _worth_compiling(X, L_samples, gamma_samples)
    if not compiled and sp.issparse(L_features) and L_features.shape[0] <= DENSE_FEATURES_UP_TO:
        L_features = L_features.toarray()
    smooth = TwoGraphSmoothness(L_samples, L_features, gamma_samples, gamma_features)
    if compiled:
        step = compiled_step(smooth, X, loss, huber_delta, 1 / lipschitz, rows, columns)
    else:
        step = proximal_step(smooth, fit, 1 / lipschitz)
    start = X if X0 is None else X0
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


def _ones_if_none(weights: Array | None, n: int, X: Array) -> Array:
    xp = namespace(X)
    return xp.ones(n, dtype=X.dtype) if weights is None else xp.astype(weights, X.dtype)


def _worth_compiling(X: Array, L_samples: Any, gamma_samples: float) -> bool:
    return (
        gamma_samples > 0
        and isinstance(X, np.ndarray)
        and sp.issparse(L_samples)
        and X.dtype == L_samples.dtype
        and L_samples.nnz * X.shape[1] > COMPILED_ABOVE
    )
