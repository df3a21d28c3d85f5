"""Moves of single nodes between clusters that reduce the mean conductance."""

import numpy as np

from .._typing import Array
from .compiling import compiled


def move_nodes(
    indptr: Array, indices: Array, data: Array, labels: Array, n_clusters: int, min_share: float, least: float
) -> int:
    """One pass: find the nodes that gain by moving, then move them one by one; return the number of moves."""
    inside, volume = cluster_sums(indptr, indices, data, labels, n_clusters)
    floor = min_share * float(volume.sum()) / n_clusters
    links, unsettled = np.empty(n_clusters), np.empty(len(labels), dtype=np.int64)
    return int(_move_nodes(indptr, indices, data, labels, floor, least, inside, volume, links, unsettled))


def cluster_sums(indptr: Array, indices: Array, data: Array, labels: Array, n_clusters: int) -> tuple[Array, Array]:
    """Sum the edge weights inside each cluster, and the degrees of its nodes."""
    inside, volume = np.zeros(n_clusters), np.zeros(n_clusters)
    _add_edges(indptr, indices, data, labels, inside, volume)
    return inside, volume


@compiled()
def _add_edges(indptr: Array, indices: Array, data: Array, labels: Array, inside: Array, volume: Array) -> None:
    for node in range(labels.shape[0]):
        own = labels[node]
        for entry in range(indptr[node], indptr[node + 1]):
            volume[own] += data[entry]
            if labels[indices[entry]] == own:
                inside[own] += data[entry]


@compiled()
def _move_nodes(
    indptr: Array, indices: Array, data: Array, labels: Array, floor: float, least: float,
    inside: Array,  # (n_clusters,) edge weights inside each cluster; changes
    volume: Array,  # (n_clusters,) degrees of its nodes; changes
    links: Array,  # (n_clusters,) scratch: edge weights between a node and each cluster
    unsettled: Array,  # (n_nodes,) scratch: nodes that gain by moving
) -> int:  # fmt: skip
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


@compiled()
def majority_labels(
    start: int,
    stop: int,
    indptr: Array,
    indices: Array,
    data: Array,
    fixed: Array,  # (n,) nodes that keep their label
    labels: Array,  # (n,) -1 for nodes without a label
    links: Array,  # (n_clusters,) zeros, which it leaves behind
    found: Array,  # (n,) output
) -> None:
    """Label of most edge weight among the neighbors of each node start <= i < stop.

    Of a tie, the own label stays; else it is the lowest one.
    """
    for node in range(start, stop):
        found[node] = labels[node]
        if fixed[node]:
            continue
        for entry in range(indptr[node], indptr[node + 1]):
            label = labels[indices[entry]]
            if label >= 0:
                links[label] += data[entry]
        own = labels[node]
        best, most = own, links[own] if own >= 0 else 0.0
        for entry in range(indptr[node], indptr[node + 1]):
            label = labels[indices[entry]]
            if label >= 0:
                if links[label] > most or (links[label] == most and best != own and label < best):
                    best, most = label, links[label]
                links[label] = 0.0
        found[node] = best


@compiled()
def add_rows(start: int, stop: int, X: Array, labels: Array, sums: Array) -> None:
    """Add up the rows of each cluster in ``sums`` (n_sums, n_clusters, p), for parts start <= i < stop of the rows."""
    n, n_sums = X.shape[0], sums.shape[0]
    for part in range(start, stop):
        for i in range(part * n // n_sums, (part + 1) * n // n_sums):
            row, total = X[i], sums[part, labels[i]]
            for j in range(row.shape[0]):
                total[j] += row[j]
