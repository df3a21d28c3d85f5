"""Laplacians of weighted graphs."""

from typing import Literal

import numpy as np
import scipy.sparse as sp

LaplacianKind = Literal["combinatorial", "normalized"]


def laplacian(weights: sp.csr_array, kind: LaplacianKind = "combinatorial") -> sp.csr_array:
    """Laplacian of a symmetric matrix of edge weights.

    Parameters
    ----------
    weights : csr_array of shape (n_nodes, n_nodes)
        Symmetric, non-negative, with an empty diagonal.
    kind : {"combinatorial", "normalized"}, default="combinatorial"
        "combinatorial" is ``D - W``; its null vectors are constant on each connected component. "normalized" is
        ``I - D^(-1/2) W D^(-1/2)`` with eigenvalues in [0, 2]; its null vectors are the square roots of the degrees, so
        it suits centered data only. The row of an isolated node is zero in both.

    Examples
    --------
    >>> laplacian(sp.csr_array([[0.0, 2.0], [2.0, 0.0]])).toarray()
    array([[ 2., -2.],
           [-2.,  2.]])
    """
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    if kind == "combinatorial":
        return (sp.diags_array(degrees, format="csr") - weights).astype(weights.dtype).tocsr()
    if kind != "normalized":
        raise ValueError(f"laplacian must be 'combinatorial' or 'normalized', got {kind!r}.")
    connected = degrees > 0
    inverse_root = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=connected)
    scaled = weights.data * np.repeat(inverse_root, np.diff(weights.indptr)) * inverse_root[weights.indices]
    diagonal = sp.diags_array(connected.astype(weights.dtype), format="csr")
    adjacency = sp.csr_array((scaled, weights.indices, weights.indptr), shape=weights.shape)
    return (diagonal - adjacency).astype(weights.dtype).tocsr()
