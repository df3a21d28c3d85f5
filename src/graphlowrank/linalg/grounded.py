"""Laplacian of a graph with some nodes grounded (Dirichlet boundary)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backend import Array
from .products import spmm


@dataclass(frozen=True, eq=False)
class GroundedLaplacian:
    """Block ``L_dd`` of the free nodes d, on vectors over all nodes; rows and columns of the others are 0.

    No edge is copied. Vectors must be 0 on the grounded nodes.

    Parameters
    ----------
    weights
        (n, n) symmetric edge weights with an empty diagonal.
    free
        (n,) True for free nodes.
    degrees
        (n,) degrees in the whole graph.
    """

    weights: sp.csr_array
    free: Array
    degrees: Array

    @classmethod
    def of(cls, weights: sp.csr_array, grounded: Array) -> GroundedLaplacian:
        """Ground the nodes ``grounded``."""
        free = np.ones(weights.shape[0], dtype=bool)
        free[grounded] = False
        return cls(weights, free, np.asarray(weights.sum(axis=1)).ravel())

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the edge weights."""
        return self.weights.dtype

    def __matmul__(self, X: Array) -> Array:
        """Product with a vector that is 0 on the grounded nodes."""
        product = self.degrees[:, None] * X - spmm(self.weights, X)
        product[~self.free] = 0
        return product

    def matrix(self) -> sp.csr_array:
        """Return ``L_dd`` as a sparse matrix."""
        d = np.flatnonzero(self.free)
        return (sp.diags_array(self.degrees[d], format="csr") - self.weights[d][:, d]).tocsr()
