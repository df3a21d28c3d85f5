"""Graph-Laplacian PCA (Jiang, Ding, Luo, Tang, 2013)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from .._threads import single_threaded_libraries
from .._typing import Array
from ..linalg.eigen import dense_eigenpairs, lanczos_eigenpairs
from ..linalg.products import product, spmm
from ..linalg.svd import positive_signs
from .checks import as_real, check_laplacian, largest_entry, safe_unit

DENSE_UP_TO = 500  # samples; all eigenvectors then take less time than a few by Lanczos
MANY, DENSE_FOR_MANY = 1 / 30, 5000  # and up to 5000 if more than this share of them is requested
TOLERANCES = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-9}
RESTARTS = 300


@dataclass(frozen=True, eq=False)
class Embedding:
    """Factors of X, which is close to ``scores @ components``.

    Attributes
    ----------
    scores, components
        (n, k) coordinates of the samples, and (k, p) directions.
    values
        (k,) eigenvalues by which the components are ordered, largest first.
    """

    scores: Array
    components: Array
    values: Array


def solve_glpca(
    X: Array,
    L_samples: Any,
    n_components: int,
    *,
    beta: float = 0.5,
    null: Array | None = None,
    dense: bool | None = None,
) -> Embedding:
    """``argmin_{Q, C} (1 - beta) ||X - Q C||_F^2 / a + beta tr(Q^T L_samples Q) / b`` subject to ``Q^T Q = I``.

    a and b are the largest eigenvalues of ``X X^T`` and of the Laplacian, so beta = 0 is PCA and beta = 1 Laplacian
    eigenmaps. Q holds the lowest eigenvectors of ``(1 - beta) (I - X X^T / a) + beta (L_samples / b + z z^T)``; the
    last term, as in the paper, excludes the null vector z of the Laplacian, which carries no information. C = Q^T X.

    Parameters
    ----------
    X
        (n, p) data with centered columns; not written to.
    L_samples
        (n, n) sparse Laplacian of the samples.
    n_components, beta
        Between 1 and n - 1, and between 0 and 1.
    null
        (n,) z, of unit length; None for the constant, that of the combinatorial Laplacian.
    dense
        Whether to form the matrix, or to use its products with vectors (Lanczos). None forms it for up to 500 samples,
        or 5000 where more than a thirtieth of its eigenvectors is requested.

    Examples
    --------
    >>> import numpy as np
    >>> from graphlowrank.graphs import path_graph
    >>> X = np.array([[-1.0, -2.0], [0.0, 0.0], [1.0, 2.0]])
    >>> solve_glpca(X, path_graph(3).laplacian(), 1, beta=0.5).scores.round(3).ravel()
    array([ 0.707,  0.   , -0.707])
    """
    X = as_real(X)
    unit = safe_unit(largest_entry(X))
    X = X if unit == 1 else X / X.dtype.type(unit)
    n = len(X)
    check_laplacian(L_samples, n)
    if not 1 <= n_components < n:
        raise ValueError(f"n_components must be between 1 and {n - 1} (samples less one), got {n_components}.")
    if not 0 <= beta <= 1:
        raise ValueError(f"beta must be between 0 and 1, got {beta}.")
    if dense is None:
        dense = n <= (DENSE_FOR_MANY if n_components > MANY * n else DENSE_UP_TO)
    with single_threaded_libraries():
        quality = _quality(X, L_samples, beta, np.full(n, n**-0.5) if null is None else null)
        if dense:
            values, scores = dense_eigenpairs(quality(np.eye(n)), n_components)
        else:
            failure = (
                f"{n_components} components of {n} samples did not converge: with beta={beta} they are signals on long "
                "thin parts of the graph. Lower beta or raise n_neighbors."
            )
            values, scores = lanczos_eigenpairs(
                quality, n, n_components, failure=failure, tol=TOLERANCES[X.dtype], shift=1.0,
                ncv=min(n, 3 * n_components + 40), maxiter=RESTARTS,
            )  # fmt: skip
        scores = (scores * positive_signs(scores)).astype(X.dtype)
        return Embedding(scores, product(scores.T, X) * X.dtype.type(unit), values)


def _quality(X: Array, L_samples: Any, beta: float, null: Array) -> Callable[[Array], Array]:
    """Product with ``(1 - beta) X X^T / a - beta (L / b + z z^T)``, whose leading eigenvectors are the scores."""
    a = _largest_eigenvalue(lambda v: X.T @ (X @ v), X.shape[1], X.dtype)
    b = _largest_eigenvalue(lambda v: L_samples @ v, len(X), X.dtype)
    fit, smooth = (1 - beta) / a if a > 0 else 0.0, beta / b if b > 0 else 0.0  # constant data, no edges: no term
    z = null[:, None].astype(np.float64)

    def multiply(V: Array) -> Array:
        inner = V.astype(X.dtype, copy=False)
        result = fit * product(X, product(X.T, inner)).astype(np.float64)
        result -= smooth * spmm(L_samples, inner)
        result -= beta * z * (z.T @ V)
        return result

    return multiply


def _largest_eigenvalue(matvec: Callable[[Array], Array], n: int, dtype: Any) -> float:
    """Largest eigenvalue of a positive semi-definite matrix (n, n), to about five digits."""
    start = np.random.RandomState(0).standard_normal(n).astype(dtype)
    image = matvec(start)
    if n == 1 or not image.any():
        return float(image[0] / start[0])
    operator = LinearOperator((n, n), matvec=lambda v: matvec(v.astype(dtype, copy=False)), dtype=np.float64)
    return float(eigsh(operator, 1, which="LA", v0=start, tol=1e-5, return_eigenvectors=False)[0])
