"""Select the partition with the lowest conductance on the graph of all samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._typing import Array
from ..metrics import conductance
from ..sampling.nodes import SampledNodes
from .labels import interpolate_labels
from .proposals import Candidate
from .refinement import refine

# Chosen on the sets of docs/choices.md ("What was tried").
MAX_MEMBERSHIPS = 3e6  # samples x clusters x candidates to interpolate
MIN_PER_METHOD, MAX_CANDIDATES = 3, 28  # candidates that are interpolated
ROUGH_TOL = 1e-2  # of the interpolation, since refinement follows
SCALED_HANDICAP = 0.03  # conductance by which scaled scores must win; on faces and digits they wrongly lead by 0.015
OWN_SHARE = 0.6  # of the membership


@dataclass(frozen=True, eq=False)
class Partition:
    """The selected partition of all samples.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Cluster labels.
    soft_labels : ndarray of shape (n_samples, n_clusters)
        Membership, see :func:`neighbor_shares`.
    candidate : Candidate
        Where it comes from.
    conductance : float
        Mean conductance on the graph of all samples.
    """

    labels: Array
    soft_labels: Array
    candidate: Candidate
    conductance: float


def select(found: Sequence[Candidate], samples: SampledNodes, n_clusters: int, gamma: float = 0.0) -> Partition:
    """Interpolate the best candidates over all samples, refine them, and return the one of lowest conductance.

    Parameters
    ----------
    found : sequence of Candidate
        Partitions of the kept samples.
    samples : SampledNodes
        Graph of all samples, and the kept ones.
    n_clusters : int
        Number of clusters.
    gamma : float
        0 keeps the labels of the kept samples when they are interpolated; more lets their neighbors change them.
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


def n_interpolated(cost: int) -> int:
    """Candidates that are interpolated, if there are as many; ``cost`` is samples times clusters."""
    return min(2 * max(MIN_PER_METHOD, int(MAX_MEMBERSHIPS / cost / 2)), MAX_CANDIDATES)


def _shortlist(found: Sequence[Candidate], cost: int) -> list[Candidate]:
    """Best candidates of each method by conductance on the graph of the kept samples."""
    ordered = sorted(found, key=lambda one: one.conductance + _handicap(one, found))
    length = n_interpolated(cost) // 2
    return [
        one for method in ("k-means", "merged") for one in [one for one in ordered if one.method == method][:length]
    ]


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
