"""The low end of a graph's spectrum: exactly by eigenvectors, or estimated at scale by filtered random vectors."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.utils import check_random_state

from .._backend import Array
from ..linalg.chebyshev import chebyshev_moments, step_coefficients
from ..linalg.eigen import largest_eigenvalue
from ..linalg.svd import positive_signs
from .graph import Graph, as_graph
from .laplacian import LaplacianKind

DENSE_UP_TO = 1500  # nodes: a dense eigenproblem takes under a second
FACTORISED_UP_TO = 20_000  # nodes: above, a sparse factorisation may fill the memory
LANCZOS_RESTARTS = 150  # a neighbour graph of a million nodes takes about 50
SHARPNESS = 6.0  # an eigenvalue is resolved when it is this many edge widths of the filter away from 0


def smooth_signals(graph: Graph, rank: int) -> int:
    """Eigenvectors to look at for ``rank`` signals: at least one for each connected component, or some go unseen."""
    return min(max(rank, graph.n_components), graph.n_nodes)


class NotConvergedError(RuntimeError):
    """Eigenvectors could not be computed."""


def null_space(graph: Graph, kind: LaplacianKind = "combinatorial") -> sp.csr_array:
    """Orthonormal null vectors (n_nodes, n_components) of the Laplacian, one on each component.

    They are constant, or sqrt(degree) for the normalized Laplacian.
    """
    values = np.ones(graph.n_nodes) if kind == "combinatorial" else np.sqrt(graph.degrees.astype(np.float64))
    # The normalized Laplacian of an isolated node is 0, so that node's own indicator is a null vector.
    values = np.where(graph.degrees > 0, values, 1.0)
    norms = np.sqrt(np.bincount(graph.components, weights=values**2))
    rows = np.arange(graph.n_nodes)
    return sp.csr_array(
        (values / norms[graph.components], (rows, graph.components)), shape=(graph.n_nodes, graph.n_components)
    )


def lowest_eigenpairs(graph: Graph | Any, k: int, *, kind: LaplacianKind = "combinatorial") -> tuple[Array, Array]:
    """First ``k`` eigenvalues (k,), ascending, and orthonormal eigenvectors (n_nodes, k) of the Laplacian.

    The null vectors are known from the components. The others come from a dense solver up to 1500 nodes, and from
    Lanczos iterations above (a million nodes with ten neighbours, ten eigenvectors: 200 s on two cores). Long chains
    and large grids, on which those do not converge, are factorised, up to 20000 nodes. The largest entry of each vector
    is positive.

    Examples
    --------
    >>> from graphlowrank.graphs import chain_graph
    >>> lowest_eigenpairs(chain_graph(4), 3)[0].round(3)
    array([0.   , 0.586, 2.   ])
    """
    graph = as_graph(graph)
    if not 1 <= k <= graph.n_nodes:
        raise ValueError(f"k must be between 1 and {graph.n_nodes} (the number of nodes), got {k}.")
    null = null_space(graph, kind)
    n_null = min(k, graph.n_components)
    values, vectors = np.zeros(n_null), null[:, :n_null].toarray()
    if k > n_null:
        L = graph.laplacian(kind).astype(np.float64)
        more, others = _nonzero_eigenpairs(L, null, k - n_null)
        values, vectors = np.concatenate([values, more]), np.column_stack([vectors, others])
    return values, vectors * positive_signs(vectors)


def _nonzero_eigenpairs(L: sp.csr_array, null: sp.csr_array, k: int) -> tuple[Array, Array]:
    """Smallest ``k`` non-zero eigenvalues of L, ascending, and their vectors."""
    n = L.shape[0]
    upper = largest_eigenvalue(L)
    # With the null vectors moved to the top of the spectrum, what is asked for is its bottom.
    if n <= DENSE_UP_TO or k >= n - null.shape[1] - 1:
        return eigh(L.toarray() + 2 * upper * (null @ null.T).toarray(), subset_by_index=(0, k - 1))
    try:
        values, vectors = _lanczos(L, null, k, upper)
        # Lanczos may find one copy only of an eigenvalue that a symmetric graph (a ring, a grid) has twice.
        while _lanczos(L, sp.hstack([null, vectors]), 1, upper)[0][0] < values[-1] * (1 - 1e-6):
            more, others = _lanczos(L, sp.hstack([null, vectors]), k, upper)
            values, vectors = _ascending(np.concatenate([values, more]), np.column_stack([vectors, others]), k)
        return values, vectors
    except NotConvergedError:
        if n > FACTORISED_UP_TO:
            raise
        return _by_factorisation(L, null, k)


def _lanczos(L: sp.csr_array, known: Any, k: int, upper: float) -> tuple[Array, Array]:
    """Smallest ``k`` eigenpairs of L besides those of the ``known`` eigenvectors, which are moved to the top."""
    n = L.shape[0]
    known = known.tocsr()
    # The same in every run; another one once more is known, since the rest of the old one holds no second copies.
    start = np.random.RandomState(known.shape[1]).standard_normal(n)
    start -= known @ (known.T @ start)
    lifted = LinearOperator(L.shape, matvec=lambda v: L @ v + upper * (known @ (known.T @ v)), dtype=np.float64)
    size = min(n, 3 * k + 40)
    try:
        values, vectors = eigsh(lifted, k=k, which="SA", v0=start, ncv=size, tol=1e-6, maxiter=LANCZOS_RESTARTS)
    except ArpackNoConvergence as error:
        raise NotConvergedError(
            f"{k} eigenvectors of a graph with {n} nodes did not converge, as on long chains and large grids; "
            "graphs.estimate_spectrum and sampling.local_coherence give estimates, and only decoder='ideal' needs them."
        ) from error
    return _ascending(values, vectors, k)


def _ascending(values: Array, vectors: Array, k: int) -> tuple[Array, Array]:
    order = np.argsort(values)[:k]
    return values[order], vectors[:, order]


def _by_factorisation(L: sp.csr_array, null: sp.csr_array, k: int) -> tuple[Array, Array]:
    """Shift-inverted Lanczos; cheap where the graph is thin, such as a chain or a grid."""
    n, shift = L.shape[0], 1e-6 * float(L.diagonal().mean())
    wanted = min(k + null.shape[1], n - 1)  # null vectors are found too, and left out
    shifted = (L + shift * sp.eye_array(n)).tocsc()
    values, vectors = eigsh(shifted, k=wanted, sigma=0, v0=np.linspace(1, 2, n), ncv=min(n, 2 * wanted + 20))
    order = np.argsort(values)[-k:]
    return np.maximum(values[order] - shift, 0.0), vectors[:, order]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Estimated number of eigenvalues below any value.

    Attributes
    ----------
    moments
        Mean of ``r^T T_j(L) r`` over random vectors r without null part.
    upper
        Largest eigenvalue, from above.
    n_nodes, n_null
        Nodes, and zero eigenvalues (components), which are counted exactly.
    n_vectors
        Random vectors used: a count of m non-zero eigenvalues has the standard error ``sqrt(2 m / n_vectors)``.
    """

    moments: Array
    upper: float
    n_nodes: int
    n_null: int
    n_vectors: int

    @property
    def order(self) -> int:
        """Degree of the filter's polynomial."""
        return len(self.moments) - 1

    def count(self, value: float) -> float:
        """Eigenvalues up to ``value``: the energy that a low-pass filter with that cut leaves of white noise."""
        filtered = float(step_coefficients(value, self.order, self.upper) @ self.moments)
        return self.n_null + max(filtered, 0.0)

    def eigenvalue(self, k: float, *, tol: float = 1e-4) -> float:
        """Estimate of the ``k``-th eigenvalue (from 1): where the count passes k - 1/2, by bisection."""
        if k <= self.n_null:
            return 0.0
        low, high = 0.0, np.pi  # in the filter's angle, in which its resolution is even
        while high - low > tol * high:
            middle = (low + high) / 2
            low, high = (middle, high) if self.count(self._value(middle)) < k - 0.5 else (low, middle)
        return self._value(high)

    def resolves(self, value: float) -> bool:
        """Whether the filter is sharp enough to tell ``value`` from 0."""
        return self.order >= self.sharp_order(value)

    def sharp_order(self, value: float) -> float:
        """Degree of polynomial that a filter with its cut at ``value`` needs."""
        angle = np.arccos(1 - 2 * np.clip(value / self.upper, 0.0, 1.0))
        return float(SHARPNESS * np.pi / angle) if angle > 0 else np.inf

    def _value(self, angle: float) -> float:
        return float(self.upper * (1 - np.cos(angle)) / 2)


def estimate_spectrum(
    graph: Graph | Any,
    k: int,
    *,
    kind: LaplacianKind = "combinatorial",
    n_vectors: int = 64,
    max_products: int = 300,
    random_state: Any = None,
) -> Spectrum:
    """Count eigenvalues of the Laplacian without computing any, sharply enough for the ``k``-th.

    The energy of filtered white noise counts the eigenvalues below the filter's cut (Puy, Tremblay, Gribonval,
    Vandergheynst 2016). The Chebyshev moments of the noise give that energy for every cut at once, so bisection costs
    no further product. Products with L are added until the filter resolves the k-th eigenvalue.

    Parameters
    ----------
    graph
        A ``Graph`` or symmetric weight matrix.
    k
        Eigenvalue of interest, from 1.
    kind
        Which Laplacian.
    n_vectors
        Random vectors. Time and memory are in proportion; the count's standard error is ``sqrt(2 k / n_vectors)``, so
        that the estimate may be that of a neighbouring eigenvalue. For few eigenvalues :func:`lowest_eigenpairs` is
        exact and often faster.
    max_products
        Products with L allowed; a warning is issued if they do not resolve the k-th eigenvalue.
    random_state
        Seed of the random vectors.

    Examples
    --------
    >>> from graphlowrank.graphs import grid_graph
    >>> spectrum = estimate_spectrum(grid_graph((40, 40)), 400, random_state=0)
    >>> 2.2 < spectrum.eigenvalue(400) < 2.6  # it is 2.47
    True
    """
    graph = as_graph(graph)
    if not 1 <= k <= graph.n_nodes:
        raise ValueError(f"k must be between 1 and {graph.n_nodes} (the number of nodes), got {k}.")
    if n_vectors < 1 or max_products < 1:
        raise ValueError(f"n_vectors and max_products must be positive, got {n_vectors} and {max_products}.")
    L = graph.laplacian(kind)
    upper = largest_eigenvalue(L) or 1.0
    noise = white_noise(graph, n_vectors, kind, random_state)
    next_look = 8.0
    for product, moments in enumerate(chebyshev_moments(L, noise, upper), start=1):
        last = product == max_products
        if not last and product < next_look:
            continue
        next_look = 1.2 * product
        spectrum = Spectrum(moments / n_vectors, upper, graph.n_nodes, graph.n_components, n_vectors)
        if k <= graph.n_components or spectrum.resolves(spectrum.eigenvalue(k)):
            break
        if last:
            warnings.warn(
                f"{max_products} products with the Laplacian do not tell eigenvalue {k} from 0; raise max_products.",
                RuntimeWarning,
                stacklevel=2,
            )
            break
    return spectrum


def white_noise(graph: Graph, n_vectors: int, kind: LaplacianKind, random_state: Any) -> Array:
    """Draw normal random vectors (n_nodes, n_vectors) with the null space of the Laplacian taken out."""
    rng = np.random.Generator(np.random.PCG64(check_random_state(random_state).randint(2**31 - 1)))
    noise = rng.standard_normal((graph.n_nodes, n_vectors), dtype=graph.weights.dtype)
    null = null_space(graph, kind).astype(noise.dtype)
    noise -= null @ (null.T @ noise)
    return noise
