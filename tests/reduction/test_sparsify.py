import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank.graphs import as_graph, knn_graph
from graphlowrank.reduction import kron_reduce, reduce_graph, sparsify
from graphlowrank.sampling import draw
from helpers import assert_is_laplacian, random_graph


def dense_graph(n, seed=0, dtype=np.float64):
    """Complete graph with weights over three orders of magnitude."""
    weights = np.triu(10.0 ** np.random.default_rng(seed).uniform(-3, 0, (n, n)), 1)
    return as_graph((weights + weights.T).astype(dtype))


@given(seed=st.integers(0, 5000), n=st.integers(2, 60), edges=st.floats(0.5, 40))
@settings(max_examples=60, deadline=None)
def test_answer_is_a_part_of_the_graph_in_as_many_pieces(seed, n, edges):
    graph = random_graph(n, seed=seed)
    sparse = sparsify(graph, edges, random_state=seed)
    assert_is_laplacian(sparse.laplacian().toarray())
    assert sparse.n_components == graph.n_components
    full = graph.weights.toarray()
    kept = sparse.weights.toarray() > 0
    assert (full[kept] > 0).all()
    assert (sparse.weights.toarray()[kept] >= full[kept] * (1 - 1e-12)).all()


def test_laplacian_is_right_in_expectation():
    graph, n_draws = dense_graph(25), 3000
    draws = np.array([sparsify(graph, 4, random_state=seed).weights.toarray() for seed in range(n_draws)])
    assert sparsify(graph, 4, random_state=0).n_edges < 0.5 * graph.n_edges  # it did drop edges
    off = draws.mean(axis=0) - graph.weights.toarray()
    deviation = draws.std(axis=0) / np.sqrt(n_draws)
    certain = deviation < 1e-9
    assert_allclose(off[certain], 0, atol=1e-12)
    assert np.abs(off[~certain] / deviation[~certain]).max() < 5


def test_number_of_edges_stays_below_what_was_asked():
    graph = dense_graph(300)
    for edges in (5, 20, 60):
        counts = [sparsify(graph, edges, random_state=seed).n_edges for seed in range(10)]
        assert np.mean(counts) <= 1.02 * edges * 300  # ten draws
        assert np.mean(counts) >= 0.5 * edges * 300  # and not far below


def test_smooth_signals_have_the_same_size():
    """Quadratic forms agree within the epsilon that the number of edges buys, on the signals that matter: all."""
    graph = dense_graph(400, seed=3)
    L = graph.laplacian().toarray()
    values, vectors = np.linalg.eigh(L)
    root = vectors[:, 1:] / np.sqrt(values[1:])
    errors = []
    for edges in (10, 40):
        relative = root.T @ sparsify(graph, edges, random_state=0).laplacian().toarray() @ root
        errors.append(np.abs(np.linalg.eigvalsh(relative) - 1).max())
    assert errors[0] < 1
    assert errors[1] < 0.65 * errors[0]  # a half in theory: four times the edges


def test_strong_edges_stay_as_they_are():
    weights = np.full((40, 40), 0.02)
    weights[np.arange(0, 40, 2), np.arange(1, 40, 2)] = weights[np.arange(1, 40, 2), np.arange(0, 40, 2)] = 1.0
    np.fill_diagonal(weights, 0)
    sparse = sparsify(weights, 5, random_state=0).weights.toarray()
    assert (sparse[np.arange(0, 40, 2), np.arange(1, 40, 2)] == 1).all()
    assert (sparse > 0).sum() < 0.8 * (weights > 0).sum()


def test_a_bottleneck_is_not_cut():
    """Two dense halves joined by one edge so faint that it would hardly ever be drawn."""
    weights = np.zeros((60, 60))
    weights[:30, :30] = weights[30:, 30:] = 1.0
    weights[0, 30] = weights[30, 0] = 1e-6
    np.fill_diagonal(weights, 0)
    graph = as_graph(weights)
    for seed in range(5):
        assert sparsify(graph, 5, random_state=seed).n_components == 1


def test_sparse_graphs_are_returned_as_they_are(rng):
    graph = knn_graph(rng.standard_normal((200, 3)), 8)
    assert sparsify(graph, 20) is graph


def test_seed_decides_and_precision_stays():
    graph = dense_graph(80, dtype=np.float32)
    first, again, other = (sparsify(graph, 5, random_state=seed).weights for seed in (1, 1, 2))
    assert first.dtype == np.float32
    assert_array_equal(first.toarray(), again.toarray())
    assert (first != other).nnz > 0


def test_walks_are_sparsified_and_exact_reduction_is_not(rng):
    points = rng.standard_normal((1500, 12))
    graph = knn_graph(points, 12)
    keep = draw(graph, 300, random_state=0)
    exact = reduce_graph(graph, keep, points, "exact", 12, random_state=0)
    assert_allclose(exact.weights.toarray(), kron_reduce(graph, keep, "exact").weights.toarray())
    walked = kron_reduce(graph, keep, "random_walk", n_repeats=1, random_state=0)
    small = reduce_graph(graph, keep, points, "auto", 12, random_state=0)
    assert small.n_edges <= 12 * 300 < walked.n_edges
    assert_allclose(small.degrees.sum(), walked.degrees.sum(), rtol=0.05)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="edges_per_node must be positive"):
        sparsify(dense_graph(5), 0)
