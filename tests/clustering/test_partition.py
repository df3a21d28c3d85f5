"""Partitions by conductance: refinement, merging, selection, consensus."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank.clustering import Candidate, consensus, merge, modularity_path, refine, refinement, select
from graphlowrank.clustering.selection import neighbor_shares
from graphlowrank.graphs import Graph, knn_graph
from graphlowrank.metrics import conductance, modularity
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


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(2, 6), density=st.sampled_from([0.05, 0.15, 0.5]))
def test_refinement_never_raises_the_conductance_nor_empties_a_cluster(seed, k, density):
    W = random_graph(seed, density=density)
    labels = np.r_[np.arange(k), np.random.default_rng(seed).integers(0, k, 30 - k)]
    before = labels.copy()
    refined = refine(W, labels, k)
    assert_array_equal(labels, before)
    assert set(refined) == set(range(k))
    assert conductance(W, refined, k) <= conductance(W, labels, k) + 1e-12
    alone = np.diff(W.indptr) == 0
    assert_array_equal(refined[alone], labels[alone])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(2, 6), dtype=st.sampled_from([np.float32, np.float64]))
def test_the_compiled_pass_agrees_with_its_twin(seed, k, dtype):
    W = random_graph(seed, n=60, dtype=dtype)
    labels = np.random.default_rng(seed).integers(0, k, 60)
    plain, compiled = labels.copy(), labels.copy()
    for _ in range(5):
        assert refinement._plain_pass(W, plain, k) == refinement._compiled_pass(W, compiled, k)
        assert_array_equal(plain, compiled)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_no_single_move_lowers_the_conductance_of_a_refined_partition(seed):
    W = random_graph(seed)
    labels = refine(W, np.random.default_rng(seed).integers(0, 3, 30), 3)
    least = conductance(W, labels, 3)
    for node in range(30):
        for other in set(range(3)) - {labels[node]}:
            moved = labels.copy()
            moved[node] = other
            if np.sum(labels == labels[node]) > 1:
                assert conductance(W, moved, 3) > least - 1e-8


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


def test_the_lowest_conductance_is_selected_and_scaled_scores_have_a_handicap():
    W, y = cliques([20, 20, 20])
    side = SampledNodes(Graph(W), np.arange(60), None)
    wrong = np.r_[np.zeros(40, dtype=int), np.repeat([1, 2], 10)]  # two cliques in one cluster: no single move helps

    def candidate(labels, scores):
        return Candidate(labels, 1.0, scores, "k-means", conductance(W, labels, 3), 3)

    chosen = select([candidate(wrong, "whitened"), candidate(y, "scaled")], side, 3)
    assert chosen.candidate.scores == "scaled"
    assert_array_equal(chosen.labels, y)
    assert chosen.conductance == pytest.approx(conductance(W, y))
    nearly = y.copy()
    nearly[0] = 1
    chosen = select([candidate(nearly, "whitened"), candidate(y, "scaled")], side, 3)
    assert chosen.candidate.scores == "whitened"  # refinement corrects it


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


def test_consensus_leaves_no_cluster_empty():
    first = np.eye(3)[[0, 0, 1, 1, 2, 2]]
    others = [np.eye(3)[[0, 0, 1, 1, 1, 2]], np.eye(3)[[0, 0, 1, 1, 2, 1]], np.eye(3)[[0, 2, 1, 1, 1, 1]]]
    assert len(set(consensus([first, *others]).argmax(axis=1))) == 3


def test_a_neighbor_graph_is_refined_to_its_clusters(rng):
    y = np.repeat(np.arange(4), 50)
    X = np.eye(4)[y] * 6 + rng.standard_normal((200, 4))
    W = knn_graph(X, 8).weights
    wrong = np.where(rng.random(200) < 0.2, rng.integers(0, 4, 200), y)
    assert np.mean(refine(W, wrong, 4) != y) <= 0.01
