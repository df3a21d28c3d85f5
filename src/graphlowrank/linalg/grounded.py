"""The Laplacian of a graph some of whose nodes are held at zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._backend import Array
from .products import spmm


@dataclass(frozen=True, eq=False)
class GroundedLaplacian:
    """``L_dd`` on the free nodes d of a graph, written on all nodes: rows and columns of the others are 0.

    No entry of the graph is copied. Systems are solved for signals that are 0 on the grounded nodes.

    Parameters
    ----------
    weights
        (n, n) symmetric weights with an empty diagonal.
    free
        (n,) True for free nodes.
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
    def dtype(self) -> np.dtype:
        """Of the weights."""
        return self.weights.dtype

    def __matmul__(self, X: Array) -> Array:
        """Product with a signal that is 0 on the grounded nodes."""
        product = self.degrees[:, None] * X - spmm(self.weights, X)
        product[~self.free] = 0
        return product

    def matrix(self) -> sp.csr_array:
        """``L_dd`` itself."""
        d = np.flatnonzero(self.free)
        return (sp.diags_array(self.degrees[d], format="csr") - self.weights[d][:, d]).tocsr()
