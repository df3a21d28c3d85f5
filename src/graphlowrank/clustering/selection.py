"""Propose partitions, and select one of low cost that the others agree with.

Constants were chosen on the sets of docs/choices.md ("Alternatives that were tried").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from .._checks import INDICES, check_range, is_number
from .._threads import map_tasks
from .._typing import Array
from ..linalg.blocks import evenly_spaced
from ..linalg.products import spmm
from ..linalg.svd import rank_of
from ..metrics import conductance
from ..sampling.nodes import SampledNodes
from .communities import partition_cost, repeated_communities
from .kmeans import Scores, cluster_scores, k_means
from .labels import interpolate_labels
from .propagation import propagate_labels
from .refinement import MIN_SHARE, merge, refine

N_STARTS = 10  # of k-means
FIT_ON = 2500  # kept samples that k-means fits its centers on
FINE_FACTORS = (2, 3)  # times as many clusters, to be merged: they depend less on the start of k-means
MIN_FINE_SIZE = 20  # mean size of a fine cluster: links between smaller ones are random
MAX_MEMBERSHIPS = 3e6  # samples x clusters x candidates to interpolate
MIN_PER_METHOD, MAX_CANDIDATES = 3, 28  # candidates that are interpolated
COMMUNITY_VOTES = 8  # of communities together: as many as all low-rank matrices with their kinds of scores have
MIN_COMMUNITY_RUNS, MAX_COMMUNITY_RUNS = 4, 12  # of Louvain's method, in random orders of the samples
COMMUNITY_SAMPLES = 60_000  # in all runs, between these limits
ONE_RUN_ABOVE = 200_000  # samples: a run takes a third of the time of the sample graph there, and runs hardly differ
ROUGH_TOL = 1e-2  # of the interpolation, since refinement follows
TIE_RTOL, TIE_ATOL = 0.04, 1e-3  # differences of cost up to here depend on the draw of the kept samples
DIFFERENT = 0.8  # adjusted Rand index below which two partitions are different answers
MAX_ALTERNATIVES = 3
AGREEMENT_SAMPLES = 2000  # on which partitions are compared
OWN_SHARE = 0.6  # of the membership

Method = Literal["k-means", "merged", "communities"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A partition of the kept samples, or of all samples if its method is "communities"."""

    labels: Array  # (n_kept,) or (n_samples,), these as the sample graph is renumbered
    gamma: float  # gamma_samples of the low-rank matrix
    scores: str  # what k-means clustered: "whitened", "scaled" or "spectral"; "none" for communities
    method: Method  # k-means, finer clusters of k-means merged, or communities of the sample graph
    conductance: float  # mean conductance on the graph of the kept samples
    rank: int  # of the low-rank matrix


@dataclass(frozen=True, eq=False)
class Alternative:
    """Another partition of all samples, of nearly the same cost as the answer."""

    labels: Array  # (n_samples,)
    conductance: float
    agreement: float  # adjusted Rand index with the answer, on at most 2000 samples

    def check(self) -> None:
        """Raise ValueError unless there are labels of clusters and numbers."""
        numbers = is_number(self.conductance) and is_number(self.agreement)
        if not (numbers and isinstance(self.labels, np.ndarray) and self.labels.ndim == 1):
            raise ValueError("an alternative must have labels, and numbers for its conductance and agreement.")
        if self.labels.dtype not in INDICES:
            raise ValueError(f"labels of an alternative must not be of dtype {self.labels.dtype}.")
        check_range(self.labels, "labels of an alternative", least=0, most=len(self.labels) - 1)


@dataclass(frozen=True, eq=False)
class Partition:
    """The selected partition of all samples."""

    labels: Array  # (n_samples,)
    soft_labels: Array  # (n_samples, n_clusters) membership, see :func:`neighbor_shares`
    candidate: Candidate  # where it comes from
    conductance: float  # mean conductance on the graph of all samples
    alternatives: tuple[Alternative, ...] = ()  # different partitions that nearly tie


@dataclass(frozen=True, eq=False)
class Source:
    """A matrix whose rows k-means clusters: the scores of one low-rank solution, or eigenvectors of the graph."""

    points: Array  # (n_kept, d) scores
    scores: str  # "whitened", "scaled" or "spectral"
    gamma: float  # gamma_samples of the low-rank matrix
    rank: int  # of the low-rank matrix


def score_source(directions: tuple[Array, Array], n_clusters: int, scores: Scores, gamma: float) -> Source:
    """Scores of the leading directions of a low-rank matrix, see :func:`cluster_scores`."""
    points, used = cluster_scores(*directions, n_clusters, scores)
    return Source(points, used, gamma, rank_of(directions[1]))


def candidates(
    sources: Sequence[Source],
    weights: sp.csr_array,
    n_clusters: int,
    rng: np.random.RandomState,
    sample_weights: Array | None = None,
) -> list[Candidate]:
    """Partitions from each source: the best k-means starts by conductance and by inertia, and merged finer clusters.

    ``weights`` are the edge weights of the graph of the kept samples, ``sample_weights`` their importance weights. All
    runs of k-means are tasks of their own, in threads.
    """
    n_kept = weights.shape[0]
    finer = [factor * n_clusters for factor in FINE_FACTORS if n_kept >= MIN_FINE_SIZE * factor * n_clusters]
    sizes = [n_clusters] * N_STARTS + finer
    runs = [(at, size) for at in range(len(sources)) for size in sizes]
    seeds = np.concatenate([rng.randint(2**31 - 1, size=len(sizes)) for _ in sources])

    def run(number: int) -> tuple[Candidate, float]:
        at, size = runs[number]
        source = sources[at]
        own_weights = None if source.scores == "spectral" else sample_weights
        labels, inertia = k_means(source.points, size, 1, int(seeds[number]), own_weights, FIT_ON)
        if size > n_clusters:
            labels = merge(weights, labels, n_clusters)
        value = conductance(weights, labels, n_clusters, min_share=MIN_SHARE)
        method: Method = "k-means" if size == n_clusters else "merged"
        return Candidate(labels, source.gamma, source.scores, method, value, source.rank), inertia

    done = map_tasks(run, range(len(runs)))
    found: list[Candidate] = []
    for first in range(0, len(runs), len(sizes)):
        starts = done[first : first + N_STARTS]
        by_conductance = min(starts, key=lambda one: one[0].conductance)[0]
        by_inertia = min(starts, key=lambda one: one[1])[0]
        found += [by_conductance] if by_inertia is by_conductance else [by_conductance, by_inertia]
        found += [one for one, _ in done[first + N_STARTS : first + len(sizes)]]
    return found


def community_candidates(
    weights: sp.csr_array, n_clusters: int, alike: Source, rng: np.random.RandomState
) -> list[Candidate]:
    """Partitions of all samples of high modularity; ``weights`` are locally scaled, ``alike`` gives gamma and rank."""
    found = repeated_communities(weights, n_clusters, n_community_runs(weights.shape[0]), rng)
    return [Candidate(labels, alike.gamma, "none", "communities", np.nan, alike.rank) for labels in found]


def select(
    found: Sequence[Candidate], samples: SampledNodes, evidence: sp.csr_array, n_clusters: int, gamma: float = 0.0
) -> Partition:
    """Extend the best candidates to all samples, refine them, and return the most central of the best.

    Several partitions often have nearly the same cost (:func:`partition_cost` on ``evidence``, the locally scaled edge
    weights of the renumbered graph), and which of them has the lowest depends on the draw of the kept samples. So a
    partition of cost c has the weight ``exp(-(c - c_min) / (0.04 c_min + 0.001))``, and the one with the highest
    weighted mean agreement with all others (adjusted Rand index) is returned. The candidates of one source share the
    weight of the best of them.
    ``gamma=0`` extends labels by majority among neighbors; more interpolates them with this penalty, so that neighbors
    can change the labels of kept samples.
    """
    assert samples.graph is not None
    near = samples.graph.renumbered  # close nodes are close in memory
    weights = near.weights
    shortlist = _shortlist(found, weights.shape[0] * n_clusters)
    rough = [_extended(one, samples, n_clusters, gamma) for one in shortlist]
    refined = map_tasks(lambda labels: _numbered(refine(weights, labels, n_clusters)), rough)
    costs: Array = np.array(map_tasks(lambda labels: partition_cost(evidence, labels, n_clusters), refined))
    agreements = adjusted_rand_indices(refined, n_clusters)
    excess = (costs - costs.min()) / (TIE_RTOL * costs.min() + TIE_ATOL)
    best = int((agreements @ _votes(shortlist, np.exp(-excess))).argmax())
    alternatives: list[int] = []
    for other in np.argsort(costs, kind="stable"):
        different = (agreements[other, [best, *alternatives]] < DIFFERENT).all()
        if different and excess[other] <= 1 and len(alternatives) < MAX_ALTERNATIVES:
            alternatives.append(int(other))
    labels = _numbered(near.restore(refined[best]))
    return Partition(
        labels,
        neighbor_shares(samples.graph.weights, labels, n_clusters),
        shortlist[best],
        conductance(weights, refined[best], n_clusters),
        tuple(
            Alternative(
                _numbered(near.restore(refined[one])),
                conductance(weights, refined[one], n_clusters),
                float(agreements[one, best]),
            )
            for one in alternatives
        ),
    )


def _extended(one: Candidate, samples: SampledNodes, n_clusters: int, gamma: float) -> Array:
    """Labels of all samples from those of a candidate, roughly; as the graph is renumbered."""
    assert samples.graph is not None
    if one.method == "communities":
        return one.labels
    near = samples.graph.renumbered
    if gamma == 0:
        return propagate_labels(one.labels, near.nodes(samples.indices), near.weights)
    dtype = near.weights.dtype
    labels = interpolate_labels(one.labels, samples, n_clusters, dtype, gamma=gamma, tol=ROUGH_TOL)[0]
    return labels if near.order is None else labels[near.order]


def _numbered(labels: Array) -> Array:
    """Labels numbered in the order of their first samples, so that equal partitions have equal labels."""
    first, inverse = np.unique(labels, return_index=True, return_inverse=True)[1:]
    return first.argsort().argsort()[inverse]


def _votes(shortlist: Sequence[Candidate], weights: Array) -> Array:
    """Weights of the candidates, scaled so that those of each source have together the votes of its best.

    A low-rank matrix with one kind of scores has one vote, all communities together have eight.
    """
    names = ["communities" if one.method == "communities" else f"{one.gamma} {one.scores}" for one in shortlist]
    votes = np.where(np.array(names) == "communities", COMMUNITY_VOTES * weights, weights)
    sources = np.unique(names, return_inverse=True)[1]
    best, total = np.zeros(sources.max() + 1), np.bincount(sources, weights=votes)
    np.maximum.at(best, sources, votes)
    return votes * np.divide(best, total, out=np.zeros_like(total), where=total > 0)[sources]


def adjusted_rand_indices(partitions: Sequence[Array], n_clusters: int) -> Array:
    """Compute the adjusted Rand index (m, m) of every two of m partitions, on at most 2000 evenly spaced samples."""
    part = evenly_spaced(len(partitions[0]), AGREEMENT_SAMPLES)
    m = len(partitions)
    together = np.empty((m, m))  # pairs of samples that share a cluster in both
    for at, one in enumerate(partitions):
        for other in range(at + 1):
            shared = np.bincount(one[part] * n_clusters + partitions[other][part])
            together[at, other] = together[other, at] = np.sum(shared * (shared - 1) / 2)
    own = together.diagonal()
    expected = np.outer(own, own) / max(len(part) * (len(part) - 1) / 2, 1)
    scale = (own[:, None] + own) / 2 - expected
    return np.divide(together - expected, scale, out=np.ones((m, m)), where=scale > 0)


def n_community_runs(n_samples: int) -> int:
    """Return how often Louvain's method runs: more for small data, where runs are cheap and differ more."""
    if n_samples > ONE_RUN_ABOVE:
        return 1
    return min(max(COMMUNITY_SAMPLES // n_samples, MIN_COMMUNITY_RUNS), MAX_COMMUNITY_RUNS)


def n_interpolated(n_samples: int, n_kept: int, n_clusters: int, *, one_gamma: bool = False) -> int:
    """Candidates that are interpolated, if both kinds of scores are tried, along the path of gammas or at one."""
    n_sources, per_method = (3 if one_gamma else 8), _n_per_method(n_samples * n_clusters)  # spectral ones included
    n_finer = sum(n_kept >= MIN_FINE_SIZE * factor * n_clusters for factor in FINE_FACTORS)
    return min(per_method, 2 * n_sources) + min(per_method, n_finer * n_sources)


def n_k_means(n_kept: int, n_clusters: int) -> int:
    """K-means runs for one solution, in runs with ``n_clusters`` clusters."""
    return N_STARTS + sum(factor for factor in FINE_FACTORS if n_kept >= MIN_FINE_SIZE * factor * n_clusters)


def _n_per_method(cost: int) -> int:
    """Candidates of a method to interpolate, if there are as many; ``cost`` is samples times clusters."""
    return min(max(MIN_PER_METHOD, int(MAX_MEMBERSHIPS / cost / 2)), MAX_CANDIDATES // 2)


def _shortlist(found: Sequence[Candidate], cost: int) -> list[Candidate]:
    """Best candidates of k-means by conductance on the graph of the kept samples, and all communities."""
    n_found = [len(np.unique(one.labels)) for one in found]  # an empty cluster cannot be filled by moving single nodes
    complete = [one for one, n in zip(found, n_found, strict=True) if n == max(n_found)]
    ordered = sorted(complete, key=lambda one: one.conductance)
    length = _n_per_method(cost)
    by_k_means, merged = ([one for one in ordered if one.method == method] for method in ("k-means", "merged"))
    return by_k_means[:length] + merged[:length] + [one for one in complete if one.method == "communities"]


def neighbor_shares(weights: sp.csr_array, labels: Array, n_clusters: int) -> Array:
    """Membership (n_samples, n_clusters): 0.6 for a sample's own cluster, the rest in the shares of its neighbors.

    Rows sum to 1, and the own cluster has the largest share.
    """
    own = np.eye(n_clusters, dtype=weights.dtype)[labels]
    near = spmm(weights, own)
    degrees = near.sum(axis=1, keepdims=True)
    uniform = near.dtype.type(1 / n_clusters)  # for a node without neighbors
    near = np.where(degrees > 0, near / np.maximum(degrees, np.finfo(near.dtype).tiny), uniform)
    return OWN_SHARE * own + (1 - OWN_SHARE) * near
