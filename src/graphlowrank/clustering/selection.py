"""Which partition the graph of all samples speaks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._backend import Array
from ..decoders import Side
from ..metrics import conductance
from .labels import spread
from .moves import improve
from .proposals import Candidate

AFFORDABLE = 3e6  # memberships (samples x clusters x candidates) to compute
SHORTEST = 3  # candidates of each way that are spread over all samples, whatever it costs
MOST_CANDIDATES = 28  # 14 of each way is more than there ever are
ROUGHLY = 1e-2  # tolerance of spreading: moves of single nodes follow
CLEARLY_BETTER = 0.03  # conductance; on faces and digits the wrong scores lead by up to 0.015
OWN_SHARE = 0.6  # of the membership


@dataclass(frozen=True, eq=False)
class Chosen:
    """The partition taken.

    Attributes
    ----------
    labels
        (n_samples,) clusters.
    soft_labels
        (n_samples, n_clusters) membership, see :func:`neighbour_shares`.
    candidate
        Where it comes from.
    conductance
        On the graph of all samples.
    """

    labels: Array
    soft_labels: Array
    candidate: Candidate
    conductance: float


def choose(found: Sequence[Candidate], samples: Side, n_clusters: int, gamma: float = 0.0) -> Chosen:
    """Spread the best candidates over all samples, improve them, and take the one of least conductance.

    Parameters
    ----------
    found
        Partitions of the kept samples.
    samples
        Graph of all samples, and the kept ones.
    n_clusters
        Clusters wanted.
    gamma
        How far neighbours may overrule labels of kept samples when they are spread.
    """
    assert samples.graph is not None
    weights = samples.graph.weights
    best: Chosen | None = None
    for candidate in _shortlist(found, weights.shape[0] * n_clusters):
        rough, _ = spread(candidate.labels, samples, n_clusters, weights.dtype, gamma=gamma, tol=ROUGHLY)
        labels = improve(weights, rough, n_clusters)
        cut = conductance(weights, labels, n_clusters)
        if best is None or _handicapped(cut, candidate, found) < _handicapped(best.conductance, best.candidate, found):
            best = Chosen(labels, labels, candidate, cut)
    assert best is not None
    return Chosen(best.labels, neighbour_shares(weights, best.labels, n_clusters), best.candidate, best.conductance)


def n_spread(cost: int) -> int:
    """Candidates that are spread over all samples, if there are as many; ``cost`` is samples times clusters."""
    return min(2 * max(SHORTEST, int(AFFORDABLE / cost / 2)), MOST_CANDIDATES)


def _shortlist(found: Sequence[Candidate], cost: int) -> list[Candidate]:
    """Best of each way by the graph of the kept samples, as many as can be afforded."""
    ordered = sorted(found, key=lambda one: _handicapped(one.conductance, one, found))
    length = n_spread(cost) // 2
    return [one for way in ("k-means", "merged") for one in [one for one in ordered if one.way == way][:length]]


def _handicapped(cut: float, candidate: Candidate, found: Sequence[Candidate]) -> float:
    """Conductance, with what scaled scores must be ahead by where there are whitened ones."""
    rivals = any(other.scores == "whitened" for other in found)
    return cut + (CLEARLY_BETTER if candidate.scores == "scaled" and rivals else 0.0)


def neighbour_shares(weights: sp.csr_array, labels: Array, n_clusters: int) -> Array:
    """Membership (n_samples, n_clusters): over half for a sample's own cluster, the rest as its neighbours are.

    Rows sum to 1, and the own cluster has the largest share.
    """
    own = np.eye(n_clusters, dtype=weights.dtype)[labels]
    near = weights @ own
    degrees = near.sum(axis=1, keepdims=True)
    # A node without neighbours belongs to its cluster for want of anything else.
    near = np.where(degrees > 0, near / np.maximum(degrees, np.finfo(near.dtype).tiny), near.dtype.type(1 / n_clusters))
    return OWN_SHARE * own + (1 - OWN_SHARE) * near
