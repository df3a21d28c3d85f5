"""Manifold-regularised matrix factorisation (Zhang, Zhao, 2013)."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from .._backend import Array
from .._threads import single_threaded_libraries
from ..linalg.svd import positive_signs
from ..solvers.spd import solve_spd
from .checks import as_real, largest_entry
from .glpca import SINGLE_THREADED_UP_TO, Embedding

DENSE_UP_TO = 300  # features, where all of them together take less time than Lanczos with one vector at a time
TOLERANCES = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-10}


def solve_mmf(X: Array, L_samples: Any, n_components: int, *, gamma: float) -> Embedding:
    """``argmin_{V, C} ||X - V C||_F^2 + gamma tr(V^T L_samples V)`` subject to ``C C^T = I``.

    For given C the best scores are ``V = A^-1 X C^T`` with ``A = I + gamma L_samples``. What is left is to maximise
    ``tr(C X^T A^-1 X C^T)``: the leading eigenvectors of ``X^T A^-1 X`` are the optimum, without iterations or local
    minima. gamma = 0 is PCA.

    Parameters
    ----------
    X
        (n, p) data with centred columns; not written to.
    L_samples
        (n, n) sparse Laplacian of the samples.
    n_components
        Between 1 and min(n, p).
    gamma
        Weight of the graph, >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from graphlowrank.graphs import path_graph
    >>> X = np.array([[-1.0, -2.0], [0.0, 0.0], [1.0, 2.0]])
    >>> solve_mmf(X, path_graph(3).laplacian(), 1, gamma=1.0).scores.round(3).ravel()
    array([-1.118,  0.   ,  1.118])
    """
    X = as_real(X)
    n, p = X.shape
    if L_samples.shape != (n, n):
        raise ValueError(f"L_samples must be {(n, n)} for X {X.shape}, got {L_samples.shape}.")
    if not 1 <= n_components <= min(n, p):
        raise ValueError(f"n_components must be between 1 and {min(n, p)}, got {n_components}.")
    if not 0 <= gamma < np.inf:
        raise ValueError(f"gamma must be a number >= 0, got {gamma}.")
    if largest_entry(X) == 0:  # every direction is as good as any other
        return Embedding(
            np.zeros((n, n_components), X.dtype), np.eye(n_components, p, dtype=X.dtype), np.zeros(n_components)
        )
    smooth = _Smoother(L_samples, gamma, X.dtype)
    all_at_once = p <= DENSE_UP_TO or 3 * n_components > p
    with single_threaded_libraries() if X.size <= SINGLE_THREADED_UP_TO else nullcontext():
        values, components = (_all_products if all_at_once else _one_by_one)(X, smooth, n_components)
        components = (components * positive_signs(components)).astype(X.dtype)
        return Embedding(smooth(X @ components), np.ascontiguousarray(components.T), values)


class _Smoother:
    """``A^-1 B`` for A = I + gamma L."""

    def __init__(self, L: Any, gamma: float, dtype: Any) -> None:
        self.system = sp.csr_array(sp.eye_array(L.shape[0], format="csr") + gamma * sp.csr_array(L)).astype(dtype)
        self.idle, self.tol = gamma == 0, TOLERANCES[np.dtype(dtype)]

    def __call__(self, B: Array) -> Array:
        if self.idle:
            return B
        return solve_spd(self.system, B, X0=B, tol=self.tol).warn_unless_converged("MMF", "lower gamma").X


def _all_products(X: Array, smooth: _Smoother, k: int) -> tuple[Array, Array]:
    """Leading eigenpairs of the dense matrix (p, p)."""
    gram = (X.T @ smooth(X)).astype(np.float64)
    p = len(gram)
    values, vectors = eigh((gram + gram.T) / 2, subset_by_index=(p - k, p - 1))
    return values[::-1], vectors[:, ::-1]


def _one_by_one(X: Array, smooth: _Smoother, k: int) -> tuple[Array, Array]:
    """Leading eigenpairs by Lanczos, a system solved for each product."""
    p = X.shape[1]

    def product(v: Array) -> Array:
        image = smooth(X @ v.reshape(-1, 1).astype(X.dtype))
        return (X.T @ image).astype(np.float64).ravel()

    operator = LinearOperator((p, p), matvec=product, dtype=np.float64)
    start = np.random.RandomState(0).standard_normal(p)
    try:
        values, vectors = eigsh(operator, k, which="LA", v0=start, tol=10 * smooth.tol)
    except ArpackNoConvergence as error:
        raise ArithmeticError(f"{k} components of {p} features did not converge; ask for fewer.") from error
    order = np.argsort(-values)
    return values[order], vectors[:, order]
