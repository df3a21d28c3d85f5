"""Scores of recovered matrices: how far from the truth, of which rank, how smooth on a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from .._backend import Array
from ..graphs import Graph, as_graph, lowest_eigenpairs
from ..linalg.svd import RANK_THRESHOLD, rank_of
from ._shapes import same_shape


def recovery_error(X_true: Any, X_recovered: Any) -> float:
    """Relative error ``||X_recovered - X_true||_F / ||X_true||_F``.

    A truth of zeros makes it 0 if they are recovered, else infinite.

    Examples
    --------
    >>> recovery_error([[3.0, 4.0]], [[3.0, 4.5]])
    0.1
    """
    truth, recovered = same_shape(X_true, X_recovered)
    truth = truth.astype(np.float64, copy=False)
    error, size = float(np.linalg.norm(recovered - truth)), float(np.linalg.norm(truth))
    if size == 0:
        return float("inf") if error > 0 else 0.0
    return error / size


def approximate_rank(X: Any, threshold: float = RANK_THRESHOLD) -> int:
    """Count the singular values of at least ``threshold`` times the first (Algorithm 2, step 2).

    Parameters
    ----------
    X
        (n_samples, n_features). It is not centred.
    threshold
        Above 0, at most 1. Values too small to tell from rounding are not counted, however low it is.

    Examples
    --------
    >>> approximate_rank([[5.0, 0.0], [0.0, 0.4]])
    1
    """
    X = check_array(X, dtype=[np.float64, np.float32], input_name="X")
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be above 0 and at most 1; got {threshold!r}.")
    rounding = max(X.shape) * float(np.finfo(X.dtype).eps)  # as numpy.linalg.matrix_rank has it
    return rank_of(np.linalg.svd(X, compute_uv=False), max(threshold, rounding))


def graph_alignment(X: Any, graph: Graph | Any, k: int) -> float:
    """Share of the energy of ``X`` in the ``k`` smoothest signals of a graph: ``||P_k^T X||_F^2 / ||X||_F^2``.

    ``P_k`` holds the first k eigenvectors of the combinatorial Laplacian, as in the definition of a low-rank matrix on
    graphs; a constant column is then smooth. 1 means that every column of ``X`` is in their span. White noise
    has about ``k / n_nodes``. A matrix of zeros has 1, since no energy is elsewhere.

    Parameters
    ----------
    X
        (n_nodes, n_columns); pass ``X.T`` with a graph between its columns.
    graph
        A ``Graph`` or symmetric weight matrix between the rows of ``X``.
    k
        Between 1 and n_nodes. Where eigenvalues k and k + 1 are equal, ``P_k`` is one choice among many and so is the
        share: take at least one signal for each connected component.

    Examples
    --------
    >>> from graphlowrank.graphs import path_graph
    >>> round(graph_alignment([[1.0], [2.0], [3.0], [4.0]], path_graph(4), 2), 3)
    0.999
    """
    X = check_array(X, dtype=[np.float64, np.float32], input_name="X")
    basis = lowest_eigenpairs(as_graph(graph, n_nodes=len(X)), k)[1]
    return min(energy_share(basis, X), 1.0)  # rounding may lift a share just above 1, which no share is


def energy_share(basis: Array, points: Array) -> float:
    """``||Q^T X||^2 / ||X||^2`` for an orthonormal basis Q (n, k) and data X (n, anything); 1 where X is 0."""
    energy = float(np.einsum("ij,ij->", points, points, dtype=np.float64))
    return float(np.sum((basis.T @ points) ** 2)) / energy if energy > 0 else 1.0
