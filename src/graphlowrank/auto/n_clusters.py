"""Estimate the number of clusters.

Constants were chosen on digits, USPS, MNIST, ORL, PIE, Yale and two single-cell sets.
"""

import numpy as np
from scipy.linalg import eigh

from .._typing import Array
from ..clustering.kmeans import k_means
from ..clustering.refinement import modularity_path
from ..graphs import Graph, as_graph, knn_graph
from ..options import Options, is_auto
from ..preprocessing.sparse import Data
from ..reduction import kron_reduce
from ..sampling import draw
from .choice import AS_GIVEN, Choice
from .downsampling import n_kept
from .structure import check_structure

N_SAMPLES = 1000  # in a draw
SHARE = 0.8  # of the samples in a draw, if there are fewer: draws must differ for their agreement to count
N_DRAWS = 3
MAX_CLUSTERS = 60


def choose_n_clusters(X: Data, options: Options, rng: np.random.RandomState) -> tuple[Choice, Choice]:
    """Return or estimate the number of clusters of scaled data without missing values, and decide if there are any."""
    structure = check_structure(X, options)
    if not is_auto(options.n_clusters):
        return Choice("n_clusters", int(options.n_clusters), AS_GIVEN), structure
    if not structure.value:
        return Choice("n_clusters", 1, f"no clusters: {structure.reason}"), structure
    graph = None if isinstance(options.sample_graph, str | None) else as_graph(options.sample_graph)
    at_most = n_kept(options, (X.shape[0], X.shape[1]))[0]
    return estimate_n_clusters(X, int(options.n_neighbors), rng, graph=graph, at_most=at_most), structure


def estimate_n_clusters(
    X: Data, n_neighbors: int, rng: np.random.RandomState, *, graph: Graph | None = None, at_most: int = MAX_CLUSTERS
) -> Choice:
    """Estimate the number of clusters from neighbor graphs of a few draws of the samples.

    The largest eigengap of the normalized Laplacian decides if it is at the same place in every draw. Else small
    clusters are merged along increasing modularity, and the median count of the draws is returned. A given
    ``graph`` of all samples is reduced to the draws.
    """
    size = min(N_SAMPLES, max(int(SHARE * len(X)), 2))
    most = min(at_most, MAX_CLUSTERS, size // 4)
    if most < 2:
        return Choice("n_clusters", 1, f"{len(X)} samples are too few to estimate it")
    gaps, counts = [], []
    for _ in range(N_DRAWS):
        part = draw(graph or len(X), size, random_state=rng)
        if graph is None:
            reduced = knn_graph(X[part], min(n_neighbors, size - 1), neighbors="exact")
        else:
            reduced = kron_reduce(graph, part, random_state=rng)
        values, vectors = _lowest_eigenpairs(reduced, most)
        gaps.append(int(np.diff(values)[1:].argmax()) + 2)
        counts.append(_most_modular(reduced, vectors, rng))
    if len(set(gaps)) == 1:
        return Choice("n_clusters", gaps[0], f"largest eigengap of the sample graph, in {N_DRAWS} draws of {N_DRAWS}")
    places = ", ".join(map(str, gaps))
    reason = f"highest modularity; the largest eigengap differs between draws ({places})"
    return Choice("n_clusters", int(np.median(counts)), reason)


def _lowest_eigenpairs(graph: Graph, n_pairs: int) -> tuple[Array, Array]:
    """First ``n_pairs + 1`` eigenpairs of the normalized Laplacian."""
    return eigh(
        graph.laplacian("normalized").astype(np.float64).toarray(), subset_by_index=[0, n_pairs],
        overwrite_a=True, check_finite=False,
    )  # fmt: skip


def _most_modular(graph: Graph, vectors: Array, rng: np.random.RandomState) -> int:
    """Return the number of clusters of highest modularity when small clusters are merged."""
    n_fine = vectors.shape[1] - 1
    points = vectors[:, : max(n_fine // 2, 2)]
    points = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), np.finfo(np.float64).tiny)
    fine, _ = k_means(points, n_fine, 1, rng)
    return int(np.argmax(modularity_path(graph.weights, fine))) + 1
