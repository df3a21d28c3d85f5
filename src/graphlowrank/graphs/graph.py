"""The graph record, Laplacians, and the validation of graphs given by users."""

from dataclasses import InitVar, dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from scipy.sparse.csgraph import connected_components

from .._checks import check_csr, check_permutation, without_mask
from .._typing import Array
from .locality import RENUMBERED_ABOVE, Renumbered, breadth_first_order, renumber

LaplacianKind = Literal["combinatorial", "normalized"]

SYMMETRY_RTOL = 1e-5  # accepts float32 matrices symmetrized with rounding errors, rejects directed graphs
LARGEST_WEIGHT = 1e150  # squares must not overflow; nor vanish, so 1e-150 is the least for the largest weight
COMPILED_ABOVE = 500_000  # stored entries; below, scipy finishes before numba has loaded


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An undirected graph with edge weights.

    Parameters
    ----------
    weights : csr_array of shape (n_nodes, n_nodes)
        Symmetric, positive, with an empty diagonal, or ValueError is raised; :func:`as_graph` wraps other matrices.
    order : ndarray of shape (n_nodes,) or None, default=None
        Permutation that keeps neighbors close together. It speeds up work on large graphs and changes no result.
    validate : bool, default=True
        Whether to check both, which takes as long as transposing the weights. False is for weights that are symmetric
        by construction: compiled code may crash on others.

    Examples
    --------
    >>> from graphlowrank.graphs import path_graph
    >>> graph = path_graph(4)
    >>> graph
    Graph(n_nodes=4, n_edges=3, n_components=1)
    >>> graph.laplacian().diagonal()
    array([1., 2., 2., 1.])
    """

    weights: sp.csr_array
    order: Array | None = None
    validate: InitVar[bool] = True

    def __post_init__(self, validate: bool) -> None:
        # Compiled loops trust all of this: that of random walks writes out of bounds if an edge has one direction only.
        if not validate:
            return
        check_csr(self.weights, "weights", least=0)
        if self.weights.shape[0] != self.weights.shape[1] or not self.n_nodes:
            raise ValueError(f"weights must be square and not empty, got shape {self.weights.shape}.")
        largest = float(self.weights.data.max(initial=0))
        if largest and not 1 / LARGEST_WEIGHT <= largest <= LARGEST_WEIGHT:
            raise ValueError(f"the largest weight is {largest:g}: divide all by it, as only their ratios matter.")
        if not self.weights.data.all() or self.weights.diagonal().any():
            raise ValueError("weights must not store zeros or a diagonal; graphs.as_graph removes both.")
        if not _is_symmetric(self.weights, SYMMETRY_RTOL * largest):
            raise ValueError("weights must be symmetric; graphs.as_graph validates a matrix and wraps it.")
        if self.order is not None:
            check_permutation(self.order, "order", self.n_nodes)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.weights.shape[0])

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return int(self.weights.nnz // 2)

    @cached_property
    def degrees(self) -> Array:
        """Sum of the edge weights at each node, (n_nodes,)."""
        return np.asarray(self.weights.sum(axis=1)).ravel()

    @cached_property
    def components(self) -> Array:
        """Connected component of each node, numbered from 0, (n_nodes,)."""
        if self.weights.nnz < COMPILED_ABOVE:
            return np.asarray(connected_components(self.weights, directed=False)[1])
        if self.order is None or self.n_nodes <= RENUMBERED_ABOVE:
            return self._search[0]
        return self.renumbered.restore(breadth_first_order(self.renumbered.weights)[0])

    @cached_property
    def _search(self) -> tuple[Array, Array]:
        return breadth_first_order(self.weights)

    @property
    def n_components(self) -> int:
        """Number of connected components; an isolated node is one."""
        return int(self.components.max()) + 1

    @cached_property
    def renumbered(self) -> Renumbered:
        """The same graph in a cache-friendly numbering, for loops over the edges of a large graph."""
        if self.n_nodes <= RENUMBERED_ABOVE:
            return Renumbered(self.weights, None)
        return renumber(self.weights, self._search[1] if self.order is None else self.order)

    def permuted(self, order: Array) -> "Graph":
        """Graph whose node i is node ``order[i]`` of this one."""
        weights = self.weights[order][:, order]
        weights.sort_indices()
        return Graph(weights, validate=False)

    def promoted(self, dtype: DTypeLike) -> "Graph":
        """Graph with weights of at least this precision: a Laplacian is singular up to the rounding of its own."""
        if np.result_type(self.weights.dtype, dtype) == self.weights.dtype:
            return self
        return Graph(self.weights.astype(dtype), self.order, validate=False)

    def laplacian(self, kind: LaplacianKind = "combinatorial") -> sp.csr_array:
        """Laplacian of the graph, see :func:`graphlowrank.graphs.laplacian`."""
        return laplacian(self.weights, kind)

    def unit_laplacian(self, kind: LaplacianKind = "combinatorial") -> sp.csr_array:
        """Laplacian divided by its mean diagonal, which makes gammas comparable across graphs.

        The largest eigenvalue would be no good divisor: it is about the largest degree, so one hub would weaken the
        whole term.
        """
        L = self.laplacian(kind)
        mean_degree = float(L.diagonal().mean(dtype=np.float64))
        if mean_degree > 0:
            L.data /= L.dtype.type(mean_degree)  # in place: dividing the sparse matrix would promote float32
        return L

    def __repr__(self) -> str:
        return f"Graph(n_nodes={self.n_nodes}, n_edges={self.n_edges}, n_components={self.n_components})"


GraphLike: TypeAlias = Graph | Array | sp.sparray | sp.spmatrix
"""A graph, or a symmetric matrix of edge weights."""


def as_graph(value: GraphLike, n_nodes: int | None = None, *, name: str = "graph") -> Graph:
    """Validate a graph or matrix of edge weights; returns a graph itself, or one with a copy of the entries.

    Parameters
    ----------
    value : Graph, ndarray or sparse matrix of shape (n_nodes, n_nodes)
        A matrix must be square, symmetric, finite and non-negative. Its diagonal is ignored.
    n_nodes : int or None, default=None
        Number of nodes it must have.
    name : str, default="graph"
        Name used in error messages.

    Examples
    --------
    >>> as_graph(np.array([[0.0, 2.0], [2.0, 0.0]]))
    Graph(n_nodes=2, n_edges=1, n_components=1)
    """
    graph = value if isinstance(value, Graph) else Graph(_checked_weights(value, name))
    if n_nodes is not None and graph.n_nodes != n_nodes:
        raise ValueError(f"{name} has {graph.n_nodes} nodes, but the data need {n_nodes}.")
    return graph


def _is_symmetric(weights: sp.csr_array, tolerance: float) -> bool:
    """Whether each edge is stored once in each direction, with weights that differ by at most ``tolerance``."""
    transposed = weights.T.tocsr()  # sorts the indices
    if not weights.has_sorted_indices:
        weights = transposed.T.tocsr()
    same = all(np.array_equal(getattr(weights, part), getattr(transposed, part)) for part in ("indptr", "indices"))
    same = same and weights.has_canonical_format
    return same and float(np.abs(weights.data - transposed.data).max(initial=0)) <= tolerance


def _checked_weights(value: GraphLike, name: str) -> sp.csr_array:
    """Return a fresh CSR array of the edge weights, or raise."""
    if isinstance(value, str) or not (sp.issparse(value) or hasattr(value, "__array__") or isinstance(value, list)):
        raise TypeError(f"{name} must be a Graph or a matrix of weights, got {value!r}.")
    weights = sp.csr_array(without_mask(value), copy=True)
    if weights.ndim != 2 or weights.shape[0] != weights.shape[1]:
        raise ValueError(f"{name} must be square, got shape {weights.shape}.")
    if not (np.issubdtype(weights.dtype, np.number) or weights.dtype == bool) or np.iscomplexobj(weights):
        raise TypeError(f"{name} must hold real numbers, got dtype {weights.dtype}.")
    if weights.dtype != np.float32:
        weights = weights.astype(np.float64)
    if not np.all(np.isfinite(weights.data)):
        raise ValueError(f"{name} has NaN or infinite weights.")
    if weights.nnz and weights.data.min() < 0:
        raise ValueError(f"{name} has negative weights.")
    weights.data[weights.indices == np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))] = 0  # the diagonal
    weights.sum_duplicates()
    weights.eliminate_zeros()
    asymmetry = abs(weights - weights.T)
    if weights.nnz and asymmetry.nnz and asymmetry.max() > SYMMETRY_RTOL * weights.data.max():
        raise ValueError(f"{name} is not symmetric; pass `W.maximum(W.T)` to keep an edge if either end has it.")
    if asymmetry.nnz:
        weights = weights.maximum(weights.T).tocsr()
    return weights


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
