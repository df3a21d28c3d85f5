"""Partitions of the kept samples to choose from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from .._backend import Array
from ..linalg.svd import rank_of
from ..metrics import conductance
from .labels import Scores, cluster_scores, k_means
from .merging import merge

Way = Literal["k-means", "merged"]

STARTS = 10  # of k-means
LEARN_FROM = 2500  # kept samples: centres of more would be the same, and the best of several is taken anyway
FINE = (2, 3)  # times as many clusters as wanted, to be merged: they depend less on where k-means starts
LEAST_FINE_SIZE = 20  # kept samples in a fine cluster: with fewer, what joins two of them is a matter of chance


@dataclass(frozen=True, eq=False)
class Candidate:
    """A partition of the kept samples.

    Attributes
    ----------
    labels
        (n_kept,) cluster numbers.
    gamma
        Weight of the sample graph in the low-rank matrix that it comes from.
    scores
        What k-means saw, "whitened" or "scaled".
    way
        "k-means", or "merged" from finer clusters of k-means.
    conductance
        On the graph of the kept samples.
    rank
        Of the low-rank matrix.
    """

    labels: Array
    gamma: float
    scores: str
    way: Way
    conductance: float
    rank: int


def candidates(
    directions: tuple[Array, Array],
    weights: sp.csr_array,
    n_clusters: int,
    scores: Scores,
    gamma: float,
    rng: np.random.RandomState,
    sample_weights: Array | None = None,
) -> list[Candidate]:
    """Partitions for one low-rank matrix: the best of k-means by the graph of the kept samples, and merged ones.

    Parameters
    ----------
    directions
        :func:`~graphlowrank.clustering.labels.leading_directions` of the compressed matrix.
    weights
        Graph of the kept samples.
    n_clusters
        Clusters wanted.
    scores
        What k-means is to see.
    gamma
        To be noted.
    rng
        Random numbers of k-means.
    sample_weights
        Importance weights of the kept samples.
    """
    points, used = cluster_scores(*directions, n_clusters, scores)
    rank = rank_of(directions[1])

    def partition(k: int, *, fewer: bool = False) -> Array:
        return k_means(points, k, 1, rng, sample_weights, fewer=fewer, learn_from=LEARN_FROM)

    def proposed(way: Way, labels: Array) -> Candidate:
        return Candidate(labels, gamma, used, way, conductance(weights, labels, n_clusters), rank)

    plain = [proposed("k-means", partition(n_clusters)) for _ in range(STARTS)]
    found = [min(plain, key=lambda one: one.conductance)]
    for factor in FINE:
        if len(points) >= LEAST_FINE_SIZE * factor * n_clusters:
            fine = partition(factor * n_clusters, fewer=True)
            found.append(proposed("merged", merge(weights, fine, n_clusters)))
    return found
