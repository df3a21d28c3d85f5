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

CSR = tuple[Array, Array, Array]


@compiled()
def nth_smallest(start: int, stop: int, indptr: Array, values: Array, smallest: Array, found: Array) -> None:
    """Write the n-th smallest stored value of rows start to stop, or the largest if there are fewer; 0 for none.

    ``smallest`` (n,) is scratch.
    """
    n = smallest.shape[0]
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


def volumes(graph: CSR, labels: Array) -> tuple[Array, Array, float]:
    """Degrees of the nodes, their sums over communities, and the sum of all."""
    degrees, volume = np.zeros(len(labels)), np.zeros(len(labels))
    return degrees, volume, _add_degrees(graph[0], graph[2], labels, degrees, volume)


@compiled()
def _add_degrees(indptr: Array, data: Array, labels: Array, degrees: Array, volume: Array) -> float:
    for node in range(labels.shape[0]):
        for entry in range(indptr[node], indptr[node + 1]):
            degrees[node] += data[entry]
        volume[labels[node]] += degrees[node]
    total = 0.0
    for community in range(volume.shape[0]):
        total += volume[community]
    return total


@compiled(inline="always")
def _best_community(node, indptr, indices, data, labels, degrees, volume, density, keys, links, used):  # type: ignore[no-untyped-def]
    """Return the community in which a node raises the modularity most; its own unless another one gains.

    ``keys``, ``links`` and ``used`` are an :func:`empty_table`: the edge weight to each community.
    """
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


def widest_row(graph: CSR) -> int:
    """Largest number of neighbors of a node."""
    return int(np.diff(graph[0]).max(initial=1))


def empty_table(n_neighbors: int) -> tuple[Array, Array, Array]:
    """Hash table for the communities of so many neighbors."""
    n_slots = 4
    while n_slots < 2 * n_neighbors:
        n_slots *= 2
    return np.full(n_slots, EMPTY, np.int32), np.zeros(n_slots), np.empty(n_neighbors, np.int64)


@compiled()
def propose_moves(
    start: int, stop: int, nodes: Array, targets: Array, indptr: Array, indices: Array, data: Array, labels: Array,
    degrees: Array, volume: Array, density: float, pending: Array, keys: Array, links: Array, used: Array,
) -> None:  # fmt: skip
    """Write the best communities of ``nodes[start:stop]`` to ``targets``; nodes that are not pending stay."""
    for place in range(start, stop):
        node = nodes[place]
        targets[place] = labels[node]
        if pending[node]:
            best = _best_community(
                node, indptr, indices, data, labels, degrees, volume, density, keys, links, used
            )  # fmt: skip
            targets[place] = best


@compiled()
def make_moves(
    nodes: Array, targets: Array, indptr: Array, indices: Array, data: Array, labels: Array, degrees: Array,
    volume: Array, density: float, pending: Array, keys: Array, links: Array, used: Array,
) -> int:  # fmt: skip
    """Move pending nodes to the best community as it is now; return how many.

    Their neighbors elsewhere become pending. If there are targets, nodes whose target is their own community stay.
    """
    moves, n_targets = 0, targets.shape[0]
    for place in range(nodes.shape[0]):
        node = nodes[place]
        if not pending[node]:
            continue
        pending[node] = False
        own = labels[node]
        if n_targets > 0 and targets[place] == own:
            continue
        best = _best_community(node, indptr, indices, data, labels, degrees, volume, density, keys, links, used)
        if best == own:
            continue
        volume[own] -= degrees[node]
        volume[best] += degrees[node]
        labels[node] = best
        for entry in range(indptr[node], indptr[node + 1]):
            if labels[indices[entry]] != best:
                pending[indices[entry]] = True
        moves += 1
    return moves


@compiled()
def _settle(order, indptr, indices, data, labels, degrees, volume, density, pending, keys, links, used, max_passes):  # type: ignore[no-untyped-def]
    """Visit the pending nodes in the given order until hardly any moves."""
    complete = True
    for _ in range(max_passes):
        moves = make_moves(
            order, labels[:0], indptr, indices, data, labels, degrees, volume, density, pending, keys, links, used
        )
        few = moves <= MOVED_TOL * labels.shape[0]
        if few:
            if complete:
                return
            for node in range(pending.shape[0]):
                pending[node] = True  # volumes have changed for nodes without a neighbor that moved, too
        complete = few


def move_nodes_by_modularity(graph: CSR, labels: Array, order: Array, resolution: float, max_passes: int) -> None:
    """Visit the nodes in the given order until hardly any moves; writes to ``labels``, which are below their number."""
    degrees, volume, total = volumes(graph, labels)
    density, pending = resolution / max(total, TINY), np.ones(len(labels), dtype=bool)
    table = empty_table(widest_row(graph))
    _settle(order, *graph, labels, degrees, volume, density, pending, *table, max_passes)


def number_in_order(labels: Array, order: Array) -> int:
    """Replace labels by numbers from 0, in the order in which they are met; return how many there are."""
    return int(_number(labels, order, np.empty(len(labels), dtype=np.int32)))


@compiled()
def _number(labels: Array, order: Array, numbers: Array) -> int:
    for node in range(labels.shape[0]):
        numbers[node] = EMPTY
    count = 0
    for place in range(order.shape[0]):
        label = labels[order[place]]
        if numbers[label] == EMPTY:
            numbers[label] = count
            count += 1
    for node in range(labels.shape[0]):
        labels[node] = numbers[labels[node]]
    return count


def group_graph(indptr: Array, indices: Array, data: Array, labels: Array, n_groups: int) -> CSR:
    """CSR arrays of the total edge weights between every two groups; inner edges count twice."""
    starts, members, places = (np.empty(size, np.int32) for size in (n_groups + 1, len(labels), n_groups))
    found = np.empty(n_groups + 1, np.int64), np.empty(len(indices), np.int32), np.empty(len(indices))
    count = _sum_groups(indptr, indices, data, labels, starts, members, places, *found)
    return found[0], found[1][:count].copy(), found[2][:count].copy()


@compiled()
def _sum_groups(
    indptr: Array, indices: Array, data: Array, labels: Array,
    starts: Array, members: Array, places: Array,  # scratch: (n_groups + 1,), (n,) and (n_groups,)
    found_indptr: Array, found_indices: Array, found_data: Array,
) -> int:  # fmt: skip
    """Write the graph of the groups; return the number of its entries."""
    n_groups = places.shape[0]
    for group in range(n_groups):
        starts[group], places[group] = 0, EMPTY
    for node in range(labels.shape[0]):
        starts[labels[node]] += 1
    count = 0
    for group in range(n_groups):
        count += starts[group]
        starts[group] = count
    starts[n_groups] = count
    for node in range(labels.shape[0] - 1, -1, -1):  # members of a group in order
        starts[labels[node]] -= 1
        members[starts[labels[node]]] = node
    count, found_indptr[0] = 0, 0
    for group in range(n_groups):
        first = count
        for place in range(starts[group], starts[group + 1]):
            member = members[place]
            for entry in range(indptr[member], indptr[member + 1]):
                other = labels[indices[entry]]
                if places[other] < first:
                    places[other] = count
                    found_indices[count], found_data[count] = other, 0.0
                    count += 1
                found_data[places[other]] += data[entry]
        found_indptr[group + 1] = count
    return count


def louvain(indptr: Array, indices: Array, data: Array, resolution: float, max_passes: int) -> Array:
    """Communities (n_nodes,), numbered from 0: nodes move, then groups of nodes, until nothing moves."""
    n, n_entries = len(indptr) - 1, len(indices)
    found = np.arange(n, dtype=np.int32)
    scratch = np.empty((5, n + 1), np.int32), np.empty((2, n)), np.empty(n, bool)
    graphs = np.empty((2, n + 1), np.int64), np.empty((2, n_entries), np.int32), np.empty((2, n_entries))
    _louvain(indptr, indices, data, resolution, max_passes, found, *scratch, *empty_table(n), *graphs)
    return found


@compiled()
def _louvain(
    indptr: Array, indices: Array, data: Array, resolution: float, max_passes: int, found: Array,
    integers: Array, numbers: Array, pending: Array,  # scratch: (5, n + 1), (2, n) and (n,)
    keys: Array, links: Array, used: Array,  # an empty table
    next_pointers: Array, next_columns: Array, next_data: Array,  # scratch for two graphs
) -> None:  # fmt: skip
    """Do what :func:`louvain` does, without the GIL."""
    level = 0
    while True:
        n = indptr.shape[0] - 1
        order, labels, degrees, volume = integers[0, :n], integers[1, :n], numbers[0, :n], numbers[1, :n]
        for node in range(n):
            order[node], labels[node], degrees[node], volume[node], pending[node] = node, node, 0.0, 0.0, True
        total = _add_degrees(indptr, data, labels, degrees, volume)
        density = resolution / max(total, TINY)
        _settle(
            order, indptr, indices, data, labels, degrees, volume, density, pending[:n], keys, links, used, max_passes
        )
        n_groups = _number(labels, order, integers[2, :n])
        if n_groups == n:
            return
        for node in range(found.shape[0]):
            found[node] = labels[found[node]]
        now = level % 2
        starts, members, places = integers[2, : n_groups + 1], integers[3, :n], integers[4, :n_groups]
        next_indptr = next_pointers[now, : n_groups + 1]
        count = _sum_groups(
            indptr, indices, data, labels, starts, members, places, next_indptr, next_columns[now], next_data[now]
        )
        indptr, indices, data = next_indptr, next_columns[now, :count], next_data[now, :count]
        level += 1
