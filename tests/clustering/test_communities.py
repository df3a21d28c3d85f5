"""Locally scaled weights, communities, and the cost of a partition."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from test_partition import cliques, random_graph

from graphlowrank._threads import limit_threads
from graphlowrank.clustering import communities, locally_scaled, partition_cost
from graphlowrank.clustering.communities import _seeded_groups, move_in_batches, repeated_communities
from graphlowrank.clustering.selection import n_community_runs
from graphlowrank.graphs import knn_graph
from graphlowrank.kernels.communities import (
    group_graph,
    move_nodes_by_modularity,
    nth_smallest,
    number_in_order,
)
from graphlowrank.metrics import clustering_error, conductance, modularity

seeds = st.integers(0, 10_000)


def test_weights_are_scaled_by_the_distance_of_the_seventh_neighbor(rng):
    X = rng.standard_normal((60, 2)) * np.repeat([1.0, 10.0], 30)[:, None]  # one half is ten times as far apart
    graph = knn_graph(X, 8, bandwidth=5.0)  # wide enough for no weight to be at its lower bound
    W = graph.weights.toarray()
    squares = np.sum((X[:, None] - X) ** 2, axis=2)
    nearest = squares[W > 0].min()  # the largest weight counts as distance 0
    shifted = np.sqrt([np.sort(squares[node, W[node] > 0] - nearest)[6] for node in range(60)])
    expected = np.where(W > 0, np.exp(-(squares - nearest) / np.outer(shifted, shifted)), 0)
    assert_allclose(locally_scaled(graph.weights).toarray(), expected, atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(seed=seeds, dtype=st.sampled_from([np.float32, np.float64]))
def test_scaled_weights_are_symmetric_and_between_0_and_1(seed, dtype):
    scaled = locally_scaled(random_graph(seed, dtype=dtype))
    assert scaled.dtype == dtype
    assert scaled.data.min(initial=0) >= 0
    assert scaled.data.max(initial=0) <= 1
    assert_allclose(scaled.toarray(), scaled.T.toarray(), rtol=1e-5)


def test_equal_weights_and_copies():
    W, _ = cliques([5, 5], bridge=1.0)
    assert_array_equal(locally_scaled(3 * W).data, 1)
    empty = sp.csr_array((4, 4))
    assert locally_scaled(empty).nnz == 0
    assert_array_equal(locally_scaled(0 * W).data, 0)
    copies = knn_graph(np.repeat(np.arange(3.0), 10)[:, None], 9)
    assert np.isfinite(locally_scaled(copies.weights).data).all()


@settings(max_examples=20, deadline=None)
@given(seed=seeds, n=st.integers(1, 9))
def test_nth_smallest_is_that_of_a_sort(seed, n):
    W = random_graph(seed)
    found = np.empty(W.shape[0])
    nth_smallest(0, W.shape[0], W.indptr, W.data, np.empty(n), found)
    for row in range(30):
        values = np.sort(W.data[W.indptr[row] : W.indptr[row + 1]])
        assert found[row] == (values[:n][-1] if len(values) else 0)


def at_resolution(W, labels, resolution):
    """Modularity by its definition."""
    dense = W.toarray()
    degrees = dense.sum(axis=1)
    expected = resolution * np.outer(degrees, degrees) / degrees.sum()
    return np.sum((dense - expected) * (labels[:, None] == labels)) / degrees.sum()


def arrays(W):
    return W.indptr.astype(np.int64), W.indices.astype(np.int32), W.data.astype(np.float64)


def random_order(n, seed):
    return np.random.RandomState(seed).permutation(n).astype(np.int32)


@pytest.mark.parametrize("move", [move_nodes_by_modularity, move_in_batches])
@settings(max_examples=30, deadline=None)
@given(seed=seeds, resolution=st.sampled_from([0.3, 1.0, 3.0]))
def test_no_single_move_raises_the_modularity_further(move, seed, resolution):
    W = random_graph(seed)
    labels = np.arange(30, dtype=np.int32)
    move(arrays(W), labels, random_order(30, seed), resolution, 100)
    reached = at_resolution(W, labels, resolution)
    assert reached >= at_resolution(W, np.arange(30), resolution)
    for node in range(30):
        for other in np.unique(labels[W.indices[W.indptr[node] : W.indptr[node + 1]]]):
            moved = labels.copy()
            moved[node] = other
            assert at_resolution(W, moved, resolution) <= reached + 1e-9


@pytest.mark.parametrize("sizes", [[20, 20, 20], [60, 15, 5], [10] * 12])
def test_cliques_are_communities(sizes):
    W, y = cliques(sizes)
    found = communities(arrays(W), len(sizes), random_order(len(y), 0))
    assert clustering_error(y, found) == 0


@settings(max_examples=20, deadline=None)
@given(seed=seeds, k=st.integers(1, 6))
def test_there_are_as_many_communities_as_asked_for(seed, k):
    W = random_graph(seed, density=0.2)
    found = communities(arrays(W), k, random_order(30, seed))
    if found is not None:
        assert_array_equal(np.unique(found), np.arange(k))
    assert communities(arrays(W), 31, random_order(30, seed)) is None


def test_they_are_no_worse_than_the_blobs_they_come_from():
    X, y = make_blobs(600, 5, centers=6, cluster_std=2.0, random_state=0)
    W = locally_scaled(knn_graph(X, 10).weights)
    found = communities(arrays(W), 6, random_order(600, 0))
    assert modularity(W, found) >= modularity(W, y)
    assert partition_cost(W, found, 6) <= partition_cost(W, y, 6)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_runs_in_threads_are_those_in_a_row(n_jobs):
    W = random_graph(7, n=200, density=0.05)
    with limit_threads(n_jobs):
        found = repeated_communities(W, 4, 5, np.random.RandomState(3))
    drawn = np.random.RandomState(3).randint(2**31 - 1, size=5)
    expected = [communities(arrays(W), 4, random_order(200, seed)) for seed in drawn]
    assert_array_equal(found, [one for one in expected if one is not None])


def test_batches_do_not_depend_on_the_number_of_threads_and_are_as_good():
    X, _ = make_blobs(3000, 5, centers=6, cluster_std=3.0, random_state=0)
    W = locally_scaled(knn_graph(X, 10).weights)
    found = []
    for n_jobs in (1, 4):
        labels = np.arange(3000, dtype=np.int32)
        with limit_threads(n_jobs):
            move_in_batches(arrays(W), labels, random_order(3000, 1), 1.0, 20)
        found.append(labels)
    assert_array_equal(*found)
    one_by_one = np.arange(3000, dtype=np.int32)
    move_nodes_by_modularity(arrays(W), one_by_one, random_order(3000, 1), 1.0, 20)
    assert modularity(W, found[0]) == pytest.approx(modularity(W, one_by_one), abs=0.03)


@settings(max_examples=20, deadline=None)
@given(seed=seeds, k=st.integers(1, 8))
def test_the_graph_of_groups_is_a_product_of_matrices(seed, k):
    W = random_graph(seed)
    labels = np.random.default_rng(seed).integers(0, k, 30).astype(np.int32)
    indptr, indices, data = group_graph(*arrays(W), labels, k)
    members = np.eye(k)[labels]
    found = sp.csr_array((data, indices, indptr), shape=(k, k)).toarray()
    assert_allclose(found, members.T @ W.toarray() @ members, atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_labels_are_numbered_in_the_order_in_which_they_are_met(seed):
    labels, order = np.random.default_rng(seed).integers(0, 30, 30).astype(np.int32), random_order(30, seed)
    numbered = labels.copy()
    count = number_in_order(numbered, order)
    assert_array_equal(numbered[:, None] == numbered, labels[:, None] == labels)
    first = np.unique(numbered[order], return_index=True)
    assert_array_equal(first[0], np.arange(count))
    assert (np.diff(first[1]) > 0).all()


def test_large_data_have_fewer_runs():
    assert [n_community_runs(n) for n in (1, 5000, 10_000, 70_000, 10**6)] == [12, 12, 6, 4, 1]


@settings(max_examples=30, deadline=None)
@given(seed=seeds, k=st.integers(1, 6))
def test_the_cost_is_not_negative(seed, k):
    labels = np.random.default_rng(seed).integers(0, k, 30)
    assert partition_cost(random_graph(seed), labels, k) >= -1e-12


def test_the_modularity_decides_between_cuts_of_equal_conductance():
    """Four cliques without bridges, divided in halves or one from three."""
    W, y = cliques([20, 20, 20, 20], bridge=0.0)
    halves, uneven = (y >= 2).astype(int), (y >= 3).astype(int)
    assert conductance(W, halves) == conductance(W, uneven) == 0
    assert partition_cost(W, halves, 2) < partition_cost(W, uneven, 2)


def test_the_cost_of_equal_components_is_zero_and_of_dust_is_not():
    W, y = cliques([20, 20, 20], bridge=0.0)
    assert partition_cost(W, y, 3) == pytest.approx(0, abs=1e-12)
    W, y = cliques([40, 40, 2], bridge=0.1)
    halves = np.repeat([0, 0, 1], [40, 40, 2])
    assert partition_cost(W, np.where(y == 0, 0, 1), 2) < partition_cost(W, halves, 2)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_large_graphs_start_from_groups_around_random_nodes(n_jobs):
    rng = np.random.RandomState(0)
    classes = rng.randint(4, size=1500)
    X = (8 * np.eye(4)[classes] + rng.standard_normal((1500, 4))).astype(np.float32)
    W = locally_scaled(knn_graph(X, 10).weights)
    with limit_threads(n_jobs):
        (found,) = repeated_communities(W, 4, 1, np.random.RandomState(0), seeded_above=100)
    assert clustering_error(classes, found) < 0.01
    with limit_threads(2):
        assert_array_equal(found, repeated_communities(W, 4, 1, np.random.RandomState(0), seeded_above=100)[0])


def test_components_without_a_seed_are_groups_of_their_own():
    pairs = sp.csr_array(sp.kron(sp.eye_array(40), np.array([[0.0, 1.0], [1.0, 0.0]])))
    groups = _seeded_groups(pairs, np.random.RandomState(0))
    assert sorted(set(groups)) == list(range(groups.max() + 1))
    assert groups.max() + 1 > 40  # eight seeds at most
