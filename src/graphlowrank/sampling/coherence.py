"""How much of the smooth signals of a graph sits on each node: what sampling must not miss."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from .._backend import Array
from ..graphs import Graph, as_graph
from ..graphs.laplacian import LaplacianKind
from ..graphs.spectrum import NotConvergedError, Spectrum, estimate_spectrum, lowest_eigenpairs, null_space, white_noise
from ..linalg.chebyshev import apply_polynomial, step_coefficients

Method = Literal["auto", "exact", "estimate"]

# Few eigenvectors are cheaper than the many filtered vectors of an estimate: k = 10, MNIST (70000 nodes) 6 s against
# 8 s, a million nodes 194 s against 442 s.
EXACT_K_UP_TO = 32
EXACT_UP_TO = 3000  # nodes: eigenvectors take a second or two, whatever k
NOISE_BLOCK = 32  # random vectors filtered at a time: bounds the memory at about 3 x 32 numbers a node


def local_coherence(
    graph: Graph | Any,
    k: int,
    *,
    method: Method = "auto",
    kind: LaplacianKind = "combinatorial",
    n_vectors: int | None = None,
    spectrum: Spectrum | None = None,
    random_state: Any = None,
) -> Array:
    """``||Q_k^T e_i||^2`` for each node i: the largest share of its energy that a k-smooth signal can have there.

    Parameters
    ----------
    graph
        A ``Graph`` or symmetric weight matrix.
    k
        Number of smooth signals: Q_k holds the first k eigenvectors of the Laplacian.
    method
        "exact" computes the eigenvectors. "estimate" filters random vectors (Puy et al. 2016): linear in the edges,
        any k; a value is within a factor of about ``1 +- sqrt(2 / n_vectors)``, for a band that may hold an eigenvector
        more or less than k. "auto" is exact up to 3000 nodes or 32
        signals, and estimates where the eigenvectors do not converge.
    kind
        Which Laplacian.
    n_vectors
        Random vectors of the estimate; None takes 4 log n, at least 32.
    spectrum
        An estimate from :func:`graphlowrank.graphs.estimate_spectrum` to use; None makes one.
    random_state
        Seed of the estimate.

    Returns
    -------
    coherence
        (n_nodes,) numbers between 0 and 1 that sum to k (estimates: about k).

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
            vectors = lowest_eigenpairs(graph, k, kind=kind)[1]
            return np.einsum("ij,ij->i", vectors, vectors)
        except NotConvergedError:
            if method == "exact":
                raise
    known = null_space(graph, kind).power(2).sum(axis=1)
    n_left = k - graph.n_components
    if n_left == 0:
        return known
    rest = _filtered_energy(graph, k, kind, n_vectors, spectrum, random_state)
    # The rest of the band holds n_left eigenvectors, whose squares sum to n_left: this takes the noise that all nodes
    # share, and the energy lost at the filter's edge, out of the estimate.
    return np.minimum(known + rest * (n_left / rest.sum()), 1.0)


def _filtered_energy(
    graph: Graph,
    k: int,
    kind: LaplacianKind,
    n_vectors: int | None,
    spectrum: Spectrum | None,
    random_state: Any,
) -> Array:
    """Energy on each node of white noise, null space taken out, behind a low-pass filter that lets k signals pass."""
    n_vectors = n_vectors or max(32, int(np.ceil(4 * np.log(graph.n_nodes))))
    rng = check_random_state(random_state)
    spectrum = spectrum or estimate_spectrum(graph, k, kind=kind, random_state=rng)
    cut = (spectrum.eigenvalue(k) + spectrum.eigenvalue(k + 1)) / 2
    L = graph.laplacian(kind)
    order = int(min(spectrum.order, np.ceil(spectrum.sharp_order(cut))))
    coefficients = step_coefficients(cut, order, spectrum.upper)
    energy = np.zeros(graph.n_nodes)
    for first in range(0, n_vectors, NOISE_BLOCK):
        noise = white_noise(graph, min(NOISE_BLOCK, n_vectors - first), kind, rng)
        passed = apply_polynomial(L, noise, coefficients, spectrum.upper)
        energy += np.einsum("ij,ij->i", passed, passed)
    return energy


def cumulative_coherence(graph: Graph | Any, k: int, **options: Any) -> float:
    """``nu_k = max_i sqrt(n) ||Q_k^T e_i||`` (the paper's graph cumulative coherence): how hard the graph is to sample.

    It lies between sqrt(k), where smooth signals spread evenly (rings, equal groups), and sqrt(n), where one can sit on
    a single node (an isolated one).

    Parameters
    ----------
    graph, k, **options
        As in :func:`local_coherence`. The largest of n noisy estimates is too large rather than too small.

    Examples
    --------
    >>> from graphlowrank.graphs import grid_graph
    >>> round(cumulative_coherence(grid_graph((8, 8)), 4), 3)
    2.924
    """
    coherence = local_coherence(graph, k, **options)
    return float(np.sqrt(len(coherence) * coherence.max()))


def optimal_distribution(graph: Graph | Any, k: int, *, uniform_share: float = 0.0, **options: Any) -> Array:
    """Give each node a sampling probability in proportion to the local coherence (Puy et al. 2016, section 2.2).

    With them about ``k log k`` draws suffice on any graph; uniform ones may need all nodes.

    Parameters
    ----------
    graph, k, **options
        As in :func:`local_coherence`.
    uniform_share
        Part mixed in of the uniform distribution: keeps every node possible and bounds the importance weights by
        ``1 / uniform_share``, for ``1 / (1 - uniform_share)`` times the draws.

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
