"""Moves of single nodes between clusters that reduce the mean conductance."""

import numpy as np

from .._typing import Array
from .compiling import compiled


def move_nodes(
    indptr: Array, indices: Array, data: Array, labels: Array, n_clusters: int, min_share: float, least: float
) -> int:
    """One pass: find the nodes that gain by moving, then move them one by one; return the number of moves."""
    inside, volume, links = np.zeros(n_clusters), np.zeros(n_clusters), np.empty(n_clusters)
    unsettled = np.empty(len(labels), dtype=np.int64)
    return int(_move_nodes(indptr, indices, data, labels, min_share, least, inside, volume, links, unsettled))


@compiled()
def _move_nodes(
    indptr: Array, indices: Array, data: Array, labels: Array, min_share: float, least: float,
    inside: Array,  # (n_clusters,) zeros; edge weights inside each cluster
    volume: Array,  # (n_clusters,) zeros; degrees of its nodes
    links: Array,  # (n_clusters,) scratch: edge weights between a node and each cluster
    unsettled: Array,  # (n_nodes,) scratch: nodes that gain by moving
) -> int:  # fmt: skip
    for node in range(labels.shape[0]):
        own = labels[node]
        for entry in range(indptr[node], indptr[node + 1]):
            volume[own] += data[entry]
            if labels[indices[entry]] == own:
                inside[own] += data[entry]
    total = 0.0
    for cluster in range(volume.shape[0]):
        total += volume[cluster]
    floor = min_share * total / volume.shape[0]
    count, moves = 0, 0
    for moving in range(2):
        for place in range(count if moving else labels.shape[0]):
            node = unsettled[place] if moving else place
            for cluster in range(links.shape[0]):
                links[cluster] = 0
            degree = 0.0
            for entry in range(indptr[node], indptr[node + 1]):
                links[labels[indices[entry]]] += data[entry]
                degree += data[entry]
            own = labels[node]
            best = _best_move(own, links, degree, inside, volume, floor, least)
            if best == own:
                continue
            if not moving:
                unsettled[count] = node
                count += 1
                continue
            inside[own] -= 2 * links[own]
            volume[own] -= degree
            inside[best] += 2 * links[best]
            volume[best] += degree
            labels[node] = best
            moves += 1
    return moves


@compiled(inline="always")
def _best_move(own, links, degree, inside, volume, floor, least):  # type: ignore[no-untyped-def]
    """Cluster of the largest gain above ``least`` in the sum of ``inside / max(volume, floor)``: 1 - conductance."""
    rest = volume[own] - degree
    if rest <= 1e-9 * volume[own] or links[own] >= degree:  # the last node of its cluster, or no neighbor elsewhere
        return own
    lost = inside[own] / max(volume[own], floor) - (inside[own] - 2 * links[own]) / max(rest, floor)
    best, most = own, least
    for other in range(links.shape[0]):
        if other == own or links[other] <= 0:
            continue
        before = inside[other] / max(volume[other], floor)
        gain = (inside[other] + 2 * links[other]) / max(volume[other] + degree, floor) - before - lost
        if gain > most:
            best, most = other, gain
    return best
