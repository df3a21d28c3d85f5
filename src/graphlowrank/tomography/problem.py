"""The optimisation problem for fixed graphs, and what it is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from .._backend import Array
from ..graphs import knn_graph, path_graph
from ..solvers.bounded_cg import bounded_cg
from ..solvers.solution import Solution

POWER_STEPS = 30
SAFETY = 1.05  # power iterations come from below
LEAST_SIZE = 1e-2  # of small errors, in mean readings
L1_CORNER = 0.1  # l1 is Huber's loss with a corner so many times narrower
NORMAL_DEVIATION = 1.4826  # deviation of normal noise in medians of its size


@dataclass(frozen=True, eq=False)
class Measurements:
    """What was measured: ``b = A vec(X) + noise``, rows with a reading only.

    Attributes
    ----------
    A
        Linear operator (m, height * width), pixels row by row.
    b
        (m,) readings.
    shape
        Height and width of X.
    unit
        Mean square of a column of A: the curvature that a pixel has on average.
    norm
        Largest eigenvalue of A^T A, or a little more.
    """

    A: Any
    b: Array
    shape: tuple[int, int]
    unit: float
    norm: float

    @classmethod
    def of(cls, A: Any, b: Array, shape: tuple[int, int]) -> Measurements:
        """Measure the operator with a few products."""
        rng = np.random.default_rng(0)
        n = shape[0] * shape[1]
        signs = rng.choice([-1.0, 1.0], (8, n))
        unit = float(np.mean([np.sum(A.matvec(v) ** 2) for v in signs])) / n  # Hutchinson's estimate of the trace
        v = rng.standard_normal(n)
        norm = 0.0
        for _ in range(POWER_STEPS):
            v = A.rmatvec(A.matvec(v / np.linalg.norm(v)))
            norm = float(np.linalg.norm(v))
            if norm == 0:
                raise ValueError("A is zero on every image: there is nothing to reconstruct from.")
        return cls(A, b, shape, unit, SAFETY * norm)

    def residual(self, x: Array) -> Array:
        """``b - A x``."""
        return self.b - self.A.matvec(x)


@dataclass(frozen=True, eq=False)
class Smoothness:
    """``gamma_features tr(X^T L_rows X) + gamma_samples tr(X L_columns X^T)``, in units of the measurements."""

    rows: Any
    columns: Any
    gamma_features: float
    gamma_samples: float

    @classmethod
    def around(cls, X: Array, n_neighbors: int, chain: float, gammas: tuple[float, float], unit: float) -> Smoothness:
        """Graphs between the rows, and between the columns, of an estimate of the image; ``chain`` of 1 ignores it."""
        rows, columns = (_laplacian(points, n_neighbors, chain) for points in (X, X.T))
        return cls(rows, columns, unit * gammas[0], unit * gammas[1])

    def gradient(self, X: Array) -> Array:
        """Half of the gradient."""
        out = np.zeros_like(X)
        if self.rows is not None and self.gamma_features:
            out += self.gamma_features * (self.rows @ X)
        if self.columns is not None and self.gamma_samples:
            out += self.gamma_samples * (self.columns @ X.T).T
        return out

    @property
    def norm(self) -> float:
        """At least the largest eigenvalue: a Laplacian's is at most twice its largest diagonal entry."""
        return sum(
            2 * gamma * float(L.diagonal().max())
            for gamma, L in ((self.gamma_features, self.rows), (self.gamma_samples, self.columns))
            if L is not None
        )


def _laplacian(points: Array, n_neighbors: int, chain: float) -> Any:
    """``chain`` times that of the chain of neighbouring lines, and the rest that of lines that look alike."""
    k = min(n_neighbors, len(points) - 1)
    if k < 1:
        return None
    L = chain * _chain_laplacian(len(points))
    if chain < 1:
        alike = knn_graph(np.ascontiguousarray(points), k, neighbors="exact")
        L = L + (1 - chain) * alike.unit_laplacian()
    return L.tocsr()


@lru_cache(maxsize=4)  # of a few rows it takes as long as the search for neighbours
def _chain_laplacian(n_nodes: int) -> Any:
    return path_graph(n_nodes).unit_laplacian()


@dataclass(frozen=True)
class Loss:
    """``sum huber(residual)``: squares up to ``corner``; infinite for least squares."""

    corner: float = np.inf

    @classmethod
    def named(cls, name: str, residual: Array, readings: Array) -> Loss:
        """Corner of Huber's loss from the residuals of a first estimate, and at least a small part of the readings.

        A first estimate may explain every reading, as where they are entries of the image.
        """
        if name == "l2":
            return cls()
        size = NORMAL_DEVIATION * float(np.median(np.abs(residual)))
        size = max(size, LEAST_SIZE * float(np.mean(np.abs(readings))), float(np.finfo(float).tiny))
        return cls(size * (L1_CORNER if name == "l1" else 1.345))

    def value(self, residual: Array) -> float:
        """``r^2`` up to the corner, then a straight line."""
        size = np.abs(residual)
        if self.corner == np.inf:
            return float(residual @ residual)
        return float(np.sum(np.where(size <= self.corner, size**2, self.corner * (2 * size - self.corner))))

    def weights(self, residual: Array) -> Array | None:
        """Of the squares that touch the loss at these residuals and lie above it elsewhere."""
        return None if self.corner == np.inf else self.corner / np.maximum(np.abs(residual), self.corner)


def objective(data: Measurements, smooth: Smoothness, loss: Loss, x: Array) -> float:
    """``loss(A vec(X) - b)`` and the smoothness of X on its graphs."""
    X = x.reshape(data.shape)
    return loss.value(data.residual(x)) + float(np.sum(X * smooth.gradient(X)))


def descend(
    data: Measurements, smooth: Smoothness, loss: Loss, x: Array, *, nonnegative: bool, tol: float, max_iter: int
) -> Solution:
    """Make some iterations on the problem for fixed graphs; the objective never grows.

    A loss other than squares is re-weighted once: squares that lie above it and touch it at x are minimised instead.
    """
    start = np.maximum(x, 0) if nonnegative else x
    residual = data.residual(start)
    w = loss.weights(residual)

    def apply(v: Array) -> Array:
        Av = data.A.matvec(v)
        return data.A.rmatvec(Av if w is None else w * Av) + smooth.gradient(v.reshape(data.shape)).ravel()

    right = data.A.rmatvec(data.b if w is None else w * data.b)
    found = bounded_cg(
        apply, right, x, norm=data.norm + smooth.norm, nonnegative=nonnegative, tol=tol, max_iter=max_iter
    )
    # The squares touch the loss at the start: that makes the rest of the constant.
    X = start.reshape(data.shape)
    constant = loss.value(residual) + float(np.sum(X * smooth.gradient(X))) - 2 * found.objective[0]
    return replace(found, objective=[2 * value + constant for value in found.objective])


def optimality(data: Measurements, smooth: Smoothness, loss: Loss, x: Array, *, nonnegative: bool) -> float:
    """Length of the projected gradient over that at zero: it vanishes at the minimum, and only there."""
    residual = data.residual(x)
    w = loss.weights(residual)
    pull = data.A.rmatvec(residual if w is None else w * residual)
    gradient = smooth.gradient(x.reshape(data.shape)).ravel() - pull
    if nonnegative:
        gradient = np.where(x > 0, gradient, np.minimum(gradient, 0))
    at_zero = data.A.rmatvec(data.b if w is None else w * data.b)
    return float(np.linalg.norm(gradient) / max(np.linalg.norm(at_zero), np.finfo(float).tiny))
