"""Moves of single nodes between clusters that reduce the mean conductance."""

from __future__ import annotations

from .._backend import Array
from .compiling import compiled


@compiled()
def cluster_sums(indptr: Array, indices: Array, data: Array, labels: Array, inside: Array, volume: Array) -> None:
    """Sum the edge weights inside each cluster, and the degrees of its nodes."""
    for node in range(labels.shape[0]):
        own = labels[node]
        for entry in range(indptr[node], indptr[node + 1]):
            volume[own] += data[entry]
            if labels[indices[entry]] == own:
                inside[own] += data[entry]


@compiled()
def best_move(own: int, links: Array, degree: float, inside: Array, volume: Array, least: float) -> int:
    """Best cluster of a node; its own unless another gains more than ``least``.

    The gain is in the sum over clusters of ``inside / volume``, that is 1 - conductance.
    """
    rest = volume[own] - degree
    if rest <= 1e-9 * volume[own] or links[own] >= degree:  # the last node of its cluster, or no neighbor elsewhere
        return own
    lost = inside[own] / volume[own] - (inside[own] - 2 * links[own]) / rest
    best, most = own, least
    for other in range(links.shape[0]):
        if other == own or links[other] <= 0:
            continue
        before = inside[other] / volume[other]
        gain = (inside[other] + 2 * links[other]) / (volume[other] + degree) - before - lost
        if gain > most:
            best, most = other, gain
    return best


@compiled()
def gather_links(node: int, indptr: Array, indices: Array, data: Array, labels: Array, links: Array) -> float:
    """Sum the edge weights between a node and each cluster; return its degree."""
    links[:] = 0
    degree = 0.0
    for entry in range(indptr[node], indptr[node + 1]):
        links[labels[indices[entry]]] += data[entry]
        degree += data[entry]
    return degree


@compiled()
def move_nodes(
    indptr: Array,
    indices: Array,
    data: Array,
    labels: Array,
    inside: Array,
    volume: Array,
    links: Array,
    unsettled: Array,
    least: float,
) -> int:
    """One pass: find the nodes that gain by moving, then move them one by one; return the number of moves."""
    count = 0
    for node in range(labels.shape[0]):
        degree = gather_links(node, indptr, indices, data, labels, links)
        if best_move(labels[node], links, degree, inside, volume, least) != labels[node]:
            unsettled[count] = node
            count += 1
    moves = 0
    for k in range(count):
        node = unsettled[k]
        degree = gather_links(node, indptr, indices, data, labels, links)
        own = labels[node]
        best = best_move(own, links, degree, inside, volume, least)
        if best != own:
            inside[own] -= 2 * links[own]
            volume[own] -= degree
            inside[best] += 2 * links[best]
            volume[best] += degree
            labels[node] = best
            moves += 1
    return moves
