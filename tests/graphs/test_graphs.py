from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import graphlowrank.graphs.graph as graph_module
import graphlowrank.graphs.knn as build_module
from graphlowrank.decoders import upsample
from graphlowrank.graphs import Graph, as_graph, grid_graph, knn_graph, path_graph
from graphlowrank.graphs.knn import MIN_WEIGHT
from graphlowrank.graphs.locality import renumber
from graphlowrank.linalg.eigen import diagonal_bound, largest_eigenvalue
from graphlowrank.reduction import kron_reduce
from graphlowrank.sampling import draw
from helpers import assert_is_laplacian, disjoint, random_graph


def test_kernel_is_the_documented_one():
    # Three points on a line, one neighbor each: pairs at distance 1, 1 and 2; their mean is sigma.
    X = np.array([[0.0], [1.0], [3.0]])
    sigma = (1 + 1 + 2) / 3
    W = knn_graph(X, 1).weights.toarray()
    expected = np.zeros((3, 3))
    expected[0, 1] = expected[1, 0] = np.exp(-((1 / sigma) ** 2))
    expected[1, 2] = expected[2, 1] = np.exp(-((2 / sigma) ** 2))
    assert_allclose(W, expected, rtol=1e-12)
    half = knn_graph(X, 1, bandwidth=0.5).weights.toarray()
    assert half[0, 1] == pytest.approx(np.exp(-((2 / sigma) ** 2)))


@given(seed=st.integers(0, 10_000), n=st.integers(3, 40), k=st.integers(1, 5), scale=st.sampled_from([1e-6, 1.0, 1e6]))
@settings(max_examples=40, deadline=None)
def test_knn_graph_is_a_graph_whatever_the_points(seed, n, k, scale):
    rng = np.random.default_rng(seed)
    X = scale * rng.integers(0, 3, (n, 2)).astype(float)  # many duplicates
    k = min(k, n - 1)
    graph = knn_graph(X, k)
    W = graph.weights
    assert abs(W - W.T).nnz == 0
    assert np.all(W.diagonal() == 0)
    assert np.all(np.isfinite(W.data))
    assert W.data.min() >= MIN_WEIGHT
    assert W.data.max() <= 1
    assert np.diff(W.indptr).min() >= k  # every node keeps at least its own neighbors
    assert_is_laplacian(graph.laplacian())


def test_weights_do_not_depend_on_units_or_origin(rng):
    X = rng.standard_normal((60, 5))
    W = knn_graph(X, 5).weights
    shifted = knn_graph(1e4 * X + 1e7, 5).weights
    assert_allclose(shifted.toarray(), W.toarray(), atol=1e-6)


def test_far_outlier_stays_on_the_graph(rng):
    X = np.vstack([rng.standard_normal((50, 3)), [[1e6, 0, 0]]])
    graph = knn_graph(X, 5)
    assert graph.n_components == 1
    assert graph.degrees[-1] >= 5 * MIN_WEIGHT * 0.999


def test_identical_points_get_weight_one():
    graph = knn_graph(np.ones((8, 3)), 3)
    assert set(graph.weights.data) == {1.0}


def test_float32_stays_float32(rng):
    X = rng.standard_normal((50, 4)).astype(np.float32)
    graph = knn_graph(X, 4)
    assert graph.weights.dtype == np.float32
    for kind in ("combinatorial", "normalized"):
        assert graph.laplacian(kind).dtype == np.float32
        assert graph.unit_laplacian(kind).dtype == np.float32
    assert knn_graph(X.astype(np.float64), 4).weights.dtype == np.float64


@pytest.mark.parametrize("kind", ["combinatorial", "normalized"])
def test_laplacian_quadratic_form_is_the_sum_over_edges(kind, rng):
    graph = random_graph(9, seed=3)
    W, d = graph.weights.toarray(), graph.degrees
    x = rng.standard_normal(9)
    y = x / np.sqrt(d) if kind == "normalized" else x
    edges = 0.5 * sum(W[i, j] * (y[i] - y[j]) ** 2 for i in range(9) for j in range(9))
    assert x @ (graph.laplacian(kind) @ x) == pytest.approx(edges)


def test_isolated_node_has_a_zero_row():
    graph = disjoint(path_graph(3), Graph(sp.csr_array((1, 1))))
    assert graph.n_components == 2
    for kind in ("combinatorial", "normalized"):
        L = graph.laplacian(kind).toarray()
        assert np.all(L[3] == 0)
        assert np.linalg.eigvalsh(L)[0] >= -1e-12


def test_unit_laplacian_has_mean_diagonal_one():
    for kind in ("combinatorial", "normalized"):
        assert random_graph(20).unit_laplacian(kind).diagonal().mean() == pytest.approx(1)


@given(seed=st.integers(0, 1000), n=st.sampled_from([2, 10, 63, 64, 150]))
@settings(max_examples=25, deadline=None)
def test_largest_eigenvalue_is_a_close_upper_bound(seed, n):
    for kind in ("combinatorial", "normalized"):
        L = random_graph(n, density=0.1, seed=seed).laplacian(kind)
        top = np.linalg.eigvalsh(L.toarray())[-1]
        assert top * (1 - 1e-10) <= largest_eigenvalue(L) <= top * 1.02


@given(seed=st.integers(0, 999), n=st.integers(2, 90), power=st.floats(0, 4))
@settings(max_examples=40, deadline=None)
def test_diagonal_bound_is_a_close_upper_bound(seed, n, power):
    graph = random_graph(n, seed=seed)
    scale = np.random.default_rng(seed).random(n) ** power  # degrees of all sizes
    scale[0] = 0  # a node without edges
    for kind in ("combinatorial", "normalized"):
        L = Graph(sp.csr_array(sp.diags_array(scale) @ graph.weights @ sp.diags_array(scale))).laplacian(kind)
        D = diagonal_bound(L)
        # In units of D, where all entries have the same scale: D - L is positive semi-definite, and barely so.
        root = np.divide(1, np.sqrt(D), out=np.zeros(n), where=D > 0)
        top = np.linalg.eigvalsh(root[:, None] * L.toarray() * root)[-1]
        assert D[0] == 0
        assert n == 2 or 0.98 <= top <= 1 + 1e-10
        assert np.max(D - 2.03 * L.diagonal()) <= 0


def test_largest_eigenvalue_of_pairs():
    # Every eigenvector of the top is odd on a pair; a start that is even on all of them would find nothing.
    pairs = sp.kron(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]), sp.eye_array(100))
    assert largest_eigenvalue(Graph(sp.csr_array(pairs)).laplacian()) == pytest.approx(2, rel=1e-2)


def test_components_are_counted():
    graph = disjoint(random_graph(5), random_graph(4, seed=1), Graph(sp.csr_array((1, 1))))
    assert graph.n_components == 3
    assert list(np.bincount(graph.components)) == [5, 4, 1]


def test_grid_and_path_match_their_definitions():
    image = np.arange(12.0).reshape(3, 4)
    squared = np.sum(np.diff(image, axis=0) ** 2) + np.sum(np.diff(image, axis=1) ** 2)
    x = image.ravel()
    assert x @ (grid_graph((3, 4)).laplacian() @ x) == pytest.approx(squared)
    assert grid_graph((3, 4), diagonals=True).n_edges == 17 + 12
    W = path_graph(6, reach=3).weights.toarray()
    assert W[0, 1] == 1
    assert W[0, 2] == pytest.approx(1 / 2)
    assert W[0, 3] == pytest.approx(1 / 3)
    assert W[0, 4] == 0


def test_as_graph_wraps_what_users_have():
    dense = np.array([[5.0, 1.0], [1.0, 0.0]])
    graph = as_graph(dense)
    assert graph.weights.toarray().tolist() == [[0, 1], [1, 0]]  # the diagonal is ignored
    assert dense[0, 0] == 5  # and left alone in the caller's array
    assert as_graph(sp.coo_matrix(dense), 2).n_edges == 1
    assert as_graph(graph) is graph
    assert as_graph(dense.astype(int)).weights.dtype == np.float64


@given(seed=st.integers(0, 5000), n=st.integers(2, 40))
@settings(max_examples=30, deadline=None)
def test_renumbering_is_undone(seed, n):
    graph = random_graph(n, 0.2, seed, connected=seed % 2 == 0)
    near = renumber(graph.weights, np.random.default_rng(seed).permutation(n).astype(np.int32))
    assert near.weights.has_canonical_format
    everything = near.nodes(np.arange(n))
    assert_array_equal(np.sort(everything), np.arange(n))
    assert_array_equal(near.weights.toarray()[np.ix_(everything, everything)], graph.weights.toarray())
    signals = np.random.default_rng(seed).standard_normal((n, 3))
    there = np.empty_like(signals)
    there[everything] = signals
    assert_array_equal(near.restore(there), signals)
    assert_allclose(near.restore(near.weights @ there), graph.weights @ signals, rtol=1e-9, atol=1e-9)


def test_upsampling_and_walks_do_not_mind_the_numbering(rng):
    graph = knn_graph(rng.standard_normal((400, 2)), 6)
    keep = draw(graph, 80, random_state=0)
    values = rng.standard_normal((len(keep), 2))
    plain = upsample(graph, keep, values).X
    small = kron_reduce(graph, keep, "random_walk", n_repeats=60, random_state=0).weights.toarray()
    with patch.object(graph_module, "RENUMBERED_ABOVE", 0):
        again = Graph(graph.weights)
        assert again.renumbered.order is not None
        assert_allclose(upsample(again, keep, values).X, plain, atol=1e-5)
        renumbered = kron_reduce(again, keep, "random_walk", n_repeats=60, random_state=0).weights.toarray()
    exact = kron_reduce(graph, keep, "exact").weights.toarray()
    for found in (small, renumbered):  # other walks, the same expectation
        assert np.linalg.norm(found - exact) < 0.1 * np.linalg.norm(exact)


def test_a_cache_friendly_order_changes_no_result(monkeypatch):
    points = np.random.default_rng(0).standard_normal((600, 3))
    expected = knn_graph(points, 6, neighbors="approximate", random_state=0)
    for module in (build_module, graph_module):
        monkeypatch.setattr(module, "RENUMBERED_ABOVE", 100)
    graph = knn_graph(points, 6, neighbors="approximate", random_state=0)
    assert sorted(graph.order) == list(range(600))
    assert_array_equal(graph.weights.toarray(), expected.weights.toarray())
    near = graph.renumbered
    assert_array_equal(near.weights.toarray(), expected.weights.toarray()[np.ix_(near.order, near.order)])
    here, there = near.weights.nonzero()
    assert np.median(np.abs(here - there)) < 0.5 * np.median(np.abs(np.subtract(*expected.weights.nonzero())))
    monkeypatch.setattr(graph_module, "COMPILED_ABOVE", 0)
    two = Graph(sp.block_diag([graph.weights, graph.weights], format="csr"), np.r_[graph.order, graph.order + 600])
    assert two.n_components == 2 * expected.n_components
    assert len(set(two.components[:600]) & set(two.components[600:])) == 0
