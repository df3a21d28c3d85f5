"""Nearest neighbors of sparse rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank.graphs import knn_graph
from graphlowrank.graphs.candidates import nearest_of
from graphlowrank.graphs.search import nearest_neighbors, nearest_to
from graphlowrank.graphs.search_exact import all_sparse_pairs
from helpers import shifted_sparse, sparse_counts


def check_neighbors(X, distances, indices):
    true_distances, true_indices = nearest_neighbors(X.to_array(), 5, engine="exact")
    assert_allclose(distances, true_distances, rtol=1e-4 if X.dtype == np.float32 else 1e-10)
    assert np.mean(indices == true_indices) > 0.99
    assert distances.dtype == X.dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbors_are_those_of_the_dense_rows(dtype):
    X = shifted_sparse(1, n=200, p=40, dtype=dtype)
    check_neighbors(X, *nearest_neighbors(X, 5, engine="exact"))
    near, who = nearest_to(X[:7], X, 3)
    assert_array_equal(who[:, 0], np.arange(7))
    assert_allclose(near[:, 0], 0, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("by_products", [True, False])
def test_both_ways_to_compare_all_pairs(dtype, by_products):
    X = shifted_sparse(1, n=200, p=40, dtype=dtype)
    blocks = {"by_products": by_products, "block_entries": 50 * (200 if by_products else 40)}
    check_neighbors(X, *nearest_of(X, all_sparse_pairs(X, X, 10, **blocks), 5))
    near, who = nearest_of(X, all_sparse_pairs(X[:7], X, 7, **blocks), 3, X[:7])
    assert_array_equal(who[:, 0], np.arange(7))
    assert_allclose(near[:, 0], 0, atol=1e-6)


def test_the_compiled_distances_agree_with_their_twin():
    X, rng = shifted_sparse(2, n=60, p=30), np.random.default_rng(0)
    candidates, order = rng.integers(-1, 60, (60, 12)), rng.permutation(60)
    queries = shifted_sparse(4, n=60, p=30)
    for asking in (None, queries):
        compiled, plain = (nearest_of(X, candidates, 3, asking, order=order, compiled=one) for one in (True, False))
        assert_allclose(compiled[0], plain[0], rtol=5e-10)
        assert_array_equal(compiled[1], plain[1])


def test_approximate_neighbors_of_many_wide_rows():
    values, groups = sparse_counts(1500, 400, 5)
    graph = knn_graph(values, 10, neighbors="approximate", random_state=0)
    exact = knn_graph(values, 10, neighbors="exact")
    assert (graph.weights.minimum(exact.weights) > 0).nnz > 0.6 * exact.weights.nnz  # noise in 400 dimensions
    edges = graph.weights.tocoo()
    assert np.mean(groups[edges.coords[0]] == groups[edges.coords[1]]) > 0.95
