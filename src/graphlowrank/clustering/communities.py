"""Communities of a graph: partitions of high modularity, with a given number of clusters.

The edge weights are scaled locally first, since a global kernel gives dense regions most of the weight. Constants were
chosen on the sets of docs/choices.md; MNIST 70000 was held out.
"""

import numpy as np
import scipy.sparse as sp

from .._threads import map_ranges
from .._typing import Array
from ..linalg.blocks import row_blocks
from ..metrics import conductance, modularity
from .refinement import MIN_SHARE, merge

LOCAL_NEIGHBOR = 7  # whose distance is the local scale, as in "Self-tuning spectral clustering" (2004)
FINE_RESOLUTION = 10.0  # of the first level: groups of about 20 samples
LEAST_RESOLUTION, LARGEST_RESOLUTION = 0.01, 20.0
N_STEPS = 14  # of the bisection of the resolution
MAX_PASSES = 20  # over the nodes, on one level
FINAL_PASSES = 3
BLOCK_ENTRIES = 2_000_000  # of the graph, grouped at a time


def locally_scaled(weights: sp.csr_array) -> sp.csr_array:
    """Edge weights ``exp(-d_ij^2 / (s_i s_j))`` from Gaussian ones: s_i is the distance of node i's 7th neighbor.

    ``-log(weight)`` serves as squared distance: the unit cancels, and so does a factor of all weights.
    """
    from ..kernels.communities import nth_smallest

    largest = weights.data.max(initial=0)
    if largest == 0:
        return weights
    squares = -np.log(np.maximum(weights.data / largest, np.finfo(weights.dtype).tiny))
    scales = np.sqrt(nth_smallest(weights.indptr, squares, LOCAL_NEIGHBOR)).astype(weights.dtype)
    products = np.repeat(scales, np.diff(weights.indptr)) * scales[weights.indices]
    # Copies have distance 0 and no scale.
    ratios = np.divide(
        squares, products, out=np.where(squares > 0, np.inf, 0).astype(weights.dtype), where=products > 0
    )
    return sp.csr_array((np.exp(-ratios), weights.indices, weights.indptr), shape=weights.shape)


def partition_cost(weights: sp.csr_array, labels: Array, n_clusters: int) -> float:
    """Mean conductance, plus what the modularity lacks of ``1 - 1 / n_clusters``, the most it can be.

    The conductance alone prefers small pieces that hang by a thread, the modularity alone clusters of equal size.
    """
    lacking = 1 - 1 / n_clusters - modularity(weights, labels)
    return conductance(weights, labels, n_clusters, min_share=MIN_SHARE) + lacking


def repeated_communities(
    weights: sp.csr_array, n_clusters: int, n_runs: int, rng: np.random.RandomState
) -> list[Array]:
    """Partitions (n_nodes,) by :func:`communities` that visit the nodes in different random orders, in threads."""
    seeds = rng.randint(2**31 - 1, size=n_runs)
    found: list[Array | None] = [None] * n_runs

    def search(start: int, stop: int) -> None:
        for run in range(start, stop):
            found[run] = communities(weights, n_clusters, np.random.RandomState(seeds[run]))

    map_ranges(search, n_runs)
    return [labels for labels in found if labels is not None]


def communities(weights: sp.csr_array, n_clusters: int, rng: np.random.RandomState) -> Array | None:
    """Partition (n_nodes,) of high modularity into ``n_clusters`` communities; None if there are not as many.

    Louvain's method, at a resolution found by bisection. The levels above the first are computed again for each
    resolution; the first, which takes most of the time, is shared, and its nodes move again at the end. If no
    resolution gives ``n_clusters`` communities, the next larger number is merged.
    """
    fine = _moved(weights, np.arange(weights.shape[0]), max(FINE_RESOLUTION, n_clusters), rng)
    groups = _between(weights, fine)
    low, high = LEAST_RESOLUTION, max(LARGEST_RESOLUTION, n_clusters)
    found: tuple[int, float, Array] | None = None
    for _ in range(N_STEPS):
        resolution = float(np.sqrt(low * high))
        labels = _louvain(groups, resolution, rng)
        count = int(labels.max()) + 1
        if count >= n_clusters and (found is None or count < found[0]):
            found = count, resolution, labels
        if count == n_clusters:
            break
        low, high = (resolution, high) if count < n_clusters else (low, resolution)
    if found is None:
        return None
    count, resolution, labels = found
    labels = merge(groups, labels, n_clusters)[fine]
    moved = _moved(weights, labels, resolution, rng, FINAL_PASSES)
    return moved if moved.max() + 1 == n_clusters else labels


def _louvain(weights: sp.csr_array, resolution: float, rng: np.random.RandomState) -> Array:
    """Communities (n_nodes,): nodes move, then groups of nodes, until nothing moves."""
    labels = np.arange(weights.shape[0])
    while True:
        groups = _moved(weights, np.arange(weights.shape[0]), resolution, rng)
        if groups.max() + 1 == weights.shape[0]:
            return labels
        labels, weights = groups[labels], _between(weights, groups)


def _moved(
    weights: sp.csr_array, labels: Array, resolution: float, rng: np.random.RandomState, max_passes: int = MAX_PASSES
) -> Array:
    """Labels, numbered from 0, after moves of single nodes that raise the modularity."""
    from ..kernels.communities import move_nodes_by_modularity

    labels, order = labels.astype(np.int64), rng.permutation(len(labels))
    graph = weights.indptr, weights.indices, weights.data
    move_nodes_by_modularity(*graph, labels, order, resolution, max_passes)
    return np.unique(labels, return_inverse=True)[1]


def _between(weights: sp.csr_array, labels: Array) -> sp.csr_array:
    """Total edge weight between every two groups (sparse), in double precision; inner edges count twice."""
    n, n_groups = len(labels), int(labels.max()) + 1
    members = sp.csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, n_groups))
    between = sp.csr_array((n_groups, n_groups))
    for rows in row_blocks(n, weights.nnz // max(n, 1), entries=BLOCK_ENTRIES):
        between = between + members[rows].T @ (weights[rows] @ members)
    between.sort_indices()  # sums of floats in a fixed order
    return between
