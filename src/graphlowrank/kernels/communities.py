"""Local scales of a graph, and Louvain's method: moves of nodes between communities that raise the modularity.

Nodes are visited one after another, and again only after a neighbor has moved. In large graphs threads first look for
the nodes of a batch that would move. Graphs are CSR arrays (int64, int32, float64).
"""

import numpy as np

from .._typing import Array
from .compiling import compiled

MOVED_TOL = 1e-3  # share of nodes that may still move in the last pass
MIN_GAIN = 1e-12  # of a move, in degrees
EMPTY, HASH = -1, 40503  # key of an empty slot; odd, near 2^16 / golden ratio
TINY = float(np.finfo(np.float64).tiny)


@compiled()
def nth_smallest(start: int, stop: int, indptr: Array, values: Array, n: int, found: Array) -> None:
    """Write the n-th smallest stored value of rows start to stop, or the largest if there are fewer; 0 for none."""
    smallest = np.empty(n)
    for row in range(start, stop):
        count = 0
        for entry in range(indptr[row], indptr[row + 1]):
            value = values[entry]
            if count == n and value >= smallest[n - 1]:
                continue
            place = min(count, n - 1)
            while place > 0 and smallest[place - 1] > value:
                smallest[place] = smallest[place - 1]
                place -= 1
            smallest[place] = value
            count = min(count + 1, n)
        found[row] = smallest[count - 1] if count > 0 else 0.0


@compiled()
def volumes(indptr: Array, indices: Array, data: Array, labels: Array) -> tuple[Array, Array]:
    """Degrees of the nodes, and their sums over communities."""
    degrees, volume = np.zeros(labels.shape[0]), np.zeros(labels.shape[0])
    for node in range(labels.shape[0]):
        for entry in range(indptr[node], indptr[node + 1]):
            degrees[node] += data[entry]
        volume[labels[node]] += degrees[node]
    return degrees, volume


@compiled()
def _best_community(node, indptr, indices, data, labels, degrees, volume, density, table):  # type: ignore[no-untyped-def]
    """Return the community in which a node raises the modularity most; its own unless another one gains."""
    keys, links, used = table  # hash table of the edge weight to each community, all of it empty
    last = keys.shape[0] - 1
    own, degree, n_used = labels[node], degrees[node], 0
    best, most = own, MIN_GAIN * degree - density * degree * (volume[own] - degree)
    for entry in range(indptr[node], indptr[node + 1]):
        other = labels[indices[entry]]
        if indices[entry] == node or data[entry] <= 0:
            continue
        if other == own:
            most += data[entry]
            continue
        slot = (other * HASH) & last
        while keys[slot] != other and keys[slot] != EMPTY:
            slot = (slot + 1) & last
        if keys[slot] == EMPTY:
            keys[slot] = other
            used[n_used] = slot
            n_used += 1
        links[slot] += data[entry]
    for place in range(n_used):
        slot = used[place]
        gained = links[slot] - density * degree * volume[keys[slot]]
        if gained > most:
            best, most = keys[slot], gained
        keys[slot], links[slot] = EMPTY, 0.0
    return best


@compiled()
def largest_degree(indptr: Array) -> int:
    """Return the largest number of neighbors of a node."""
    most = 1
    for node in range(indptr.shape[0] - 1):
        most = max(most, indptr[node + 1] - indptr[node])
    return most


@compiled()
def _empty_table(most: int) -> tuple[Array, Array, Array]:
    """Hash table for the communities of ``most`` neighbors."""
    n_slots = 4
    while n_slots < 2 * most:
        n_slots *= 2
    return np.full(n_slots, EMPTY, np.int32), np.zeros(n_slots), np.empty(most, np.int64)


@compiled()
def _move(node: int, target: int, graph, labels, degrees, volume, pending) -> None:  # type: ignore[no-untyped-def]
    """Move a node; its neighbors elsewhere become pending."""
    indptr, indices, _ = graph
    volume[labels[node]] -= degrees[node]
    volume[target] += degrees[node]
    labels[node] = target
    for entry in range(indptr[node], indptr[node + 1]):
        if labels[indices[entry]] != target:
            pending[indices[entry]] = True


@compiled()
def propose_moves(
    start: int, stop: int, nodes: Array, graph: tuple[Array, Array, Array], labels: Array, degrees: Array,
    volume: Array, density: float, most: int, pending: Array, targets: Array,
) -> None:  # fmt: skip
    """Write the best communities of ``nodes[start:stop]`` to ``targets``; nodes that are not pending stay."""
    table = _empty_table(most)
    for place in range(start, stop):
        node = nodes[place]
        targets[place] = labels[node]
        if pending[node]:
            targets[place] = _best_community(node, *graph, labels, degrees, volume, density, table)


@compiled()
def make_moves(
    nodes: Array, targets: Array, graph: tuple[Array, Array, Array], labels: Array, degrees: Array, volume: Array,
    density: float, most: int, pending: Array,
) -> int:  # fmt: skip
    """Move the nodes that have another target to the best community as it is now; return how many."""
    table, moves = _empty_table(most), 0
    for place in range(nodes.shape[0]):
        node = nodes[place]
        pending[node] = False
        if targets[place] == labels[node]:
            continue
        best = _best_community(node, *graph, labels, degrees, volume, density, table)
        if best != labels[node]:
            _move(node, best, graph, labels, degrees, volume, pending)
            moves += 1
    return moves


@compiled()
def move_nodes_by_modularity(
    graph: tuple[Array, Array, Array], labels: Array, order: Array, resolution: float, max_passes: int
) -> None:
    """Visit the nodes in the given order until hardly any moves; writes to ``labels``, which are below their number."""
    degrees, volume = volumes(*graph, labels)
    density = resolution / max(volume.sum(), TINY)
    n, table = labels.shape[0], _empty_table(largest_degree(graph[0]))
    pending, complete = np.ones(n, np.bool_), True
    for _ in range(max_passes):
        moves = 0
        for node in order:
            if not pending[node]:
                continue
            pending[node] = False
            best = _best_community(node, *graph, labels, degrees, volume, density, table)
            if best != labels[node]:
                _move(node, best, graph, labels, degrees, volume, pending)
                moves += 1
        if moves <= MOVED_TOL * n:
            if complete:
                break
            pending[:] = True  # volumes have changed for nodes without a neighbor that moved, too
        complete = moves <= MOVED_TOL * n


@compiled()
def number_in_order(labels: Array, order: Array) -> int:
    """Replace labels by numbers from 0, in the order in which they are met; return how many there are."""
    numbers, count = np.full(labels.shape[0], -1, np.int32), 0
    for node in order:
        if numbers[labels[node]] == -1:
            numbers[labels[node]] = count
            count += 1
    for node in range(labels.shape[0]):
        labels[node] = numbers[labels[node]]
    return count


@compiled()
def group_graph(indptr: Array, indices: Array, data: Array, labels: Array, n_groups: int) -> tuple[Array, Array, Array]:
    """CSR arrays of the total edge weights between every two groups; inner edges count twice."""
    n = labels.shape[0]
    starts = np.zeros(n_groups + 1, np.int64)
    for node in range(n):
        starts[labels[node] + 1] += 1
    for group in range(n_groups):
        starts[group + 1] += starts[group]
    members, filled = np.empty(n, np.int32), starts[:-1].copy()
    for node in range(n):
        members[filled[labels[node]]] = node
        filled[labels[node]] += 1
    found_indptr = np.zeros(n_groups + 1, np.int64)
    found_indices, found_data = np.empty(indices.shape[0], np.int32), np.zeros(indices.shape[0])
    places, count = np.full(n_groups, -1, np.int64), 0
    for group in range(n_groups):
        first = count
        for member in members[starts[group] : starts[group + 1]]:
            for entry in range(indptr[member], indptr[member + 1]):
                other = labels[indices[entry]]
                if places[other] < first:
                    places[other] = count
                    found_indices[count] = other
                    count += 1
                found_data[places[other]] += data[entry]
        found_indptr[group + 1] = count
    return found_indptr, found_indices[:count].copy(), found_data[:count].copy()


@compiled()
def louvain(indptr: Array, indices: Array, data: Array, resolution: float, max_passes: int) -> Array:
    """Communities (n_nodes,), numbered from 0: nodes move, then groups of nodes, until nothing moves."""
    found = np.arange(indptr.shape[0] - 1).astype(np.int32)
    while True:
        labels = np.arange(indptr.shape[0] - 1).astype(np.int32)
        order = labels.copy()
        move_nodes_by_modularity((indptr, indices, data), labels, order, resolution, max_passes)
        n_groups = number_in_order(labels, order)
        if n_groups == labels.shape[0]:
            return found
        for node in range(found.shape[0]):
            found[node] = labels[found[node]]
        indptr, indices, data = group_graph(indptr, indices, data, labels, n_groups)
