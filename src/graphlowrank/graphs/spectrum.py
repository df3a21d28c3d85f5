"""The low end of the spectrum of a graph: exact eigenpairs, or counts estimated by filtering random vectors."""

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.utils import check_random_state

from .._checks import is_count
from .._threads import single_threaded_libraries
from .._typing import Array, RandomState
from ..linalg.chebyshev import chebyshev_moments, step_coefficients
from ..linalg.eigen import largest_eigenvalue
from ..linalg.svd import positive_signs
from .graph import Graph, GraphLike, LaplacianKind, as_graph

DENSE_UP_TO = 1500  # nodes: a dense eigenproblem takes under a second
FACTORIZED_UP_TO = 20_000  # nodes: above, a sparse factorization may exhaust the memory
LANCZOS_RESTARTS = 150  # a nearest-neighbor graph of a million nodes takes about 50
SHARPNESS = 6.0  # transition widths of the filter between 0 and an eigenvalue that it resolves


class NotConvergedError(RuntimeError):
    """The eigensolver did not converge."""


def smooth_signals(graph: Graph, rank: int) -> int:
    """Return how many eigenvectors ``rank`` signals need: at least one for each connected component."""
    return min(max(rank, graph.n_components), graph.n_nodes)


def null_space(graph: Graph, kind: LaplacianKind = "combinatorial") -> sp.csr_array:
    """Orthonormal null vectors (n_nodes, n_components), each constant on a component, or sqrt(degree) if normalized."""
    values = np.ones(graph.n_nodes) if kind == "combinatorial" else np.sqrt(graph.degrees.astype(np.float64))
    # The row of an isolated node is 0 in both Laplacians, so its indicator is a null vector.
    values = np.where(graph.degrees > 0, values, 1.0)
    norms = np.sqrt(np.bincount(graph.components, weights=values**2))
    entries = (values / norms[graph.components], (np.arange(graph.n_nodes), graph.components))
    return sp.csr_array(entries, shape=(graph.n_nodes, graph.n_components))


@single_threaded_libraries()
def lowest_eigenpairs(
    graph: GraphLike,
    k: int,
    *,
    kind: LaplacianKind = "combinatorial",
    dense_up_to: int = DENSE_UP_TO,
    factorized_up_to: int = FACTORIZED_UP_TO,
    max_restarts: int = LANCZOS_RESTARTS,
) -> tuple[Array, Array]:
    """Smallest ``k`` eigenvalues of the Laplacian and their eigenvectors.

    The null vectors follow from the connected components. The others come from a dense solver on small graphs, else
    from Lanczos iterations (a million nodes with ten neighbors, ten eigenvectors: 200 s on two cores). Long paths and
    large grids, on which Lanczos does not converge, are factorized.

    Parameters
    ----------
    graph : Graph or matrix of edge weights of shape (n_nodes, n_nodes)
    k : int
        Number of eigenpairs, between 1 and n_nodes.
    kind : {"combinatorial", "normalized"}, default="combinatorial"
        Laplacian.
    dense_up_to, factorized_up_to : int, default=1500 and 20000
        Largest numbers of nodes for the dense solver and for a factorization, which may exhaust the memory.
    max_restarts : int, default=150
        Restarts of the Lanczos iterations.

    Returns
    -------
    values : ndarray of shape (k,)
        Eigenvalues, ascending.
    vectors : ndarray of shape (n_nodes, k)
        Orthonormal eigenvectors; the largest entry of each is positive.

    Examples
    --------
    >>> from graphlowrank.graphs import path_graph
    >>> lowest_eigenpairs(path_graph(4), 3)[0].round(3)
    array([0.   , 0.586, 2.   ])
    """
    graph = _checked(graph, k)
    L, null = graph.laplacian(kind).astype(np.float64), null_space(graph, kind)
    n_null = min(k, graph.n_components)
    values, vectors = np.zeros(n_null), null[:, :n_null].toarray()
    if k > n_null:
        more, others = _nonzero_eigenpairs(L, null, k - n_null, dense_up_to, factorized_up_to, max_restarts)
        values, vectors = np.concatenate([values, more]), np.column_stack([vectors, others])
    return values, vectors * positive_signs(vectors)


def _checked(graph: GraphLike, k: int) -> Graph:
    graph = as_graph(graph)
    if not (is_count(k) and k <= graph.n_nodes):
        raise ValueError(f"k must be between 1 and {graph.n_nodes} (the number of nodes), got {k!r}.")
    return graph


def _nonzero_eigenpairs(
    L: sp.csr_array, null: sp.csr_array, k: int, dense_up_to: int, factorized_up_to: int, max_restarts: int
) -> tuple[Array, Array]:
    """Smallest ``k`` nonzero eigenvalues of L, ascending, and their eigenvectors."""
    n, upper = L.shape[0], largest_eigenvalue(L)
    # The null vectors are shifted to the top of the spectrum, so the wanted eigenvalues are its bottom.
    if n <= dense_up_to or k >= n - null.shape[1] - 1:
        return eigh(L.toarray() + 2 * upper * (null @ null.T).toarray(), subset_by_index=(0, k - 1))
    lanczos = partial(_lanczos, L, upper, max_restarts)
    try:
        values, vectors = lanczos(null, k)
        # Lanczos may miss copies of a multiple eigenvalue, which symmetric graphs (rings, grids) have.
        while lanczos(sp.hstack([null, vectors]), 1)[0][0] < values[-1] * (1 - 1e-6):
            more, others = lanczos(sp.hstack([null, vectors]), k)
            values, vectors = np.concatenate([values, more]), np.column_stack([vectors, others])
            order = np.argsort(values)[:k]
            values, vectors = values[order], vectors[:, order]
        return values, vectors
    except NotConvergedError:
        if n > factorized_up_to:
            raise
        return _by_factorization(L, null, k)


def _lanczos(L: sp.csr_array, upper: float, max_restarts: int, known: sp.sparray, k: int) -> tuple[Array, Array]:
    """Smallest ``k`` eigenpairs of L, ascending, besides the ``known`` eigenvectors, which are shifted to the top."""
    n, known = L.shape[0], known.tocsr()
    # Deterministic, and different for each number of known vectors: the old start contains no further copies.
    start = np.random.RandomState(known.shape[1]).standard_normal(n)
    start -= known @ (known.T @ start)
    # To twice the largest eigenvalue: on a complete graph all others are the largest. In its units, since ARPACK counts
    # any eigenvalue below 1e-11 as converged.
    lifted = LinearOperator(L.shape, matvec=lambda v: L @ v / upper + 2 * (known @ (known.T @ v)), dtype=np.float64)
    size = min(n, 3 * k + 40)
    try:
        values, vectors = eigsh(lifted, k=k, which="SA", v0=start, ncv=size, tol=1e-6, maxiter=max_restarts)
        return values * upper, vectors
    except ArpackNoConvergence as error:
        raise NotConvergedError(
            f"{k} eigenvectors of a graph with {n} nodes did not converge, as on long paths and large grids; "
            "graphs.estimate_spectrum and sampling.local_coherence give estimates, and only decoder='ideal' needs them."
        ) from error


def _by_factorization(L: sp.csr_array, null: sp.csr_array, k: int) -> tuple[Array, Array]:
    """Shift-invert Lanczos; cheap on graphs with small separators, such as paths and grids."""
    n, shift = L.shape[0], 1e-6 * float(L.diagonal().mean())
    wanted = min(k + null.shape[1], n - 1)  # includes the null vectors, which are dropped below
    shifted = (L + shift * sp.eye_array(n)).tocsc()
    values, vectors = eigsh(shifted, k=wanted, sigma=0, v0=np.linspace(1, 2, n), ncv=min(n, 2 * wanted + 20))
    order = np.argsort(values)[-k:]
    return np.maximum(values[order] - shift, 0.0), vectors[:, order]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Estimated number of eigenvalues below any value.

    Attributes
    ----------
    moments : ndarray of shape (order + 1,)
        Mean of ``r^T T_j(L) r`` over random vectors r orthogonal to the null space.
    upper : float
        Upper bound of the largest eigenvalue.
    n_nodes, n_null : int
        Numbers of nodes and of zero eigenvalues (connected components), which are exact.
    n_vectors : int
        Number of random vectors: a count of m nonzero eigenvalues has the standard error ``sqrt(2 m / n_vectors)``.
    """

    moments: Array
    upper: float
    n_nodes: int
    n_null: int
    n_vectors: int

    @property
    def order(self) -> int:
        """Degree of the polynomial filter."""
        return len(self.moments) - 1

    def count(self, value: float) -> float:
        """Count the eigenvalues up to ``value``, by the energy of low-pass filtered white noise."""
        filtered = float(step_coefficients(value, self.order, self.upper) @ self.moments)
        return self.n_null + max(filtered, 0.0)

    def eigenvalue(self, k: float, *, tol: float = 1e-4) -> float:
        """Estimate the ``k``-th eigenvalue (from 1): the value at which the count crosses k - 1/2, by bisection."""
        if k <= self.n_null:
            return 0.0
        low, high = 0.0, np.pi  # Chebyshev angles, in which the resolution of the filter is uniform
        while high - low > tol * high:
            middle = (low + high) / 2
            low, high = (middle, high) if self.count(self._value(middle)) < k - 0.5 else (low, middle)
        return self._value(high)

    def resolves(self, value: float) -> bool:
        """Whether the filter is sharp enough to separate ``value`` from 0."""
        return self.order >= self.sharp_order(value)

    def sharp_order(self, value: float) -> float:
        """Degree that a polynomial filter with cutoff ``value`` needs."""
        angle = np.arccos(1 - 2 * np.clip(value / self.upper, 0.0, 1.0))
        return float(SHARPNESS * np.pi / angle) if angle > 0 else np.inf

    def _value(self, angle: float) -> float:
        return float(self.upper * (1 - np.cos(angle)) / 2)


def estimate_spectrum(
    graph: GraphLike,
    k: int,
    *,
    kind: LaplacianKind = "combinatorial",
    n_vectors: int = 64,
    max_products: int = 300,
    random_state: RandomState = None,
) -> Spectrum:
    """Count eigenvalues of the Laplacian without computing any, accurately enough for the ``k``-th.

    The energy of filtered white noise counts the eigenvalues below the cutoff frequency of the filter (Puy, Tremblay,
    Gribonval, Vandergheynst 2016). The Chebyshev moments of the noise give that energy for every cutoff at once, so
    bisection costs no further products. Products with L are added until the filter resolves the k-th eigenvalue.

    Parameters
    ----------
    graph : Graph or matrix of edge weights of shape (n_nodes, n_nodes)
    k : int
        Eigenvalue of interest, from 1. For few eigenvalues :func:`lowest_eigenpairs` is exact and often faster.
    kind : {"combinatorial", "normalized"}, default="combinatorial"
        Laplacian.
    n_vectors : int, default=64
        Number of random vectors; time and memory are proportional to it. The standard error of the count is
        ``sqrt(2 k / n_vectors)``, so the estimate may be that of a nearby eigenvalue.
    max_products : int, default=300
        Maximal number of products with L; a RuntimeWarning is issued if they do not resolve the k-th eigenvalue.
    random_state : int, RandomState or None, default=None
        Seed of the random vectors.

    Examples
    --------
    >>> from graphlowrank.graphs import grid_graph
    >>> spectrum = estimate_spectrum(grid_graph((40, 40)), 400, random_state=0)
    >>> 2.2 < spectrum.eigenvalue(400) < 2.6  # it is 2.47
    True
    """
    graph = _checked(graph, k)
    if n_vectors < 1 or max_products < 1:
        raise ValueError(f"n_vectors and max_products must be positive, got {n_vectors} and {max_products}.")
    L = graph.laplacian(kind)
    upper = largest_eigenvalue(L) or 1.0
    noise = white_noise(graph, n_vectors, kind, random_state)
    next_check = 8.0
    for product, moments in enumerate(chebyshev_moments(L, noise, upper), start=1):
        if product < min(next_check, max_products):
            continue
        next_check = 1.2 * product
        spectrum = Spectrum(moments / n_vectors, upper, graph.n_nodes, graph.n_components, n_vectors)
        resolved = k <= graph.n_components or spectrum.resolves(spectrum.eigenvalue(k))
        if resolved or product == max_products:
            break
    if not resolved:
        message = f"{max_products} products with L do not separate eigenvalue {k} from 0; raise max_products."
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    return spectrum


def white_noise(graph: Graph, n_vectors: int, kind: LaplacianKind, random_state: RandomState) -> Array:
    """Draw normal random vectors (n_nodes, n_vectors), projected orthogonally to the null space of the Laplacian."""
    rng = np.random.Generator(np.random.PCG64(check_random_state(random_state).randint(2**31 - 1)))
    noise = rng.standard_normal((graph.n_nodes, n_vectors), dtype=graph.weights.dtype)
    null = null_space(graph, kind).astype(noise.dtype)
    noise -= null @ (null.T @ noise)
    return noise
