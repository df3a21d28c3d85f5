"""Communities of a graph: partitions of high modularity, with a given number of clusters.

The edge weights are scaled locally first, since a global kernel gives dense regions most of the weight. Constants were
chosen on the sets of docs/choices.md; MNIST 70000 was held out.
"""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from .._threads import map_ranges, map_tasks
from .._typing import Array
from ..metrics.clustering import conductance_and_modularity
from .propagation import propagate_labels
from .refinement import MIN_SHARE, merge

LOCAL_NEIGHBOR = 7  # whose distance is the local scale, as in "Self-tuning spectral clustering" (2004)
FINE_RESOLUTION = 10.0  # of the first level: groups of about 20 samples
LEAST_RESOLUTION, LARGEST_RESOLUTION = 0.01, 20.0
N_STEPS = 14  # of the bisection of the resolution
MAX_PASSES = 20  # over the nodes, on one level
FINAL_PASSES = 3
THREADED_ABOVE = 200_000  # nodes: batches of fewer are done before threads have started
SEEDED_ABOVE = 200_000  # nodes: in larger graphs the first level takes longer than all else
SAMPLES_PER_SEED = 10  # in groups that replace it; the same errors on MNIST and on a million points
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
    n, indptr, indices = weights.shape[0], weights.indptr, weights.indices
    squares, scales = np.empty_like(weights.data), np.empty(n, dtype=weights.dtype)

    def find_scales(start: int, stop: int) -> None:
        entries = slice(indptr[start], indptr[stop])
        squares[entries] = -np.log(np.maximum(weights.data[entries] / largest, np.finfo(weights.dtype).tiny))
        nth_smallest(start, stop, indptr, squares, np.empty(LOCAL_NEIGHBOR), scales)
        scales[start:stop] = np.sqrt(scales[start:stop])

    def scale(start: int, stop: int) -> None:
        entries = slice(indptr[start], indptr[stop])
        products = np.repeat(scales[start:stop], np.diff(indptr[start : stop + 1])) * scales[indices[entries]]
        # Copies have distance 0 and no scale.
        ratios = np.where(squares[entries] > 0, weights.dtype.type(np.inf), 0)
        np.divide(squares[entries], products, out=ratios, where=products > 0)
        squares[entries] = np.exp(-ratios)

    map_ranges(find_scales, n)
    map_ranges(scale, n)
    return sp.csr_array((squares, indices, indptr), shape=weights.shape)


def partition_cost(weights: sp.csr_array, labels: Array, n_clusters: int) -> float:
    """Mean conductance, plus what the modularity lacks of ``1 - 1 / n_clusters``, the most it can be.

    The conductance alone prefers small pieces that hang by a thread, the modularity alone clusters of equal size.
    """
    outside, modularity = conductance_and_modularity(weights, labels, n_clusters, min_share=MIN_SHARE)
    return outside + 1 - 1 / n_clusters - modularity


def cheapest(partitions: Sequence[Array], weights: sp.csr_array, n_clusters: int) -> int:
    """Place of the partition of lowest cost among labels (n,) of the nodes of a graph."""
    return int(np.argmin([partition_cost(weights, labels, n_clusters) for labels in partitions]))


def repeated_communities(
    weights: sp.csr_array,
    n_clusters: int,
    n_runs: int,
    rng: np.random.RandomState,
    *,
    seeded_above: int = SEEDED_ABOVE,
) -> list[Array]:
    """Partitions (n_nodes,) by :func:`communities` that visit the nodes in different random orders, in threads.

    Nodes of large graphs are visited in their own order, in which neighbors should be close to each other in memory.
    """
    n, graph = weights.shape[0], _csr_arrays(weights)

    def search(seed: int) -> Array | None:
        random = np.random.RandomState(seed)
        if n <= seeded_above:
            return communities(graph, n_clusters, random.permutation(n).astype(np.int32))
        return communities(graph, n_clusters, np.arange(n, dtype=np.int32), _seeded_groups(weights, random))

    found = map_tasks(search, rng.randint(2**31 - 1, size=n_runs))
    return [labels for labels in found if labels is not None]


def _seeded_groups(weights: sp.csr_array, random: np.random.RandomState) -> Array:
    """Return groups (n_nodes,) around random nodes; a node that reaches none of them is a group of its own."""
    seeds = random.choice(weights.shape[0], weights.shape[0] // SAMPLES_PER_SEED, replace=False)
    groups = propagate_labels(np.arange(len(seeds)), seeds, weights)
    alone = np.flatnonzero(groups < 0)
    groups[alone] = len(seeds) + np.arange(len(alone))
    return groups.astype(np.int32)


def communities(graph: CSR, n_clusters: int, order: Array, groups: Array | None = None) -> Array | None:
    """Partition (n_nodes,) of high modularity into ``n_clusters`` communities; None if there are not as many.

    Louvain's method, with nodes visited in the given ``order`` and at a resolution found by bisection. The levels above
    the first are computed again for each resolution; the first, which takes most of the time, is shared, and its nodes
    move again at the end. It can be replaced by ``groups`` (n_nodes,), numbered from 0. If no resolution gives
    ``n_clusters`` communities, the next larger number is merged.
    """
    from ..kernels.communities import group_graph, louvain

    if groups is None:
        fine = np.arange(len(order), dtype=np.int32)
        n_groups = _move(graph, fine, order, max(FINE_RESOLUTION, n_clusters), MAX_PASSES)
    else:
        fine, n_groups = groups, int(groups.max()) + 1
    coarse = group_graph(*graph, fine, n_groups)
    low, high = LEAST_RESOLUTION, max(LARGEST_RESOLUTION, n_clusters)
    found: tuple[int, float, Array] | None = None
    for _ in range(N_STEPS):
        resolution = float(np.sqrt(low * high))
        labels = louvain(*coarse, resolution, MAX_PASSES)
        count = int(labels.max()) + 1
        if count >= n_clusters and (found is None or count < found[0]):
            found = count, resolution, labels
        if count == n_clusters:
            break
        low, high = (resolution, high) if count < n_clusters else (low, resolution)
    if found is None:
        return None
    _, resolution, labels = found
    merged = merge(sp.csr_array(coarse[::-1], shape=(n_groups, n_groups)), labels, n_clusters)[fine]
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
