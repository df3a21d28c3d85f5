"""Coherence of a graph: how much energy smooth signals can have on a single node."""

from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms

from .._threads import single_threaded_libraries
from .._typing import Array, RandomState
from ..graphs import Graph, GraphLike, LaplacianKind, as_graph
from ..graphs.spectrum import NotConvergedError, Spectrum, estimate_spectrum, lowest_eigenpairs, null_space, white_noise
from ..linalg.chebyshev import apply_polynomial, step_coefficients

Method = Literal["auto", "exact", "estimate"]

# Few eigenvectors are cheaper than the many filtered vectors of an estimate: for k = 10, 6 s instead of 8 s on MNIST
# (70000 nodes), 194 s instead of 442 s on a million nodes.
EXACT_K_UP_TO = 32
EXACT_UP_TO = 3000  # nodes: eigenvectors take a second or two for any k
NOISE_BLOCK = 32  # random vectors filtered at a time; limits the memory to about 3 x 32 numbers per node


@single_threaded_libraries()
def local_coherence(
    graph: GraphLike,
    k: int,
    *,
    method: Method = "auto",
    kind: LaplacianKind = "combinatorial",
    n_vectors: int | None = None,
    spectrum: Spectrum | None = None,
    random_state: RandomState = None,
) -> Array:
    """Local coherence ``||Q_k^T e_i||^2``: the largest share of its energy that a k-smooth signal can have on node i.

    These (n_nodes,) numbers between 0 and 1 sum to k (estimates: to about k).

    Parameters
    ----------
    graph : Graph or matrix of edge weights of shape (n_nodes, n_nodes)
    k : int
        Number of smooth signals: Q_k holds the first k eigenvectors of the Laplacian.
    method : {"auto", "exact", "estimate"}, default="auto"
        "exact" computes the eigenvectors. "estimate" filters random vectors (Puy et al. 2016), in time linear in the
        edges for any k; its relative error is about ``sqrt(2 / n_vectors)``, and the filter may pass an eigenvector
        more or less than k. "auto" is exact up to 3000 nodes or 32 signals, unless the eigensolver does not converge.
    kind : {"combinatorial", "normalized"}, default="combinatorial"
        Laplacian.
    n_vectors : int or None, default=None
        Number of random vectors of the estimate; None for 4 log n, at least 32.
    spectrum : Spectrum or None, default=None
        Result of :func:`graphlowrank.graphs.estimate_spectrum`; None computes it.
    random_state : int, RandomState or None, default=None
        Seed of the estimate.

    Examples
    --------
    >>> from graphlowrank.graphs import path_graph
    >>> local_coherence(path_graph(3), 2).round(2)
    array([0.83, 0.33, 0.83])
    """
    graph = as_graph(graph)
    if 1 <= k < graph.n_components:
        raise ValueError(f"k={k} is less than the {graph.n_components} connected components of the graph.")
    if method not in ("auto", "exact", "estimate"):
        raise ValueError(f"method must be 'auto', 'exact' or 'estimate', got {method!r}.")
    if method == "exact" or (method == "auto" and (graph.n_nodes <= EXACT_UP_TO or k <= EXACT_K_UP_TO)):
        try:
            return row_norms(lowest_eigenpairs(graph, k, kind=kind)[1], squared=True)
        except NotConvergedError:
            if method == "exact":
                raise
    known: Array = null_space(graph, kind).power(2).sum(axis=1)
    n_left = k - graph.n_components
    if n_left == 0:
        return known
    n_vectors = n_vectors or max(32, int(np.ceil(4 * np.log(graph.n_nodes))))
    rest = _filtered_energy(graph, k, kind, n_vectors, spectrum, check_random_state(random_state))
    # The squares of the other n_left eigenvectors sum to n_left. Rescaling to that sum removes the noise common to all
    # nodes, and the energy lost in the transition band of the filter.
    return np.minimum(known + rest * (n_left / rest.sum()), 1.0)


def _filtered_energy(
    graph: Graph, k: int, kind: LaplacianKind, n_vectors: int, spectrum: Spectrum | None, rng: np.random.RandomState
) -> Array:
    """Energy of low-pass filtered white noise on each node; the filter passes k signals, the null space is removed."""
    spectrum = spectrum or estimate_spectrum(graph, k, kind=kind, random_state=rng)
    cutoff = (spectrum.eigenvalue(k) + spectrum.eigenvalue(k + 1)) / 2
    L = graph.laplacian(kind)
    order = int(min(spectrum.order, np.ceil(spectrum.sharp_order(cutoff))))
    coefficients = step_coefficients(cutoff, order, spectrum.upper)
    energy = np.zeros(graph.n_nodes)
    for first in range(0, n_vectors, NOISE_BLOCK):
        noise = white_noise(graph, min(NOISE_BLOCK, n_vectors - first), kind, rng)
        filtered = apply_polynomial(L, noise, coefficients, spectrum.upper)
        energy += row_norms(filtered, squared=True)
    return energy


def cumulative_coherence(graph: GraphLike, k: int, **options: Any) -> float:
    """Cumulative coherence ``nu_k = max_i sqrt(n) ||Q_k^T e_i||`` of the paper: how hard the graph is to sample.

    It lies between sqrt(k), where smooth signals are spread evenly (rings, equal clusters), and sqrt(n), where one can
    be concentrated on a single node (an isolated one).

    Parameters
    ----------
    graph : Graph or matrix of edge weights of shape (n_nodes, n_nodes)
    k : int
        Number of smooth signals.
    **options
        Of :func:`local_coherence`; with ``method="estimate"`` the maximum of its n estimates is biased upwards.

    Examples
    --------
    >>> from graphlowrank.graphs import grid_graph
    >>> round(cumulative_coherence(grid_graph((8, 8)), 4), 3)
    2.924
    """
    coherence = local_coherence(graph, k, **options)
    return float(np.sqrt(len(coherence) * coherence.max()))


def optimal_distribution(graph: GraphLike, k: int, *, uniform_share: float = 0.0, **options: Any) -> Array:
    """Return sampling probabilities (n_nodes,) proportional to the local coherence (Puy et al. 2016, section 2.2).

    With them about ``k log k`` draws suffice on any graph; uniform sampling may need all nodes.

    Parameters
    ----------
    graph, k, **options
        As in :func:`local_coherence`.
    uniform_share : float, default=0.0
        Weight of the uniform distribution mixed in. It makes every node possible and bounds the importance weights by
        ``1 / uniform_share``, at the price of ``1 / (1 - uniform_share)`` times the draws.

    Examples
    --------
    >>> from graphlowrank.graphs import path_graph
    >>> optimal_distribution(path_graph(3), 2).round(2)
    array([0.42, 0.17, 0.42])
    """
    if not 0 <= uniform_share <= 1:
        raise ValueError(f"uniform_share must be between 0 and 1, got {uniform_share}.")
    coherence = local_coherence(graph, k, **options)
    return (1 - uniform_share) * coherence / coherence.sum() + uniform_share / len(coherence)
