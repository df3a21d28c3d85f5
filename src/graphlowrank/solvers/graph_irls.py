"""Iteratively reweighted least squares (IRLS) of many rows whose coefficients are coupled over a graph."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._threads import map_tasks
from .._typing import Array
from ..linalg.blocks import row_blocks
from ..linalg.products import spmm
from .irls import Reweighted, products_of_rows
from .least_absolute import SLAB_ENTRIES, normal_matrices
from .solution import Solution

BLOCK_ENTRIES = 500_000  # entries of Y that one thread reads at a time
MIN_ROWS = 32  # of a block, so that products of pairs of regressors are shared
CG_TOL = 0.1  # of the linear systems, in units of that of IRLS
MAX_CG_ITER = 1000
FLOOR = 1e-3  # of residuals where the weight is singular, in units of the noise


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to fit, ``Y ~ S C``: ``read(rows)`` returns those of a slice, NaN where missing."""

    read: Callable[[slice], Array]
    C: Array  # (k, q) regressors

    def blocks(self, n_rows: int) -> list[slice]:
        """Blocks that depend on the shape alone."""
        width = max(self.C.shape[1], len(self.C) ** 2)
        return list(row_blocks(n_rows, width, entries=BLOCK_ENTRIES, min_rows=MIN_ROWS))


@dataclass(frozen=True, eq=False)
class GaussianPrior:
    """``exp(-1/2 sum_a precision_a (S - mean)_a^T P (S - mean)_a)`` for the columns a of S."""

    mean: Array  # (n, k)
    P: sp.csr_array  # (n, n) symmetric and positive definite
    precision: Array  # (k,) >= 0

    def scaled(self, gamma: float) -> "GaussianPrior":
        """Prior with ``gamma`` times the precision."""
        return GaussianPrior(self.mean, self.P, gamma * self.precision)


def graph_irls(
    rows: Rows,
    loss: Reweighted,
    prior: GaussianPrior,
    *,
    noise: float = 1.0,
    start: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = 30,
) -> Solution:
    """``argmin_S sum_ij loss(Y_ij - (S C)_ij) + 1/2 sum_a precision_a (S - mean)_a^T P (S - mean)_a``.

    Losses are scaled to ``r^2 / 2`` at 0; one that is singular there, such as "l1", to ``noise |r|``. Each step weighs
    residuals r by ``loss'(r) / r`` and solves one symmetric system for all rows and columns of S by conjugate
    gradients, which lowers the objective however early they stop. Their preconditioner inverts the (k, k) blocks of the
    diagonal. The time of a step is linear in the entries of Y and in the edges of the graph.

    Parameters
    ----------
    rows, loss, prior
        Y (n, q) in blocks, where NaN is left out, and regressors C (k, q); the loss; the prior of S (n, k).
    noise
        Standard deviation of the residuals that are not outliers.
    start
        (n, k) first iterate; None for the mean of the prior.
    tol, max_iter
        Stop when S changes by less than ``tol`` relative to its norm. The ``residual`` is the last change.
    """
    mean = prior.mean.astype(np.float64)
    S = mean if start is None else start.astype(np.float64)
    if mean.size == 0:
        return Solution.exact(prior.mean)
    change, n_iter, solved = np.inf, 0, True
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        H, slope = _normal_equations(rows, loss, S, mean, noise)
        moved, solved = _solve(H, slope, prior, S - mean, CG_TOL * tol)
        found = mean + moved
        change = float(np.linalg.norm(found - S) / max(float(np.linalg.norm(found)), np.finfo(np.float64).tiny))
        S = found
        if loss.quadratic or change <= tol:
            break
    change = 0.0 if loss.quadratic else change
    return Solution(S.astype(prior.mean.dtype), n_iter, solved and change <= tol, change)


def _normal_equations(rows: Rows, loss: Reweighted, S: Array, mean: Array, noise: float) -> tuple[Array, Array]:
    """``C W_i C^T`` (n, k, k) and ``C W_i (y_i - C^T mean_i)`` (n, k), with the weights W of the residuals of S."""
    dtype = rows.C.dtype
    n, k = S.shape
    H, slope = np.empty((n, k, k), dtype=dtype), np.empty((n, k))
    pairs = products_of_rows(rows.C) if rows.C.shape[1] * k * (k + 1) // 2 <= SLAB_ENTRIES else None

    def form(part: slice) -> None:
        Y = rows.read(part)
        weights = np.abs(Y - S[part].astype(dtype) @ rows.C)
        missing = np.isnan(Y)
        if loss.singular:
            weights = noise * loss.irls_weight(np.maximum(weights, FLOOR * noise))
        else:
            weights = loss.irls_weight(weights)
        weights[missing] = 0
        off = np.where(missing, dtype.type(0), Y - mean[part].astype(dtype) @ rows.C)
        H[part] = normal_matrices(weights, rows.C, pairs)
        slope[part] = (weights * off) @ rows.C.T

    map_tasks(form, rows.blocks(n))
    return H, slope


def _solve(H: Array, slope: Array, prior: GaussianPrior, D: Array, tol: float) -> tuple[Array, bool]:
    """Solve ``H_i D_i + (P D)_i diag(precision) = slope_i`` for all rows i together, from D; whether it converged."""
    n, k = D.shape
    inverse, diagonal = np.empty_like(H), prior.P.diagonal()
    parts = list(row_blocks(n, k * k, entries=BLOCK_ENTRIES))
    places = np.arange(k)

    def invert(part: slice) -> None:
        block = H[part].astype(np.float64)
        block[:, places, places] += diagonal[part, None] * prior.precision
        inverse[part] = np.linalg.inv(block)

    map_tasks(invert, parts)

    def times(blocks: Array, X: Array) -> Array:
        out = np.empty_like(X)
        map_tasks(lambda part: np.einsum("nab,nb->na", blocks[part], X[part], out=out[part]), parts)
        return out

    def apply(X: Array) -> Array:
        return times(H, X) + spmm(prior.P, X) * prior.precision

    R = slope - apply(D)
    target = tol * float(np.sqrt(np.sum(slope * times(inverse, slope))))
    Z = times(inverse, R)
    direction, rz = Z, float(np.sum(R * Z))
    for _ in range(MAX_CG_ITER):
        if not rz > target**2:
            return D, True
        product = apply(direction)
        step = rz / float(np.sum(direction * product))
        D = D + step * direction
        R = R - step * product
        Z = times(inverse, R)
        before, rz = rz, float(np.sum(R * Z))
        direction = Z + (rz / before) * direction
    return D, not rz > target**2
