"""How many clusters there are, where nobody says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from .._backend import Array
from .._threads import single_threaded_libraries
from ..clustering import modularity_along
from ..clustering.labels import k_means
from ..graphs import Graph, knn_graph
from ..preprocessing.sparse import Data
from ..reduction import kron_reduce
from ..sampling import draw

LOOKED_AT = 1000  # samples in a draw
SHARE = 0.8  # of the samples, where there are fewer: draws must differ for their agreement to mean anything
DRAWS = 3
MOST = 60  # clusters


@dataclass(frozen=True)
class ClusterCount:
    """Number of clusters, and why in a sentence."""

    n_clusters: int
    reason: str


def count_clusters(
    X: Data, n_neighbors: int, rng: np.random.RandomState, *, graph: Graph | None = None, at_most: int = MOST
) -> ClusterCount:
    """Count the clusters of ``X``, from neighbour graphs of a few draws of its samples.

    The largest gap between eigenvalues of the normalised Laplacian is believed if it comes at the same place in every
    draw. Else many small clusters are merged as long as the modularity rises, and the middle count of
    the draws is taken. Data without clusters are cut into several all the same: it answers how many, not whether.

    Parameters
    ----------
    X
        (n_samples, n_features), scaled.
    n_neighbors
        Neighbours of each sample.
    rng
        Draws samples and starts k-means.
    graph
        Of all samples, where one is given; it is reduced to the draws.
    at_most
        Clusters that there can be.
    """
    size = min(LOOKED_AT, max(int(SHARE * len(X)), 2))
    most = min(at_most, MOST, size // 4)
    if most < 2:
        return ClusterCount(1, f"{len(X)} samples are too few to tell")
    gaps, counts = [], []
    for _ in range(DRAWS):
        part = draw(graph or len(X), size, random_state=rng)
        among = knn_graph(X[part], min(n_neighbors, size - 1), neighbors="exact") if graph is None else None
        among = among or kron_reduce(graph, part, random_state=rng)
        values, vectors = _lowest(among, most)
        gaps.append(int(np.diff(values)[1:].argmax()) + 2)
        counts.append(_most_modular(among, vectors, rng))
    if len(set(gaps)) == 1:
        return ClusterCount(gaps[0], f"the largest gap of the sample graph's eigenvalues, in {DRAWS} draws of {DRAWS}")
    places = ", ".join(map(str, gaps))
    return ClusterCount(int(np.median(counts)), f"highest modularity; the largest gap of eigenvalues moves ({places})")


def _lowest(graph: Graph, n_pairs: int) -> tuple[Array, Array]:
    """First eigenvalues, one more than ``n_pairs``, and eigenvectors."""
    with single_threaded_libraries():
        return eigh(
            graph.laplacian("normalized").astype(np.float64).toarray(), subset_by_index=[0, n_pairs],
            overwrite_a=True, check_finite=False,
        )  # fmt: skip


def _most_modular(graph: Graph, vectors: Array, rng: np.random.RandomState) -> int:
    """Clusters with the highest modularity among those that small ones are merged to."""
    n_fine = vectors.shape[1] - 1
    points = vectors[:, : max(n_fine // 2, 2)]
    points = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), np.finfo(np.float64).tiny)
    fine = k_means(points, n_fine, 1, rng, fewer=True)
    return int(np.argmax(modularity_along(graph.weights, fine))) + 1
