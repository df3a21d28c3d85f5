"""What makes a cluster: features in which it differs, its typical and its doubtful samples, the clusters it touches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._typing import Array
from ..graphs import Graph
from ..linalg.blocks import row_blocks
from ..preprocessing.counts import blocks, dense, moments

PSEUDOCOUNT = 0.01  # of fold changes: genes that are read in no sample of a group have finite ones
SPLIT = 0.8  # largest share of a cluster within one cluster of another partition, below which it is split there
BLOCK_ENTRIES = 2**22


@dataclass(frozen=True, eq=False)
class ClusterProfiles:
    """Features of each cluster beside those of all other samples; NaN entries are left out.

    Attributes
    ----------
    sizes : ndarray of shape (n_clusters,)
        Numbers of samples.
    means, elsewhere : ndarray of shape (n_clusters, n_features)
        Mean in the cluster, and over all samples outside.
    difference : ndarray of shape (n_clusters, n_features)
        Their difference in standard deviations of the feature over all samples; 0 for a constant feature.
    fold_change : ndarray of shape (n_clusters, n_features) or None
        Of counts: log2 of the ratio of the mean counts.
    mean, std : ndarray of shape (n_features,)
        Of all samples.
    """

    sizes: Array
    means: Array
    elsewhere: Array
    difference: Array
    fold_change: Array | None
    mean: Array
    std: Array

    def leading(self, cluster: int, n_features: int) -> Array:
        """Features that differ most: in either direction, of counts those with more in the cluster."""
        rank = self.difference[cluster] if self.fold_change is not None else np.abs(self.difference[cluster])
        return np.argsort(-rank, kind="stable")[:n_features]


def cluster_profiles(X: Any, labels: Array, n_clusters: int, *, logs: bool = False) -> ClusterProfiles:
    """Compare each cluster with all other samples, in two passes over blocks of rows.

    Parameters
    ----------
    X : (n_samples, n_features) array, csr_array or matrix of this library
        Data, NaN where missing.
    labels : ndarray of shape (n_samples,)
        Clusters, from 0 to n_clusters - 1.
    n_clusters : int
        Number of clusters, some of which may be empty.
    logs : bool, default=False
        Whether X is log(1 + counts); then fold changes are computed, too.
    """
    mean, variance = moments(block for _, block in blocks(X))
    std = np.sqrt(variance)
    shape = (n_clusters, X.shape[1])
    sums, counts, reads = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for rows, block in blocks(X):
        members = _indicator(labels[rows], n_clusters)
        values = dense(block).astype(np.float64)
        known = ~np.isnan(values)
        counts += members @ known.astype(np.float64)
        sums += members @ np.where(known, values - mean, 0.0)
        if logs:
            reads += members @ np.where(known, np.expm1(np.where(known, values, 0.0)), 0.0)
    means, elsewhere = _inside_and_outside(sums, counts)
    scale = np.where(std > 0, std, np.inf)
    fold_change = None
    if logs:
        inside, outside = _inside_and_outside(reads, counts)
        fold_change = np.log2((inside + PSEUDOCOUNT) / (outside + PSEUDOCOUNT))
    sizes = np.bincount(labels, minlength=n_clusters)
    return ClusterProfiles(
        sizes, means + mean, elsewhere + mean, (means - elsewhere) / scale, fold_change, mean, std
    )  # fmt: skip


def _indicator(labels: Array, n_clusters: int) -> sp.csr_array:
    n = len(labels)
    return sp.csr_array((np.ones(n), (labels, np.arange(n))), shape=(n_clusters, n))


def _inside_and_outside(sums: Array, counts: Array) -> tuple[Array, Array]:
    """Means in each cluster and outside; 0 where there is no value."""
    others, other_counts = sums.sum(axis=0) - sums, counts.sum(axis=0) - counts
    return sums / np.maximum(counts, 1), np.where(other_counts > 0, others, 0.0) / np.maximum(other_counts, 1)


def contacts(graph: Graph, labels: Array, n_clusters: int) -> Array:
    """Share (n_clusters, n_clusters) of the edge weight of each cluster that goes to each; rows sum to 1, or are 0."""
    members = _indicator(labels, n_clusters)
    between = (members @ graph.weights @ members.T).toarray()
    total = between.sum(axis=1, keepdims=True)
    return np.asarray(between / np.where(total > 0, total, 1.0), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Members:
    """Some samples of each cluster, as indices."""

    typical: Sequence[Array]  # closest to the mean, among those of at least median confidence
    doubtful: Sequence[Array]  # of the lowest confidence; of equal ones those far from the mean first


def representative_members(
    X: Any, labels: Array, confidence: Array, profiles: ClusterProfiles, n_members: int, *, scaled: bool = True
) -> Members:
    """Choose members by confidence, and by distance from the mean, in standard deviations if ``scaled``."""
    scale = np.where(profiles.std > 0, profiles.std, np.inf) if scaled else np.ones(X.shape[1])
    distances = np.empty(X.shape[0])
    for rows in row_blocks(*X.shape, entries=BLOCK_ENTRIES):
        difference = (dense(X[rows]) - profiles.means[labels[rows]]) / scale
        distances[rows] = np.nan_to_num(np.square(difference)).sum(axis=1)
    typical, doubtful = [], []
    for cluster in range(len(profiles.sizes)):
        members = np.flatnonzero(labels == cluster)
        own, far = confidence[members], distances[members]
        sure = own >= np.median(own) if len(members) else own > 0
        typical.append(members[sure][np.argsort(far[sure], kind="stable")][:n_members])
        doubtful.append(members[np.lexsort((-far, own))][:n_members])
    return Members(typical, doubtful)


def describe_difference(labels: Array, other: Array) -> str:
    """Say in words which clusters another partition splits, and which it joins."""
    table = np.zeros((labels.max() + 1, other.max() + 1))
    np.add.at(table, (labels, other), 1)
    sizes = table.sum(axis=1)
    shares = table / np.maximum(sizes, 1)[:, None]
    parts = []
    for cluster in np.flatnonzero(sizes > 0):
        ordered = np.sort(shares[cluster])[::-1]
        if ordered[0] < SPLIT:
            listed = ", ".join(f"{100 * share:.0f} %" for share in ordered[:3] if share >= 0.05)
            parts.append(f"splits {cluster} ({listed})")
    for group in range(table.shape[1]):
        joined = np.flatnonzero(shares[:, group] > 0.5)
        if len(joined) > 1:
            parts.append(f"joins {', '.join(map(str, joined[:-1]))} and {joined[-1]}")
    return "; ".join(parts) or "moves single samples"
