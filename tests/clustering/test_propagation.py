"""Labels by majority among neighbors, and sums over clusters, beside plain twins."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from graphlowrank._threads import limit_threads
from graphlowrank.clustering.propagation import propagate_labels
from graphlowrank.graphs import Graph, path_graph
from graphlowrank.kernels.moves import cluster_sums, majority_labels
from graphlowrank.metrics import conductance, modularity


def random_graph(n, seed):
    rng = np.random.default_rng(seed)
    W = sp.random_array((n, n), density=min(1.0, 6 / n), rng=rng, format="csr")
    W.data = np.ceil(4 * W.data)  # ties
    ring = sp.csr_array((np.full(n, 0.1), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    W = sp.csr_array(W + W.T + ring + ring.T)
    W.setdiag(0)
    W.eliminate_zeros()
    return Graph(W)


def test_labels_of_a_path_come_from_the_nearest_kept_node():
    found = propagate_labels(np.array([1, 0]), np.array([1, 7]), path_graph(9).weights)
    assert found[:4].tolist() == [1, 1, 1, 1]
    assert found[5:].tolist() == [0, 0, 0, 0]


@settings(max_examples=40, deadline=None)
@given(n=st.integers(4, 60), k=st.integers(1, 5), seed=st.integers(0, 99))
def test_kept_labels_stay_and_others_are_of_the_majority(n, k, seed):
    rng = np.random.RandomState(seed)
    graph = random_graph(n, seed)
    kept = np.sort(rng.choice(n, max(n // 3, 1), replace=False))
    small = rng.randint(k, size=len(kept))
    found = propagate_labels(small, kept, graph.weights)
    np.testing.assert_array_equal(found[kept], small)
    assert found.min() >= 0
    assert found.max() < k
    with limit_threads(3):
        np.testing.assert_array_equal(found, propagate_labels(small, kept, graph.weights))


@settings(max_examples=40, deadline=None)
@given(n=st.integers(3, 50), k=st.integers(1, 5), seed=st.integers(0, 99))
def test_one_sweep_is_the_dense_majority(n, k, seed):
    rng = np.random.RandomState(seed)
    W = random_graph(n, seed).weights
    labels, fixed, found = rng.randint(-1, k, size=n), rng.random_sample(n) < 0.3, np.empty(n, dtype=np.int64)
    majority_labels(0, n, W.indptr, W.indices, W.data, fixed, labels, np.zeros(k), found)
    links = W.toarray() @ (labels[:, None] == np.arange(k))
    own = np.where(labels >= 0, links[np.arange(n), labels], 0)
    expected = np.where(fixed | (links.max(axis=1) == own), labels, links.argmax(axis=1))
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=30, deadline=None)
@given(n=st.integers(3, 50), k=st.integers(1, 5), seed=st.integers(0, 99))
def test_sums_over_clusters_equal_those_of_the_metrics(n, k, seed):
    rng = np.random.RandomState(seed)
    W, labels = random_graph(n, seed).weights, rng.randint(k, size=n)
    labels = np.unique(labels, return_inverse=True)[1]
    inside, volume = cluster_sums(W.indptr, W.indices, W.data, labels, labels.max() + 1)
    np.testing.assert_allclose(1 - np.mean(inside / volume), conductance(W, labels), atol=1e-12)
    total = volume.sum()
    np.testing.assert_allclose(inside.sum() / total - np.sum((volume / total) ** 2), modularity(W, labels), atol=1e-12)
    shifted = labels * 3 + 7  # the metrics number any labels
    np.testing.assert_allclose(conductance(W, shifted), conductance(W, labels), atol=1e-12)


@pytest.mark.parametrize("n_nodes", [10, 3000])  # the second has so many edges that a compiled loop sums them
def test_labels_must_fit_the_graph(n_nodes):
    ring = sp.diags_array([1.0] * 8, offsets=[-4, -3, -2, -1, 1, 2, 3, 4], shape=(n_nodes, n_nodes), format="csr")
    for metric in (conductance, modularity):
        for wrong in (n_nodes - 1, n_nodes + 1):
            with pytest.raises(ValueError, match="labels do not fit"):
                metric(ring, np.zeros(wrong, dtype=int))
    assert conductance(ring, np.zeros(n_nodes, dtype=int)) == 0
