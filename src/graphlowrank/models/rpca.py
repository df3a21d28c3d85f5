"""Robust PCA (principal component pursuit): the well-known convex model without graphs, to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from .._backend import Array
from .._threads import map_ranges
from ..solvers.fista import Callback

GROWTH = 1.5
LARGEST_PENALTY = 1e7  # of the first one
SKETCHED_SHARE = 0.1  # ranks up to this share of the shorter side cost less by a sketch than by a Gram matrix,
SKETCHED_FROM = 200  # from this length of the shorter side on
OVERSAMPLING = 10
RESOLVED = 16  # a Gram matrix tells singular values from 16 sqrt(eps) of the largest on
EPS_FLOOR = 8  # residuals below 8 eps are rounding
BLOCK = 1 << 15  # entries worked on at a time, so that they stay in cache


@dataclass(frozen=True, eq=False)
class LowRankPlusSparse:
    """Answer of :func:`solve_rpca`.

    Attributes
    ----------
    low_rank, sparse
        (n, p) parts. Zeros of the sparse part are exact.
    dual
        (n, p) multiplier Y of ``L + S = X``; at the optimum a subgradient of both terms.
    rank
        Rank of ``low_rank``.
    n_iter, converged
        Iterations made, and whether the stopping rule was met.
    residual
        ``||X - L - S||_F / ||X||_F``.
    """

    low_rank: Array
    sparse: Array
    dual: Array
    rank: int
    n_iter: int
    converged: bool
    residual: float


def solve_rpca(
    X: Array,
    *,
    weight: float | None = None,
    tol: float = 1e-7,
    max_iter: int = 1000,
    growth: float = GROWTH,
    callback: Callback | None = None,
) -> LowRankPlusSparse:
    """``argmin_{L, S} ||L||_* + weight ||S||_1`` subject to ``L + S = X``.

    Inexact augmented Lagrange multipliers (Lin, Chen and Ma 2010), in the precision of X.

    Parameters
    ----------
    X
        (n, p) data, finite; not written to.
    weight
        Price of an entry of S, > 0; None takes ``1 / sqrt(max(n, p))``, the choice of Candès et al. (2011).
    tol
        Relative residual to stop at. Values below 8 eps (1e-6 in single precision) mean 8 eps: less cannot be measured.
    max_iter
        Iterations allowed.
    growth
        Factor, > 1, by which the penalty grows. A smaller one is slower and comes nearer to the optimum, which the
        residual does not speak of.
    callback
        Called with (iteration, residual).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.outer(np.ones(20), np.arange(1.0, 21.0))
    >>> X[3, 4] += 50
    >>> answer = solve_rpca(X)
    >>> answer.rank, np.argwhere(answer.sparse).tolist(), round(float(answer.sparse[3, 4]), 3)
    (1, [[3, 4]], 50.0)
    """
    X, largest = _validated(X)
    weight = 1 / float(np.sqrt(max(X.shape))) if weight is None else float(weight)
    if not 0 < weight < np.inf:
        raise ValueError(f"weight must be positive, got {weight}.")
    if not tol >= 0 or max_iter < 1 or not growth > 1:
        raise ValueError(f"needs tol >= 0, max_iter >= 1, growth > 1; got {tol}, {max_iter} and {growth}.")
    if largest == 0:
        return LowRankPlusSparse(X.copy(), X.copy(), X.copy(), 0, 0, converged=True, residual=0.0)
    unit = largest if not 1e-12 < largest < 1e12 else 1.0  # so that squares neither overflow nor vanish
    scaled = X if unit == 1 else X / X.dtype.type(unit)
    tol = max(tol, EPS_FLOOR * float(np.finfo(X.dtype).eps))
    found = _Multipliers(scaled, weight, largest / unit, growth)
    residual, n_iter, converged = np.inf, 0, False
    while n_iter < max_iter and not converged:
        residual, n_iter = found.advance(), n_iter + 1
        converged = residual < tol and not found.truncated
        if callback is not None:
            callback(n_iter, residual)
    low_rank, sparse, dual = found.parts()
    if unit != 1:
        low_rank *= unit
        sparse *= unit
    return LowRankPlusSparse(low_rank, sparse, dual, found.rank, n_iter, converged=converged, residual=residual)


def _validated(X: Any) -> tuple[Array, float]:
    """``X`` as a contiguous matrix of single or double precision, and its largest modulus."""
    X = np.asarray(X)
    if X.ndim != 2 or X.size == 0:
        raise ValueError(f"X must be a matrix with entries, got shape {X.shape}.")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X must hold real numbers, got {X.dtype}.")
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    X = np.ascontiguousarray(X, dtype=dtype)
    largest = float(max(X.max(), -X.min()))
    if not np.isfinite(largest):
        raise ValueError("X contains NaN or infinity.")
    return X, largest


class _Multipliers:
    """The iterates, in four arrays of the size of X that are overwritten in place.

    With penalty mu and ``E = Y / mu``, a step is ::

        L = shrink(X - S + E, 1 / mu)           singular values
        S = soft(X - L + E, weight / mu)        entries
        E = E + X - L - S                       = clip(X - L + E, +-weight / mu)

    so the new E alone tells S, and its change is the residual.
    """

    def __init__(self, X: Array, weight: float, largest: float, growth: float) -> None:
        self.X, self.weight, self.growth = X, weight, growth
        self.size = float(np.linalg.norm(X))
        self.spectral = _spectral_norm(X)
        self.mu = 1.25 / self.spectral
        self.largest_mu = LARGEST_PENALTY * self.mu
        dual_norm = max(self.spectral, largest / weight)
        self.E = X * X.dtype.type(1 / (dual_norm * self.mu))
        bound = weight / self.mu
        self.M = np.clip(X + self.E, -bound, bound)  # X - S + E for S = soft(X + E)
        self.low = np.zeros_like(X)
        self.squares = np.zeros(-(-X.size // BLOCK))
        self.shrinkage = _Shrinkage(min(X.shape))
        self.rank, self.truncated, self.edge = 0, False, 0.0

    def advance(self) -> float:
        """One iteration; return the relative residual."""
        self.rank, self.truncated = self.shrinkage(self.M, 1 / self.mu, self.spectral, out=self.low)
        bound, mu = self.weight / self.mu, self.mu
        self.mu = min(self.growth * mu, self.largest_mu)
        carry = mu / self.mu
        self.edge = self.X.dtype.type(bound) * self.X.dtype.type(carry)  # |E| where S is not zero
        map_ranges(
            _advance_entries, len(self.squares),
            *(A.reshape(-1) for A in (self.X, self.low, self.E, self.M)), bound, carry, self.squares,
        )  # fmt: skip
        return float(np.sqrt(self.squares.sum())) / self.size

    def parts(self) -> tuple[Array, Array, Array]:
        """L, S and Y. The iterates end here: S takes the memory of M, Y that of E."""
        sparse = np.subtract(self.X, self.M, out=self.M)
        sparse += self.E
        sparse[np.abs(self.E) < self.edge] = 0
        self.E *= self.X.dtype.type(self.mu)
        return self.low, sparse, self.E


def _advance_entries(
    start: int, stop: int, X: Array, low: Array, E: Array, M: Array, bound: float, carry: float, squares: Array
) -> None:
    """Update of E (for the next penalty), of ``M = X - S + E`` and of the squared residual, block by block."""
    buffer = np.empty(BLOCK, dtype=X.dtype)
    for block in range(start, stop):
        part = slice(block * BLOCK, (block + 1) * BLOCK)
        x, low_rank, e, m = X[part], low[part], E[part], M[part]
        clipped = buffer[: len(x)]
        np.add(x, e, out=clipped)
        clipped -= low_rank
        np.clip(clipped, -bound, bound, out=clipped)
        np.subtract(clipped, e, out=m)  # X - L - S
        squares[block] = np.einsum("i,i->", m, m)  # not by BLAS, whose threads would compete with ours
        np.multiply(clipped, carry, out=e)
        m += low_rank
        m += e


class _Shrinkage:
    """Singular-value shrinkage that remembers rank and subspace of the last call."""

    def __init__(self, shorter: int) -> None:
        self.shorter = shorter
        self.predicted = min(10, shorter)
        self.right: Array | None = None
        self.rng = np.random.default_rng(0)

    def __call__(self, M: Array, threshold: float, spectral: float, out: Array) -> tuple[int, bool]:
        """Write the shrunk M to ``out``; return its rank, and whether more singular values may pass the threshold."""
        if self.shorter >= SKETCHED_FROM and self.predicted <= SKETCHED_SHARE * self.shorter:
            left, values, right = self._sketch(M)
            kept = int(np.sum(values > threshold))
            truncated = kept >= self.predicted
            np.matmul(left[:, :kept] * (values[:kept] - M.dtype.type(threshold)), right[:, :kept].T, out=out)
        else:
            kept, truncated = _shrink_by_gram(M, threshold, spectral, self.predicted, out), False
        # Lin, Chen and Ma (2010), section 4: one more than found, or a jump where all of them passed.
        grown = kept + 1 if kept < self.predicted else kept + round(0.05 * self.shorter)
        self.predicted = min(max(grown, 1), self.shorter)
        return kept, truncated

    def _sketch(self, M: Array) -> tuple[Array, Array, Array]:
        """Leading singular triplets by two steps of subspace iteration from the last subspace."""
        width = min(self.predicted + OVERSAMPLING, self.shorter)
        known = 0 if self.right is None else min(self.right.shape[1], width - OVERSAMPLING // 2)
        right = self.rng.standard_normal((M.shape[1], width), dtype=M.dtype)
        if self.right is not None:
            right[:, :known] = self.right[:, :known]
        for _ in range(2):
            left = np.linalg.qr(M @ right)[0]
            right, small = np.linalg.qr(M.T @ left)
        rotation_right, values, rotation_left = np.linalg.svd(small)
        self.right = right @ rotation_right
        return left @ rotation_left.T, values, self.right


def _shrink_by_gram(M: Array, threshold: float, spectral: float, predicted: int, out: Array) -> int:
    """Shrink the singular values of M by the eigenvectors of its smaller Gram matrix; return the rank."""
    precision = _gram_precision(M.dtype, threshold / spectral)
    if precision is None:
        left, values, right = np.linalg.svd(M, full_matrices=False)
        kept = int(np.sum(values > threshold))
        np.matmul(left[:, :kept] * (values[:kept] - M.dtype.type(threshold)), right[:kept], out=out)
        return kept
    wide = M.shape[0] <= M.shape[1]
    gram = _gram(M if wide else M.T, precision)
    options: dict[str, Any] = {"overwrite_a": True, "check_finite": False}
    if predicted > 0.25 * len(gram):  # then all eigenvectors cost less than a part of them
        eigenvalues, vectors = eigh(gram, driver="evd", **options)
        passed = eigenvalues > threshold**2
        eigenvalues, vectors = eigenvalues[passed], vectors[:, passed]
    else:
        eigenvalues, vectors = eigh(gram, subset_by_value=(threshold**2, np.inf), **options)
    vectors = vectors.astype(M.dtype, copy=False)
    weighted = vectors * (1 - threshold / np.sqrt(eigenvalues)).astype(M.dtype)
    if 2 * len(eigenvalues) > len(gram):  # one product with a square matrix costs less than two with factors
        square = weighted @ vectors.T
        np.matmul(square if wide else M, M if wide else square, out=out)
    elif wide:
        np.matmul(weighted, vectors.T @ M, out=out)
    else:
        np.matmul(M @ vectors, weighted.T, out=out)
    return len(eigenvalues)


def _gram_precision(dtype: Any, share: float) -> Any:
    """Cheapest precision of a Gram matrix that resolves singular values at this share of the largest; or None."""
    for precision in (dtype, np.dtype(np.float64)):
        if share > RESOLVED * np.sqrt(np.finfo(precision).eps):
            return precision
    return None


def _gram(M: Array, dtype: Any) -> Array:
    """``M M^T`` in the given precision, by blocks of columns."""
    if M.dtype == dtype:
        return M @ M.T
    gram = np.zeros((len(M), len(M)), dtype=dtype)
    columns = max(1, 2_000_000 // len(M))
    for start in range(0, M.shape[1], columns):
        block = M[:, start : start + columns].astype(dtype)
        gram += block @ block.T
    return gram


def _spectral_norm(X: Array) -> float:
    """Largest singular value, by power steps until it moves by less than 1e-4."""
    vector = np.random.default_rng(0).standard_normal((X.shape[1],)).astype(X.dtype)
    value, last = 1.0, 0.0
    for _ in range(100):
        if abs(value - last) <= 1e-4 * value:
            break
        vector /= np.linalg.norm(vector)
        image = X @ vector
        last, value = value, float(np.linalg.norm(image))
        if value == 0:
            break
        vector = (image / value) @ X  # of size value, not its square, which may overflow
    return value
