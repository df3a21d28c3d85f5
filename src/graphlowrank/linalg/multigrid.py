"""Algebraic multigrid as a preconditioner, for many right-hand sides at once."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp
from scipy.linalg import pinvh

from .._typing import Array
from .products import spmm

STRONG = 0.25  # edges of at least this share of a node's largest edge weight hold an aggregate together
DAMPING = 1.6  # 2 / (1 + 1/4): optimal for eigenvalues of the scaled matrix between 1/4 and 1
COARSEST = 200  # unknowns solved densely


@dataclass(frozen=True, eq=False)
class Level:
    """One level of the hierarchy."""

    A: sp.csr_array
    prolong: sp.csr_array  # from the next coarser level
    restrict: sp.csr_array  # to the next coarser level
    step: Array  # (n, 1) of the smoother


def pyamg_installed() -> bool:
    """Whether pyamg is installed; it is not imported."""
    return find_spec("pyamg") is not None


def multigrid(A: sp.csr_array, *, coarsest: int = COARSEST) -> Callable[[Array], Array]:
    """Preconditioner (n, k) -> (n, k) for a sparse symmetric positive definite A: one V-cycle of smoothed aggregation.

    pyamg builds the levels (Vanek, Mandel, Brezina, Computing 56, 1996). Its own cycles take one right-hand side at a
    time, so the cycle is ours. The smoother divides by the absolute row sums (Baker, Falgout, Kolev, Yang, SIAM J. Sci.
    Comput. 33, 2011): no eigenvalue has to be estimated, and the cycle is always positive definite.
    """
    levels, inverse = hierarchy(A, coarsest)
    return lambda R: _cycle(levels, inverse, R).astype(R.dtype, copy=False)


def hierarchy(A: sp.csr_array, max_coarse: int = COARSEST) -> tuple[list[Level], Array]:
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
        max_coarse=max_coarse,
    ).levels
    levels = [_level(sp.csr_array(level.A), sp.csr_array(level.P)) for level in built[:-1]]
    # A pseudo-inverse: rounding may leave no Cholesky factor. Smoothing handles the eigenvalues that count as zero.
    return levels, pinvh(built[-1].A.toarray())


def _level(A: sp.csr_array, prolong: sp.csr_array) -> Level:
    sizes = abs(A).sum(axis=1)[:, None]
    # A row of a coarse matrix may be empty, where the smoothed prolongation is zero.
    step = np.divide(DAMPING, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return Level(A, prolong, prolong.T.tocsr(), step)


def _cycle(levels: list[Level], inverse: Array, B: Array) -> Array:
    """Smooth, correct on the coarser level, smooth again; equal sweeps before and after keep the map symmetric."""
    if not levels:
        return inverse @ B
    level = levels[0]
    X = level.step * B
    X = X + level.prolong @ _cycle(levels[1:], inverse, level.restrict @ (B - spmm(level.A, X)))
    return X + level.step * (B - spmm(level.A, X))
