"""Manifold-regularized matrix factorization (Zhang, Zhao, 2013)."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._threads import single_threaded_libraries
from .._typing import Array
from ..linalg.eigen import dense_eigenpairs, lanczos_eigenpairs
from ..linalg.products import product
from ..linalg.svd import positive_signs
from ..solvers.conjugate_gradients import solve_spd
from .checks import as_real, check_gamma, check_laplacian, largest_entry, safe_unit, strongest_gamma
from .glpca import Embedding

DENSE_UP_TO = 300  # features; one block of systems then takes less time than Lanczos with one vector at a time
STRONGEST = 0.7  # scores shrink as 1 / gamma; at 0.87 conjugate gradients do not end on some graphs
TOLERANCES = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-10}


def solve_mmf(X: Array, L_samples: Any, n_components: int, *, gamma: float, dense: bool | None = None) -> Embedding:
    """``argmin_{V, C} ||X - V C||_F^2 + gamma tr(V^T L_samples V)`` subject to ``C C^T = I``.

    For given C the best scores are ``V = A^-1 X C^T`` with ``A = I + gamma L_samples``. The remaining problem,
    ``max tr(C X^T A^-1 X C^T)``, is solved by the leading eigenvectors of ``X^T A^-1 X``: a global optimum. gamma = 0
    is PCA.

    Parameters
    ----------
    X, L_samples
        As for :func:`~graphlowrank.models.solve_glpca`.
    n_components, gamma
        Between 1 and min(n, p), and the weight of the graph term, >= 0.
    dense
        Whether to form the matrix, or to use its products with vectors (Lanczos). None forms it for up to 300 features,
        or where more than a third of its eigenvectors is requested.

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
    check_laplacian(L_samples, n)
    check_gamma(gamma)
    if not 1 <= n_components <= min(n, p):
        raise ValueError(f"n_components must be between 1 and {min(n, p)}, got {n_components}.")
    largest = largest_entry(X)
    if largest == 0:  # any components are optimal
        return Embedding(
            np.zeros((n, n_components), X.dtype), np.eye(n_components, p, dtype=X.dtype), np.zeros(n_components)
        )
    unit = safe_unit(largest)
    X, tol = X if unit == 1 else X / X.dtype.type(unit), TOLERANCES[X.dtype]
    # In double precision, and from 0: what the graph leaves of X is as small as the rounding of gamma L X in single.
    L = sp.csr_array(L_samples)
    strength = min(gamma, strongest_gamma(L, power=STRONGEST))
    system = sp.csr_array(sp.eye_array(n, format="csr") + strength * L.astype(np.float64))

    def smooth(B: Array) -> Array:
        if gamma == 0:
            return B
        found = solve_spd(system, B.astype(np.float64), tol=tol).warn_unless_converged("MMF", "lower gamma")
        return found.X.astype(B.dtype)

    def covariance(V: Array) -> Array:
        return product(X.T, smooth(product(X, V.astype(X.dtype)))).astype(np.float64)

    if dense is None:
        dense = p <= DENSE_UP_TO or 3 * n_components > p
    with single_threaded_libraries():
        if dense:
            values, components = dense_eigenpairs(product(X.T, smooth(X)).astype(np.float64), n_components)
        else:
            failure = f"{n_components} components of {p} features did not converge; ask for fewer."
            values, components = lanczos_eigenpairs(covariance, p, n_components, failure=failure, tol=10 * tol)
        components = (components * positive_signs(components)).astype(X.dtype)
        scores = smooth(product(X, components)) * X.dtype.type(unit)
    with np.errstate(over="ignore", under="ignore"):
        return Embedding(scores, np.ascontiguousarray(components.T), values * unit * unit)
