"""Communities of a graph: partitions of high modularity, with a given number of clusters.

The edge weights are scaled locally first, since a global kernel gives dense regions most of the weight. Constants were
chosen on the sets of docs/choices.md; MNIST 70000 was held out.
"""

import numpy as np
import scipy.sparse as sp

from .._threads import map_ranges, map_tasks
from .._typing import Array
from ..metrics import conductance, modularity
from .refinement import MIN_SHARE, merge

LOCAL_NEIGHBOR = 7  # whose distance is the local scale, as in "Self-tuning spectral clustering" (2004)
FINE_RESOLUTION = 10.0  # of the first level: groups of about 20 samples
LEAST_RESOLUTION, LARGEST_RESOLUTION = 0.01, 20.0
N_STEPS = 14  # of the bisection of the resolution
MAX_PASSES = 20  # over the nodes, on one level
FINAL_PASSES = 3
THREADED_ABOVE = 200_000  # nodes: batches of fewer are done before threads have started
N_BATCHES = 32  # of the nodes

CSR = tuple[Array, Array, Array]


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
    graph = _csr_arrays(weights)

    def search(seed: int) -> Array | None:
        order = np.random.RandomState(seed).permutation(weights.shape[0]).astype(np.int32)
        return communities(graph, n_clusters, order)

    found = map_tasks(search, rng.randint(2**31 - 1, size=n_runs))
    return [labels for labels in found if labels is not None]


def communities(graph: CSR, n_clusters: int, order: Array) -> Array | None:
    """Partition (n_nodes,) of high modularity into ``n_clusters`` communities; None if there are not as many.

    Louvain's method, with nodes visited in the given ``order`` and at a resolution found by bisection. The levels above
    the first are computed again for each resolution; the first, which takes most of the time, is shared, and its nodes
    move again at the end. If no resolution gives ``n_clusters`` communities, the next larger number is merged.
    """
    from ..kernels.communities import group_graph, louvain

    fine = np.arange(len(order), dtype=np.int32)
    groups = group_graph(*graph, fine, _move(graph, fine, order, max(FINE_RESOLUTION, n_clusters), MAX_PASSES))
    low, high = LEAST_RESOLUTION, max(LARGEST_RESOLUTION, n_clusters)
    found: tuple[int, float, Array] | None = None
    for _ in range(N_STEPS):
        resolution = float(np.sqrt(low * high))
        labels = louvain(*groups, resolution, MAX_PASSES)
        count = int(labels.max()) + 1
        if count >= n_clusters and (found is None or count < found[0]):
            found = count, resolution, labels
        if count == n_clusters:
            break
        low, high = (resolution, high) if count < n_clusters else (low, resolution)
    if found is None:
        return None
    _, resolution, labels = found
    n_groups = len(groups[0]) - 1
    merged = merge(sp.csr_array(groups[::-1], shape=(n_groups, n_groups)), labels, n_clusters)[fine]
    moved = merged.astype(np.int32)
    return moved if _move(graph, moved, order, resolution, FINAL_PASSES) == n_clusters else merged


def _csr_arrays(weights: sp.csr_array) -> CSR:
    """Row pointers, indices and edge weights in the types that the kernels are compiled for."""
    return weights.indptr.astype(np.int64), weights.indices.astype(np.int32), weights.data.astype(np.float64)


def _move(graph: CSR, labels: Array, order: Array, resolution: float, max_passes: int) -> int:
    """Move single nodes while the modularity rises; writes to ``labels``, numbered from 0, returns how many."""
    from ..kernels.communities import move_nodes_by_modularity, number_in_order

    move = move_in_batches if len(labels) > THREADED_ABOVE else move_nodes_by_modularity
    move(graph, labels, order, resolution, max_passes)
    return number_in_order(labels, order)


def move_in_batches(graph: CSR, labels: Array, order: Array, resolution: float, max_passes: int) -> None:
    """Variant of the compiled loop in which threads look for the nodes of a batch that would move.

    They see the communities as they were before the batch. The nodes then move one after another.
    """
    from ..kernels.communities import MOVED_TOL, TINY, empty_table, make_moves, propose_moves, volumes, widest_row

    degrees, volume, _ = volumes(graph, labels)
    density, pending, complete = resolution / max(volume.sum(), TINY), np.ones(len(labels), dtype=bool), True
    state = *graph, labels, degrees, volume, density, pending
    size, widest = -(-len(labels) // N_BATCHES), widest_row(graph)
    targets = np.empty(size, dtype=np.int32)

    def propose(start: int, stop: int, nodes: Array) -> None:
        propose_moves(start, stop, nodes, targets, *state, *empty_table(widest))

    for _ in range(max_passes):
        moves = 0
        for first in range(0, len(labels), size):
            nodes = order[first : first + size]
            map_ranges(propose, len(nodes), nodes)
            moves += make_moves(nodes, targets, *state, *empty_table(widest))
        if moves <= MOVED_TOL * len(labels):
            if complete:
                break
            pending[:] = True
        complete = moves <= MOVED_TOL * len(labels)
