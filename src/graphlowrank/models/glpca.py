"""Graph-Laplacian PCA (Jiang, Ding, Luo, Tang, 2013)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from .._backend import Array, spmm
from .._threads import single_threaded_libraries
from ..linalg.shrinkage import product
from ..linalg.svd import positive_signs
from .checks import as_real, largest_entry

DENSE_UP_TO = 500  # samples, where all eigenvectors take less time than a few by Lanczos,
MANY, DENSE_FOR_MANY = 1 / 30, 5000  # and up to here if more than this share of them is wanted
TOLERANCES = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-9}
RESTARTS = 300
SINGLE_THREADED_UP_TO = 5_000_000  # entries of X; threads that wait for one another make Lanczos ten times slower


@dataclass(frozen=True, eq=False)
class Embedding:
    """Samples in few dimensions, and back: X is close to ``scores @ components``.

    Attributes
    ----------
    scores
        (n, k) coordinates of the samples.
    components
        (k, p) directions.
    values
        (k,) what the model orders directions by, best first.
    """

    scores: Array
    components: Array
    values: Array


def solve_glpca(
    X: Array, L_samples: Any, n_components: int, *, beta: float = 0.5, null: Array | None = None
) -> Embedding:
    """``argmin_{Q, C} (1 - beta) ||X - Q C||_F^2 / a + beta tr(Q^T L_samples Q) / b`` subject to ``Q^T Q = I``.

    a and b are the largest eigenvalues of ``X X^T`` and of the Laplacian, so beta = 0 is PCA and beta = 1 Laplacian
    eigenmaps. Q holds the lowest eigenvectors of ``(1 - beta) (I - X X^T / a) + beta (L_samples / b + z z^T)``; the
    last term, as in the paper, keeps the null vector z of the Laplacian out, which says nothing. C = Q^T X.

    Parameters
    ----------
    X
        (n, p) data with centred columns; not written to.
    L_samples
        (n, n) sparse Laplacian of the samples.
    n_components
        Between 1 and n - 1.
    beta
        Between 0 and 1.
    null
        (n,) z, of unit length: None for that of the combinatorial Laplacian, which is constant.

    Notes
    -----
    The matrix is formed for up to 500 samples only, or 5000 where more than a thirtieth of its eigenvectors is wanted;
    beyond, Lanczos needs its products with vectors only.

    Examples
    --------
    >>> import numpy as np
    >>> from graphlowrank.graphs import path_graph
    >>> X = np.array([[-1.0, -2.0], [0.0, 0.0], [1.0, 2.0]])
    >>> solve_glpca(X, path_graph(3).laplacian(), 1, beta=0.5).scores.round(3).ravel()
    array([ 0.707,  0.   , -0.707])
    """
    X = as_real(X)
    largest_entry(X)
    n = len(X)
    if L_samples.shape != (n, n):
        raise ValueError(f"L_samples must be {(n, n)} for X {X.shape}, got {L_samples.shape}.")
    if not 1 <= n_components < n:
        raise ValueError(f"n_components must be between 1 and {n - 1} (samples less one), got {n_components}.")
    if not 0 <= beta <= 1:
        raise ValueError(f"beta must be between 0 and 1, got {beta}.")
    dense = n <= (DENSE_FOR_MANY if n_components > MANY * n else DENSE_UP_TO)
    with single_threaded_libraries() if X.size <= SINGLE_THREADED_UP_TO else nullcontext():
        operator = _Quality(X, L_samples, beta, np.full(n, n**-0.5) if null is None else null)
        values, scores = operator.dense(n_components) if dense else operator.leading(n_components)
        scores = (scores * positive_signs(scores)).astype(X.dtype)
    with single_threaded_libraries():
        return Embedding(scores, product(scores.T, X), values)


class _Quality:
    """``(1 - beta) X X^T / a - beta (L / b + z z^T)``, whose leading eigenvectors are wanted."""

    def __init__(self, X: Array, L_samples: Any, beta: float, null: Array) -> None:
        self.X, self.L, self.null = X, L_samples, null[:, None].astype(np.float64)
        # a graph without edges, or data without variation, has nothing to say
        size = _largest(lambda v: X.T @ (X @ v), X.shape[1], X.dtype)
        steepest = _largest(lambda v: L_samples @ v, len(X), X.dtype)
        self.fit = (1 - beta) / size if size > 0 else 0.0
        self.smooth = beta / steepest if steepest > 0 else 0.0
        self.beta = beta

    def product(self, v: Array) -> Array:
        """Product with vectors (n, k), in double precision outside and that of the data inside."""
        inner = v.astype(self.X.dtype, copy=False)
        result = self.fit * (self.X @ (self.X.T @ inner)).astype(np.float64)
        result -= self.smooth * spmm(self.L, inner)
        result -= self.beta * self.null * (self.null.T @ v)
        return result

    def dense(self, k: int) -> tuple[Array, Array]:
        """All of the matrix, for few samples."""
        n = len(self.X)
        matrix = self.product(np.eye(n))
        values, vectors = eigh((matrix + matrix.T) / 2, subset_by_index=(n - k, n - 1))
        return values[::-1], vectors[:, ::-1]

    def leading(self, k: int) -> tuple[Array, Array]:
        """Lanczos, from the same start in every run."""
        n = len(self.X)
        operator = LinearOperator((n, n), matvec=self._vector, matmat=self.product, dtype=np.float64)
        start = np.random.RandomState(0).standard_normal(n)
        tol = TOLERANCES[self.X.dtype]
        try:
            values, vectors = eigsh(
                operator, k, which="LA", v0=start, ncv=min(n, 3 * k + 40), tol=tol, maxiter=RESTARTS
            )
        except ArpackNoConvergence as error:
            raise ArithmeticError(
                f"{k} components of {n} samples did not converge; with beta={self.beta} the graph's long thin parts "
                "decide. Lower beta or raise n_neighbors."
            ) from error
        order = np.argsort(-values)
        return values[order], vectors[:, order]

    def _vector(self, v: Array) -> Array:
        return self.product(v.reshape(-1, 1)).ravel()


def _largest(product: Callable[[Array], Array], n: int, dtype: Any) -> float:
    """Largest eigenvalue of a symmetric matrix (n, n) without negative ones; a unit, so a few digits of it will do."""
    start = np.random.RandomState(0).standard_normal(n).astype(dtype)
    image = product(start)
    if n == 1 or not image.any():
        return float(image[0] / start[0])
    operator = LinearOperator((n, n), matvec=lambda v: product(v.astype(dtype, copy=False)), dtype=np.float64)
    values = eigsh(operator, 1, which="LA", v0=start, tol=1e-5, return_eigenvectors=False)
    return float(values[0])
