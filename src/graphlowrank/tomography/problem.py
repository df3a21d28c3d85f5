"""The optimization problem for fixed graphs: measurements, smoothness, loss, and its minimization."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np

from .._checks import without_mask
from .._typing import Array
from ..graphs import knn_graph, path_graph
from ..preprocessing.robust_statistics import MAD_TO_STD
from ..solvers.bounded_cg import bounded_cg
from ..solvers.solution import Solution
from .operators import as_operator, check_image_shape, row_subset

POWER_STEPS = 30
POWER_SAFETY = 1.05  # power iterations approach the norm from below
MIN_SCALE = 1e-2  # smallest noise scale, as a fraction of the mean absolute reading
HUBER_CORNER = 1.345  # in standard deviations; 95 % efficiency for normal noise
L1_CORNER = 0.1  # "l1" is the Huber loss with this corner, in standard deviations


@dataclass(frozen=True, eq=False)
class Measurements:
    """Linear measurements ``b = A vec(X) + noise``, without the missing ones."""

    A: Any  # LinearOperator (m, height * width), pixels in row-major order
    b: Array  # (m,) readings
    shape: tuple[int, int]  # height and width of X
    unit: float  # mean squared norm of a column of A: the mean curvature of a pixel
    norm: float  # upper bound of the largest eigenvalue of A^T A

    @classmethod
    def of(cls, A: Any, b: Any, shape: tuple[int, int]) -> Self:
        """Validate measurements, and drop missing readings."""
        shape = check_image_shape(shape)
        operator, readings = as_operator(A, shape), np.asarray(without_mask(b), dtype=np.float64)
        n_readings = operator.shape[0]
        if readings.shape != (n_readings,):
            raise ValueError(f"b must have a reading for each of the {n_readings} rows of A, got {readings.shape}.")
        if np.isinf(readings).any():
            raise ValueError("b has infinite readings; use NaN where there is none.")
        seen = ~np.isnan(readings)
        if not seen.any():
            raise ValueError("every reading in b is missing.")
        if not seen.all():
            operator, readings = as_operator(row_subset(operator, seen), shape), readings[seen]
        return cls(operator, readings, shape, *_measure_operator(operator))

    def residual(self, x: Array) -> Array:
        """``b - A x``."""
        return self.b - self.A.matvec(x)


def _measure_operator(A: Any) -> tuple[float, float]:
    """Estimate ``unit`` by Hutchinson's trace estimator and ``norm`` by power iterations."""
    rng, n = np.random.default_rng(0), A.shape[1]
    signs = rng.choice([-1.0, 1.0], (8, n))
    unit = float(np.mean([np.sum(A.matvec(v) ** 2) for v in signs])) / n
    v, norm = rng.standard_normal(n), 0.0
    for _ in range(POWER_STEPS):
        v = A.rmatvec(A.matvec(v / np.linalg.norm(v)))
        norm = float(np.linalg.norm(v))
        if norm == 0:
            raise ValueError("A is zero on every image: there is nothing to reconstruct from.")
    return unit, POWER_SAFETY * norm


@dataclass(frozen=True, eq=False)
class Smoothness:
    """``gamma_features tr(X^T L_rows X) + gamma_samples tr(X L_columns X^T)``, in units of the measurements."""

    rows: Any
    columns: Any
    gamma_features: float
    gamma_samples: float

    @classmethod
    def around(cls, X: Array, n_neighbors: int, chain: float, gammas: tuple[float, float], unit: float) -> Self:
        """Build the graphs of the rows and columns of an estimate X; with ``chain`` = 1 they do not depend on it."""
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
        """Upper bound of the largest eigenvalue: that of a Laplacian is at most twice its largest degree."""
        return sum(
            2 * gamma * float(L.diagonal().max())
            for gamma, L in ((self.gamma_features, self.rows), (self.gamma_samples, self.columns))
            if L is not None
        )


def _laplacian(points: Array, n_neighbors: int, chain: float) -> Any:
    """``chain`` times the Laplacian of the path graph plus ``1 - chain`` times that of the nearest neighbors."""
    k = min(n_neighbors, len(points) - 1)
    if k < 1:
        return None
    L = chain * _path_laplacian(len(points))
    if chain < 1:
        neighbors = knn_graph(np.ascontiguousarray(points), k, neighbors="exact")
        L = L + (1 - chain) * neighbors.unit_laplacian()
    return L.tocsr()


@lru_cache(maxsize=4)  # for few rows it takes as long as the neighbor search
def _path_laplacian(n_nodes: int) -> Any:
    return path_graph(n_nodes).unit_laplacian()


@dataclass(frozen=True)
class HuberLoss:
    """Huber loss ``r^2`` for ``|r| <= corner``, ``corner (2 |r| - corner)`` beyond; least squares if it is infinite."""

    corner: float = np.inf

    @classmethod
    def named(cls, name: str, residual: Array, readings: Array) -> Self:
        """Loss of a name, with its corner scaled by the residual of a first estimate."""
        if name == "l2":
            return cls()
        scale = MAD_TO_STD * float(np.median(np.abs(residual)))
        # A first estimate may fit all readings, as where each reading is a pixel.
        scale = max(scale, MIN_SCALE * float(np.mean(np.abs(readings))), float(np.finfo(float).tiny))
        return cls(scale * (L1_CORNER if name == "l1" else HUBER_CORNER))

    def value(self, residual: Array) -> float:
        """Sum of the losses."""
        if self.corner == np.inf:
            return float(residual @ residual)
        size = np.abs(residual)
        return float(np.sum(np.where(size <= self.corner, size**2, self.corner * (2 * size - self.corner))))

    def weights(self, residual: Array) -> Array | None:
        """Weights of iteratively reweighted least squares: a quadratic majorizer that touches the loss at residual."""
        return None if self.corner == np.inf else self.corner / np.maximum(np.abs(residual), self.corner)


def objective(data: Measurements, smooth: Smoothness, loss: HuberLoss, x: Array) -> float:
    """``loss(A vec(X) - b)`` plus the smoothness of X."""
    X = x.reshape(data.shape)
    return loss.value(data.residual(x)) + float(np.sum(X * smooth.gradient(X)))


def descend(
    data: Measurements, smooth: Smoothness, loss: HuberLoss, x: Array, *, nonnegative: bool, tol: float, max_iter: int
) -> Solution:
    """Minimize for fixed graphs by conjugate gradients, for one set of weights of the loss.

    The objective never increases. Its values are those of the quadratic majorizer if the loss is not least squares.
    """
    start = np.maximum(x, 0) if nonnegative else x
    w = loss.weights(data.residual(start))

    def apply(v: Array) -> Array:
        Av = data.A.matvec(v)
        return data.A.rmatvec(Av if w is None else w * Av) + smooth.gradient(v.reshape(data.shape)).ravel()

    right = data.A.rmatvec(data.b if w is None else w * data.b)
    found = bounded_cg(
        apply, right, x, norm=data.norm + smooth.norm, nonnegative=nonnegative, tol=tol, max_iter=max_iter
    )
    # The majorizer touches the loss at the start, which fixes its constant.
    constant = objective(data, smooth, loss, start) - 2 * found.objective[0]
    return replace(found, objective=[2 * value + constant for value in found.objective])


def optimality(data: Measurements, smooth: Smoothness, loss: HuberLoss, x: Array, *, nonnegative: bool) -> float:
    """Norm of the projected gradient relative to that at zero; it vanishes only at a minimum."""
    residual = data.residual(x)
    w = loss.weights(residual)
    pull = data.A.rmatvec(residual if w is None else w * residual)
    gradient = smooth.gradient(x.reshape(data.shape)).ravel() - pull
    if nonnegative:
        gradient = np.where(x > 0, gradient, np.minimum(gradient, 0))
    at_zero = data.A.rmatvec(data.b if w is None else w * data.b)
    return float(np.linalg.norm(gradient) / max(np.linalg.norm(at_zero), np.finfo(float).tiny))
