"""Local scales of a graph, and moves of nodes between communities that raise the modularity."""

import numpy as np

from .._typing import Array
from .compiling import compiled


@compiled()
def nth_smallest(indptr: Array, values: Array, n: int) -> Array:
    """Return the n-th smallest stored value of each row, or the largest if there are fewer; 0 for an empty row."""
    found = np.zeros(indptr.shape[0] - 1)
    smallest = np.empty(n)
    for row in range(found.shape[0]):
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
        if count > 0:
            found[row] = smallest[count - 1]
    return found


@compiled()
def move_nodes_by_modularity(
    indptr: Array, indices: Array, data: Array, labels: Array, order: Array, resolution: float, max_passes: int
) -> None:
    """Move each node, in the given order, to the community where the modularity is highest; writes to ``labels``.

    Communities are numbered below the number of nodes. Passes end when hardly any node moves.
    """
    n = labels.shape[0]
    degrees, volume, links = np.zeros(n), np.zeros(n), np.zeros(n)
    near = np.empty(n, np.int64)  # communities of the neighbors
    for node in range(n):
        for entry in range(indptr[node], indptr[node + 1]):
            degrees[node] += data[entry]
        volume[labels[node]] += degrees[node]
    total = volume.sum()
    for _ in range(max_passes):
        moves = 0
        for node in order:
            own, n_near = labels[node], 0
            for entry in range(indptr[node], indptr[node + 1]):
                other = labels[indices[entry]]
                if indices[entry] != node and data[entry] > 0:
                    if links[other] == 0:
                        near[n_near] = other
                        n_near += 1
                    links[other] += data[entry]
            volume[own] -= degrees[node]
            expected = resolution * degrees[node] / total if total > 0 else 0.0
            best, most = own, links[own] - expected * volume[own] + 1e-12 * degrees[node]
            for place in range(n_near):
                gain = links[near[place]] - expected * volume[near[place]]
                if gain > most:
                    best, most = near[place], gain
                links[near[place]] = 0
            volume[best] += degrees[node]
            if best != own:
                labels[node] = best
                moves += 1
        if moves <= 1e-3 * n:
            break
