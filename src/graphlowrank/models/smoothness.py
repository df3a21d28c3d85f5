"""Smoothness on the sample and the feature graph."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._backend import namespace
from .._typing import Array
from ..linalg.eigen import diagonal_bound, largest_eigenvalue
from ..linalg.products import spmm


def curvature(L: Any, gamma: float, n_nodes: int, *, uniform: bool) -> Array:
    """(n_nodes,) diagonal of a matrix >= the Hessian ``2 gamma L`` of one term, for step sizes.

    ``uniform``: equal entries, the largest eigenvalue. Otherwise each is in proportion to the node's degree.
    """
    if not gamma:
        return np.zeros(n_nodes)
    bound = np.full(n_nodes, largest_eigenvalue(L, exact=True)) if uniform else diagonal_bound(L)
    return 2 * gamma * bound.astype(np.float64)


@dataclass(frozen=True, eq=False)
class TwoGraphSmoothness:
    """``gamma_samples tr(X^T L_s X) + gamma_features tr(X L_f X^T)`` for X (n_samples, n_features).

    A Laplacian may be None where its gamma is 0.
    """

    L_samples: Any
    L_features: Any
    gamma_samples: float
    gamma_features: float

    def value(self, X: Array) -> float:
        """Value at X."""
        xp = namespace(X)
        total = 0.0
        if self.gamma_samples:
            total += self.gamma_samples * float(xp.sum(X * spmm(self.L_samples, X)))
        if self.gamma_features:
            total += self.gamma_features * float(xp.sum(X * self._along_features(X)))
        return total

    def grad(self, X: Array) -> Array:
        """``2 (gamma_samples L_s X + gamma_features X L_f)``."""
        G = namespace(X).zeros_like(X)
        if self.gamma_samples:
            G = spmm(self.L_samples, X) * (2 * self.gamma_samples)
        if self.gamma_features:
            G = G + self._along_features(X) * (2 * self.gamma_features)
        return G

    def _along_features(self, X: Array) -> Array:
        """``X L_f``; a sparse L_f is symmetric and multiplies X^T from the left."""
        if hasattr(self.L_features, "tocsr"):
            return spmm(self.L_features, X.T).T
        return X @ self.L_features
