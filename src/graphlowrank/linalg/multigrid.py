"""Algebraic multigrid as a preconditioner, for many right-hand sides at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp
from scipy.linalg import pinvh

from .._backend import Array
from .products import spmm

STRONG = 0.25  # edges of at least this share of a node's largest edge weight hold an aggregate together
DAMPING = 1.6  # 2 / (1 + 1/4): optimal for eigenvalues of the scaled matrix between 1/4 and 1
COARSEST = 200  # unknowns solved densely


@dataclass(frozen=True, eq=False)
class _Level:
    """One level: its matrix, prolongation from and restriction to the next coarser one, step of the smoother (n, 1)."""

    A: sp.csr_array
    prolong: sp.csr_array
    restrict: sp.csr_array
    step: Array


def pyamg_installed() -> bool:
    """Whether pyamg is installed; it is not imported."""
    return find_spec("pyamg") is not None


def multigrid(A: sp.csr_array) -> Callable[[Array], Array]:
    """Preconditioner for a sparse symmetric positive definite ``A``, such as a block of a Laplacian.

    One V-cycle of smoothed aggregation [1]_: strongly connected nodes are merged level by level, and errors too smooth
    for Jacobi on one level are rough on a coarser one. pyamg builds the levels; its own cycles take one right-hand side
    at a time, so the cycle is ours. The smoother divides by the absolute row sums [2]_: no eigenvalue has to be
    estimated, and the cycle is always positive definite.

    Parameters
    ----------
    A
        (n, n).

    Returns
    -------
    Callable
        Symmetric positive definite linear map of an (n, k) block to an (n, k) block of the same dtype.

    References
    ----------
    .. [1] Vanek, Mandel, Brezina. Algebraic multigrid by smoothed aggregation. Computing 56, 1996.
    .. [2] Baker, Falgout, Kolev, Yang. Multigrid smoothers for ultraparallel computing. SIAM J. Sci. Comput. 33, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> A = sp.diags_array([[-1.0, -1.0], [2.0, 2.0, 2.0], [-1.0, -1.0]], offsets=[-1, 0, 1], format="csr")
    >>> multigrid(A)(A @ np.array([[1.0], [2.0], [3.0]])).ravel().round(6)
    array([1., 2., 3.])
    """
    levels, coarsest = _hierarchy(A)
    return lambda R: _cycle(levels, coarsest, R).astype(R.dtype, copy=False)


def _hierarchy(A: sp.csr_array) -> tuple[list[_Level], Array]:
    """Levels from fine to coarse, and the dense inverse of the coarsest matrix."""
    try:
        from pyamg import smoothed_aggregation_solver
    except ImportError as error:
        raise ImportError("The multigrid preconditioner needs pyamg: pip install graphlowrank[amg]") from error
    built = smoothed_aggregation_solver(
        # A copy, since pyamg may sort in place; built from its arrays, it has the 32-bit indices that pyamg needs.
        sp.csr_matrix((A.data, A.indices, A.indptr), shape=A.shape, copy=True),
        # Relative to a node's largest edge weight: every node then has a strong edge, so levels at least halve. The
        # usual rule, relative to the diagonal, finds none where degrees are high.
        strength=("classical", {"theta": STRONG}),
        # "local" scales by absolute row sums. The default uses numpy's global random state.
        smooth=("jacobi", {"omega": 4 / 3, "weighting": "local"}),
        improve_candidates=None,
        presmoother=None,
        postsmoother=None,
        max_levels=40,  # more than needed
        max_coarse=COARSEST,
    ).levels
    levels = [_level(sp.csr_array(level.A), sp.csr_array(level.P)) for level in built[:-1]]
    # A pseudo-inverse: rounding may leave no Cholesky factor. Smoothing handles the eigenvalues that count as zero.
    return levels, pinvh(built[-1].A.toarray())


def _level(A: sp.csr_array, prolong: sp.csr_array) -> _Level:
    sizes = abs(A).sum(axis=1)[:, None]
    # A row of a coarse matrix may be empty, where the smoothed prolongation is zero.
    step = np.divide(DAMPING, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return _Level(A, prolong, prolong.T.tocsr(), step)


def _cycle(levels: list[_Level], coarsest: Array, B: Array) -> Array:
    """Smooth, correct on the coarser level, smooth again; equal sweeps before and after keep the map symmetric."""
    if not levels:
        return coarsest @ B
    level = levels[0]
    X = level.step * B
    X = X + level.prolong @ _cycle(levels[1:], coarsest, level.restrict @ (B - spmm(level.A, X)))
    return X + level.step * (B - spmm(level.A, X))
