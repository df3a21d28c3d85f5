"""Metrics of recovered matrices: relative error, rank, smoothness on a graph."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from .._checks import without_mask
from .._threads import single_threaded_libraries
from .._typing import Array
from ..graphs import GraphLike, as_graph, lowest_eigenpairs
from ..linalg.svd import RANK_THRESHOLD, rank_of


def recovery_error(X_true: ArrayLike, X_recovered: ArrayLike) -> float:
    """Relative error ``||X_recovered - X_true||_F / ||X_true||_F``.

    Parameters
    ----------
    X_true : array-like of shape (n_samples, n_features)
        True matrix. If it is zero, the error is 0 if it is recovered, else infinite.
    X_recovered : array-like of shape (n_samples, n_features)

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


@single_threaded_libraries()
def approximate_rank(X: ArrayLike, threshold: float = RANK_THRESHOLD) -> int:
    """Count the singular values of at least ``threshold`` times the first (Algorithm 2, step 2).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Matrix; it is not centered.
    threshold : float, default=0.1
        Above 0, at most 1. Singular values at the level of rounding errors are never counted.

    Examples
    --------
    >>> approximate_rank([[5.0, 0.0], [0.0, 0.4]])
    1
    """
    matrix: Array = check_array(without_mask(X), dtype=[np.float64, np.float32], input_name="X")
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be above 0 and at most 1; got {threshold!r}.")
    rounding = max(matrix.shape) * float(np.finfo(matrix.dtype).eps)  # as in numpy.linalg.matrix_rank
    return rank_of(np.linalg.svd(matrix, compute_uv=False), max(threshold, rounding))


@single_threaded_libraries()
def graph_alignment(X: ArrayLike, graph: GraphLike, k: int) -> float:
    """Share of the energy of ``X`` in the ``k`` smoothest signals of a graph: ``||P_k^T X||_F^2 / ||X||_F^2``.

    ``P_k`` holds the first k eigenvectors of the combinatorial Laplacian, as in the definition of a low-rank matrix on
    graphs. It is 1 if every column of ``X`` is in their span (also for zeros), about ``k / n_nodes`` for white noise.

    Parameters
    ----------
    X : array-like of shape (n_nodes, n_columns)
        Matrix; pass ``X.T`` with a graph of its columns.
    graph : Graph or matrix of edge weights
        Graph of the rows of ``X``.
    k : int
        Between 1 and n_nodes. If eigenvalues k and k + 1 are equal, ``P_k`` and the share are not unique: use at least
        one signal per connected component.

    Examples
    --------
    >>> from graphlowrank.graphs import path_graph
    >>> round(graph_alignment([[1.0], [2.0], [3.0], [4.0]], path_graph(4), 2), 3)
    0.999
    """
    matrix: Array = check_array(without_mask(X), dtype=[np.float64, np.float32], input_name="X")
    basis = lowest_eigenpairs(as_graph(graph, n_nodes=len(matrix)), k)[1]
    return min(energy_share(basis, matrix), 1.0)  # rounding may lift it above 1


def energy_share(basis: Array, points: Array) -> float:
    """``||Q^T X||^2 / ||X||^2`` for an orthonormal basis Q (n, k) and data X (n, n_columns); 1 if X is 0."""
    energy = float(np.einsum("ij,ij->", points, points, dtype=np.float64))
    return float(np.sum((basis.T @ points) ** 2)) / energy if energy > 0 else 1.0


def same_shape(truth: ArrayLike, other: ArrayLike) -> tuple[Array, Array]:
    """Return both as arrays; ValueError unless they have the same, non-empty shape."""
    a, b = np.asarray(without_mask(truth)), np.asarray(without_mask(other))
    if a.shape != b.shape:
        raise ValueError(f"shapes differ: {a.shape} and {b.shape}.")
    if a.size == 0:
        raise ValueError(f"nothing to compare: both have shape {a.shape}.")
    return a, b
