"""Candidate partitions of the kept samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from .._typing import Array
from ..linalg.svd import rank_of
from ..metrics import conductance
from .kmeans import Scores, cluster_scores, k_means
from .merging import merge

Method = Literal["k-means", "merged"]

# Chosen on the sets of docs/choices.md ("What was tried").
N_STARTS = 10  # of k-means
FIT_ON = 2500  # kept samples that k-means fits its centers on
FINE_FACTORS = (2, 3)  # times as many clusters, to be merged: they depend less on the start of k-means
MIN_FINE_SIZE = 20  # mean size of a fine cluster: links between smaller ones are random


@dataclass(frozen=True, eq=False)
class Candidate:
    """A partition of the kept samples.

    Attributes
    ----------
    labels : ndarray of shape (n_kept,)
        Cluster labels.
    gamma : float
        gamma_samples of the low-rank matrix.
    scores : str
        What k-means clustered: "whitened" or "scaled".
    method : {"k-means", "merged"}
        K-means, or finer clusters of k-means merged.
    conductance : float
        Mean conductance on the graph of the kept samples.
    rank : int
        Rank of the low-rank matrix.
    """

    labels: Array
    gamma: float
    scores: str
    method: Method
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
    """Partitions from one low-rank matrix: the best k-means start by conductance, and merged finer clusters.

    Parameters
    ----------
    directions : tuple of ndarray
        :func:`~graphlowrank.clustering.kmeans.leading_directions` of the compressed matrix.
    weights : csr_array of shape (n_kept, n_kept)
        Edge weights of the graph of the kept samples.
    n_clusters : int
        Number of clusters.
    scores : {"whitened", "scaled"}
        What k-means clusters.
    gamma : float
        gamma_samples of the low-rank matrix, recorded in the candidates.
    rng : RandomState
        Seeds k-means.
    sample_weights : ndarray of shape (n_kept,) or None
        Importance weights of the kept samples.
    """
    points, used = cluster_scores(*directions, n_clusters, scores)
    rank = rank_of(directions[1])

    def partition(k: int, *, fewer: bool = False) -> Array:
        return k_means(points, k, 1, rng, sample_weights, fewer=fewer, fit_on=FIT_ON)

    def candidate(method: Method, labels: Array) -> Candidate:
        return Candidate(labels, gamma, used, method, conductance(weights, labels, n_clusters), rank)

    starts = [candidate("k-means", partition(n_clusters)) for _ in range(N_STARTS)]
    found = [min(starts, key=lambda one: one.conductance)]
    for factor in FINE_FACTORS:
        if len(points) >= MIN_FINE_SIZE * factor * n_clusters:
            fine = partition(factor * n_clusters, fewer=True)
            found.append(candidate("merged", merge(weights, fine, n_clusters)))
    return found
