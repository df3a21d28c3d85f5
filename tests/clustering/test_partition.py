"""Partitions by conductance: refinement, merging, selection, consensus."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_circles
from sklearn.metrics import adjusted_rand_score

from graphlowrank import CompressiveClustering
from graphlowrank.clustering import Candidate, consensus, merge, modularity_path, refine, refinement, select
from graphlowrank.clustering.kmeans import spectral_directions
from graphlowrank.clustering.selection import adjusted_rand_indices, neighbor_shares
from graphlowrank.graphs import Graph, knn_graph
from graphlowrank.metrics import clustering_error, conductance, modularity
from graphlowrank.sampling import SampledNodes


def random_graph(seed, n=30, density=0.15, dtype=np.float64):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    return sp.csr_array((W + W.T).astype(dtype))


def cliques(sizes, bridge=0.1):
    """Complete graphs in a row, each joined to the next by one weak edge."""
    n, starts = sum(sizes), np.r_[0, np.cumsum(sizes)]
    W = np.zeros((n, n))
    for first, last in pairwise(starts):
        W[first:last, first:last] = 1
    np.fill_diagonal(W, 0)
    for first in starts[1:-1]:
        W[first - 1, first] = W[first, first - 1] = bridge
    return sp.csr_array(W), np.repeat(np.arange(len(sizes)), sizes)


def test_conductance_is_the_mean_share_of_weight_that_leads_out():
    W = random_graph(0)
    labels = np.random.default_rng(1).integers(0, 4, 30)
    dense = W.toarray()
    expected = np.mean([dense[labels == k][:, labels != k].sum() / dense[labels == k].sum() for k in range(4)])
    assert conductance(W, labels) == pytest.approx(expected)
    assert conductance(Graph(W), np.array(list("abcd"))[labels]) == pytest.approx(expected)
    assert conductance(W, labels, 5) == pytest.approx((4 * expected + 1) / 5)  # a cluster is missing


def test_a_tiny_cluster_is_charged_for_what_it_lacks():
    W, y = cliques([40, 40, 2], bridge=0.01)
    dust = np.where(y == 2, 1, 0)  # two nodes against all others
    assert conductance(W, dust) < 0.01
    volume, inside = W.sum(), 2.0
    expected = (1 - inside / (0.1 * volume / 2) + 0.01 / (volume - 2.01)) / 2
    assert conductance(W, dust, min_share=0.1) == pytest.approx(expected)
    halves = np.where(y == 0, 0, 1)
    assert conductance(W, halves, min_share=0.1) == conductance(W, halves) < 0.01
    start = np.where(np.arange(82) < 79, 0, 1)
    assert conductance(W, refine(W, start, 2)) == pytest.approx(conductance(W, halves))
    assert conductance(W, refine(W, start, 2, min_share=0)) == pytest.approx(conductance(W, dust))


SHARES = st.sampled_from([0.0, 0.1, 0.6])


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(2, 6), density=st.sampled_from([0.05, 0.15, 0.5]), share=SHARES)
def test_refinement_never_raises_the_conductance_nor_empties_a_cluster(seed, k, density, share):
    W = random_graph(seed, density=density)
    labels = np.r_[np.arange(k), np.random.default_rng(seed).integers(0, k, 30 - k)]
    before = labels.copy()
    refined = refine(W, labels, k, min_share=share)
    assert_array_equal(labels, before)
    assert set(refined) == set(range(k))
    assert conductance(W, refined, k, min_share=share) <= conductance(W, labels, k, min_share=share) + 1e-12
    alone = np.diff(W.indptr) == 0
    assert_array_equal(refined[alone], labels[alone])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(2, 6), dtype=st.sampled_from([np.float32, np.float64]), share=SHARES)
def test_the_compiled_pass_agrees_with_its_twin(seed, k, dtype, share):
    W = random_graph(seed, n=60, dtype=dtype)
    labels = np.random.default_rng(seed).integers(0, k, 60)
    plain, compiled = labels.copy(), labels.copy()
    for _ in range(5):
        assert refinement._plain_pass(W, plain, k, share) == refinement._compiled_pass(W, compiled, k, share)
        assert_array_equal(plain, compiled)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), share=SHARES)
def test_no_single_move_lowers_the_conductance_of_a_refined_partition(seed, share):
    W = random_graph(seed)
    labels = refine(W, np.random.default_rng(seed).integers(0, 3, 30), 3, min_share=share)
    least = conductance(W, labels, 3, min_share=share)
    for node in range(30):
        for other in set(range(3)) - {labels[node]}:
            moved = labels.copy()
            moved[node] = other
            if np.sum(labels == labels[node]) > 1:
                assert conductance(W, moved, 3, min_share=share) > least - 1e-8


def test_a_node_goes_back_to_its_clique():
    W, y = cliques([8, 12, 10])
    labels = y.copy()
    labels[[3, 15, 25]] = [1, 2, 0]
    assert_array_equal(refine(W, labels, 3), y)


def test_merging_takes_the_pair_that_raises_the_modularity_most():
    W = random_graph(5, n=40, density=0.3)
    labels = np.random.default_rng(0).integers(0, 8, 40)
    merged = merge(W, labels, 7)
    joined = [np.where(labels == a, b, labels) for a in range(8) for b in range(a)]
    assert modularity(W, merged) == pytest.approx(max(modularity(W, each) for each in joined))
    assert len(set(merged)) == 7
    assert_array_equal(np.unique(merge(W, labels, 20), return_inverse=True)[1], labels)


def test_the_modularity_path_is_that_of_the_merged_labels():
    W = random_graph(7, n=40, density=0.3)
    labels = np.random.default_rng(0).integers(0, 8, 40)
    along = modularity_path(W, labels)
    assert_allclose(along, [modularity(W, merge(W, labels, k)) for k in range(1, 9)], atol=1e-12)


def test_merging_joins_the_halves_of_cliques():
    W, y = cliques([10, 14, 12])
    halves = 2 * y + (np.arange(36) % 2)
    merged = merge(W, halves, 3)
    assert conductance(W, merged) == pytest.approx(conductance(W, y))


def candidate(W, labels, n_clusters, gamma=1.0):
    return Candidate(labels, gamma, "whitened", "k-means", conductance(W, labels, n_clusters), 3)


def test_the_lowest_cost_is_selected():
    W, y = cliques([20, 20, 20])
    side = SampledNodes(Graph(W), np.arange(60), None)
    wrong = np.r_[np.zeros(40, dtype=int), np.repeat([1, 2], 10)]  # two cliques in one cluster: no single move helps
    nearly = y.copy()
    nearly[0] = 1  # refinement corrects it
    chosen = select([candidate(W, wrong, 3), candidate(W, nearly, 3), candidate(W, wrong, 3)], side, W, 3)
    assert_array_equal(chosen.labels, y)
    assert chosen.conductance == pytest.approx(conductance(W, y))
    assert chosen.alternatives == ()


def test_among_ties_the_partition_is_selected_that_others_agree_with():
    """Four cliques in a ring, two clusters: each cut of two opposite bridges is as good as the other."""
    W, y = cliques([20, 20, 20, 20])
    W = W.tolil()
    W[0, 79] = W[79, 0] = 0.1
    W = W.tocsr()
    side = SampledNodes(Graph(W), np.arange(80), None)
    first, second = np.isin(y, [2, 3]).astype(int), np.isin(y, [1, 2]).astype(int)
    for votes, winner, other in (([first, second, second], second, first), ([second, first, first], first, second)):
        chosen = select([candidate(W, one, 2, gamma) for gamma, one in enumerate(votes)], side, W, 2)
        assert_array_equal(chosen.labels, winner)
        same_source = select([candidate(W, one, 2, gamma=len(set(one[:40]))) for one in votes], side, W, 2)
        assert_array_equal(same_source.labels, votes[0])  # one vote each: a tie
        (tie,) = chosen.alternatives
        assert_array_equal(tie.labels, other)
        assert tie.conductance == pytest.approx(chosen.conductance)
        assert tie.agreement == pytest.approx(adjusted_rand_score(first, second))


def test_circles_are_found_by_the_smoothest_signals():
    """No candidate of the low-rank matrix has them: its features are the two coordinates."""
    X, y = make_circles(400, noise=0.03, factor=0.4, random_state=0)
    model = CompressiveClustering(2, random_state=0).fit(X)
    assert clustering_error(y, model.labels_) == 0
    assert model.scores_ == "spectral"


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), density=st.sampled_from([0.05, 0.2]))
def test_spectral_directions_are_eigenvectors_of_the_regularized_graph(seed, density):
    W = random_graph(seed, density=density)
    vectors, ones = spectral_directions(W, 4)
    assert_array_equal(vectors, spectral_directions(W, 4)[0])
    degrees = W.sum(axis=1)
    extra = 1e-3 * degrees.mean()
    root = 1 / np.sqrt(degrees + extra)
    dense = root[:, None] * (W.toarray() + extra / 30) * root
    assert_allclose(ones, 1)
    assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-8)
    values = np.sum(vectors * (dense @ vectors), axis=0)
    assert_allclose(dense @ vectors, values * vectors, atol=1e-2)
    if density > 0.1:  # of an eigenvalue with several vectors (components), Lanczos's method may miss some
        assert values.sum() == pytest.approx(np.linalg.eigvalsh(dense)[-4:].sum(), abs=1e-3)


def test_an_empty_cluster_does_not_win():
    """All nodes in one cluster have a conductance of 1/2, each node in its own has 1."""
    W = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    side = SampledNodes(Graph(W), np.arange(2), None)
    found = [candidate(W, np.array(labels), 2) for labels in ([0, 0], [0, 1])]
    assert_array_equal(select(found, side, W, 2).labels, [0, 1])
    assert len(set(CompressiveClustering(2, random_state=0).fit_predict([[0.0, 1.0], [3.0, 1.0]]))) == 2


def test_graphs_without_edges_and_many_clusters_have_no_spectral_candidates():
    assert spectral_directions(sp.csr_array((30, 30)), 4) is None
    assert spectral_directions(random_graph(0), 30) is None


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(1, 5))
def test_agreements_are_adjusted_rand_indices(seed, k):
    partitions = list(np.random.default_rng(seed).integers(0, k, (4, 30)))
    expected = [[adjusted_rand_score(one, other) for other in partitions] for one in partitions]
    assert_allclose(adjusted_rand_indices(partitions, k), expected, atol=1e-12)


def test_memberships_are_shares_and_agree_with_the_labels(rng):
    W = random_graph(3)
    labels = rng.integers(0, 4, 30)
    shares = neighbor_shares(W, labels, 4)
    assert_allclose(shares.sum(axis=1), 1)
    assert_array_equal(shares.argmax(axis=1), labels)
    alone = neighbor_shares(sp.csr_array((30, 30)), labels, 4)
    assert_allclose(alone.sum(axis=1), 1)
    assert_array_equal(alone.argmax(axis=1), labels)
    assert alone.max() < 0.9  # they have no neighbors


def test_consensus_does_not_depend_on_the_order_of_clusters(rng):
    labels = rng.integers(0, 5, 200)
    first = np.eye(5)[labels]
    renamed = np.eye(5)[rng.permutation(5)[labels]]
    assert_array_equal(consensus([first, renamed]), first)


def test_consensus_is_the_majority(rng):
    truth = rng.integers(0, 3, 300)
    votes = []
    for _ in range(5):
        vote = np.where(rng.random(300) < 0.2, rng.integers(0, 3, 300), truth)
        votes.append(np.eye(3)[rng.permutation(3)[vote]])
    mean = consensus(votes, 2)
    assert_allclose(mean.sum(axis=1), 1)
    agreement = max(
        np.mean(np.array(p)[mean.argmax(axis=1)] == truth)
        for p in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0])
    )
    assert agreement > 0.97


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n_draws=st.integers(1, 6))
def test_consensus_leaves_every_cluster_half_of_its_samples(seed, n_draws):
    rng = np.random.default_rng(seed)
    draws = [rng.dirichlet(np.full(4, 0.2), 40) for _ in range(n_draws)]
    first = int(rng.integers(n_draws))
    mean = consensus(draws, first)
    assert_allclose(mean.sum(axis=1), 1)
    before, after = (np.bincount(one.argmax(axis=1), minlength=4) for one in (draws[first], mean))
    assert (2 * after >= before).all()


def test_a_neighbor_graph_is_refined_to_its_clusters(rng):
    y = np.repeat(np.arange(4), 50)
    X = np.eye(4)[y] * 6 + rng.standard_normal((200, 4))
    W = knn_graph(X, 8).weights
    wrong = np.where(rng.random(200) < 0.2, rng.integers(0, 4, 200), y)
    assert np.mean(refine(W, wrong, 4) != y) <= 0.01
