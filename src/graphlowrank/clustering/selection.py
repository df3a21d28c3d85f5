"""Propose partitions of the kept samples, and select the one of lowest conductance on the graph of all samples.

Constants were chosen on the sets of docs/choices.md ("Alternatives that were tried").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from .._typing import Array
from ..linalg.svd import rank_of
from ..metrics import conductance
from ..sampling.nodes import SampledNodes
from .kmeans import Scores, cluster_scores, k_means
from .labels import interpolate_labels
from .refinement import merge, refine

N_STARTS = 10  # of k-means
FIT_ON = 2500  # kept samples that k-means fits its centers on
FINE_FACTORS = (2, 3)  # times as many clusters, to be merged: they depend less on the start of k-means
MIN_FINE_SIZE = 20  # mean size of a fine cluster: links between smaller ones are random
MAX_MEMBERSHIPS = 3e6  # samples x clusters x candidates to interpolate
MIN_PER_METHOD, MAX_CANDIDATES = 3, 28  # candidates that are interpolated
ROUGH_TOL = 1e-2  # of the interpolation, since refinement follows
SCALED_HANDICAP = 0.03  # conductance by which scaled scores must win; on faces and digits they wrongly lead by 0.015
OWN_SHARE = 0.6  # of the membership

Method = Literal["k-means", "merged"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A partition of the kept samples."""

    labels: Array  # (n_kept,)
    gamma: float  # gamma_samples of the low-rank matrix
    scores: str  # what k-means clustered: "whitened" or "scaled"
    method: Method  # k-means, or finer clusters of k-means merged
    conductance: float  # mean conductance on the graph of the kept samples
    rank: int  # of the low-rank matrix


@dataclass(frozen=True, eq=False)
class Partition:
    """The selected partition of all samples."""

    labels: Array  # (n_samples,)
    soft_labels: Array  # (n_samples, n_clusters) membership, see :func:`neighbor_shares`
    candidate: Candidate  # where it comes from
    conductance: float  # mean conductance on the graph of all samples


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

    ``directions`` are the leading ones of the compressed matrix, ``weights`` the edge weights of the graph of the kept
    samples, ``sample_weights`` their importance weights; ``gamma`` is recorded in the candidates.
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


def select(found: Sequence[Candidate], samples: SampledNodes, n_clusters: int, gamma: float = 0.0) -> Partition:
    """Interpolate the best candidates over all samples, refine them, and return the one of lowest conductance.

    ``gamma=0`` keeps the labels of the kept samples when they are interpolated; more lets their neighbors change them.
    """
    assert samples.graph is not None
    weights = samples.graph.weights
    best: tuple[float, Array, Candidate, float] | None = None
    for candidate in _shortlist(found, weights.shape[0] * n_clusters):
        rough, _ = interpolate_labels(candidate.labels, samples, n_clusters, weights.dtype, gamma=gamma, tol=ROUGH_TOL)
        labels = refine(weights, rough, n_clusters)
        value = conductance(weights, labels, n_clusters)
        handicapped = value + _handicap(candidate, found)
        if best is None or handicapped < best[0]:
            best = handicapped, labels, candidate, value
    assert best is not None
    _, labels, candidate, value = best
    return Partition(labels, neighbor_shares(weights, labels, n_clusters), candidate, value)


def n_interpolated(n_samples: int, n_kept: int, n_clusters: int, *, one_gamma: bool = False) -> int:
    """Candidates that are interpolated, if both kinds of scores are tried, along the path of gammas or at one."""
    n_solutions, per_method = (2 if one_gamma else 7), _n_per_method(n_samples * n_clusters)
    n_finer = sum(n_kept >= MIN_FINE_SIZE * factor * n_clusters for factor in FINE_FACTORS)
    return min(per_method, n_solutions) + min(per_method, n_finer * n_solutions)


def n_k_means(n_kept: int, n_clusters: int) -> int:
    """K-means runs for one solution, in runs with ``n_clusters`` clusters."""
    return N_STARTS + sum(factor for factor in FINE_FACTORS if n_kept >= MIN_FINE_SIZE * factor * n_clusters)


def _n_per_method(cost: int) -> int:
    """Candidates of a method to interpolate, if there are as many; ``cost`` is samples times clusters."""
    return min(max(MIN_PER_METHOD, int(MAX_MEMBERSHIPS / cost / 2)), MAX_CANDIDATES // 2)


def _shortlist(found: Sequence[Candidate], cost: int) -> list[Candidate]:
    """Best candidates of each method by conductance on the graph of the kept samples."""
    ordered = sorted(found, key=lambda one: one.conductance + _handicap(one, found))
    length = _n_per_method(cost)
    by_k_means, merged = ([one for one in ordered if one.method == method] for method in ("k-means", "merged"))
    return by_k_means[:length] + merged[:length]


def _handicap(candidate: Candidate, found: Sequence[Candidate]) -> float:
    """Conductance added to scaled scores if there are whitened ones."""
    rivals = any(other.scores == "whitened" for other in found)
    return SCALED_HANDICAP if candidate.scores == "scaled" and rivals else 0.0


def neighbor_shares(weights: sp.csr_array, labels: Array, n_clusters: int) -> Array:
    """Membership (n_samples, n_clusters): 0.6 for a sample's own cluster, the rest in the shares of its neighbors.

    Rows sum to 1, and the own cluster has the largest share.
    """
    own = np.eye(n_clusters, dtype=weights.dtype)[labels]
    near = weights @ own
    degrees = near.sum(axis=1, keepdims=True)
    uniform = near.dtype.type(1 / n_clusters)  # for a node without neighbors
    near = np.where(degrees > 0, near / np.maximum(degrees, np.finfo(near.dtype).tiny), uniform)
    return OWN_SHARE * own + (1 - OWN_SHARE) * near
