import logging

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank.graphs import Graph, grid_graph, knn_graph, path_graph
from graphlowrank.reduction import kron_reduce, reduce_graph
from graphlowrank.reduction.random_walk import report_truncated
from graphlowrank.sampling import draw
from helpers import assert_is_laplacian, disjoint, effective_resistances, random_graph


def schur(L, keep):
    """Plain dense Schur complement."""
    L = L.toarray()
    drop = np.setdiff1d(np.arange(len(L)), keep)
    return L[np.ix_(keep, keep)] - L[np.ix_(keep, drop)] @ np.linalg.solve(L[np.ix_(drop, drop)], L[np.ix_(drop, keep)])


def two_parts():
    return disjoint(random_graph(14, seed=1), random_graph(9, seed=2))


GRAPHS = {"connected": random_graph(16), "disconnected": two_parts(), "grid": grid_graph((4, 5))}


@given(seed=st.integers(0, 5000), n=st.integers(3, 20), kept=st.integers(1, 10))
@settings(max_examples=40, deadline=None)
def test_exact_reduction_is_the_schur_complement(seed, n, kept):
    graph = random_graph(n, seed=seed)
    keep = draw(graph, min(kept, n), random_state=seed)
    L = kron_reduce(graph, keep, "exact").laplacian().toarray()
    assert_is_laplacian(L)
    scale = graph.weights.data.max()
    assert_allclose(L, schur(graph.laplacian(), keep), atol=1e-8 * scale)


def test_exact_reduction_keeps_effective_resistances():
    graph = random_graph(15, seed=4)
    keep = np.array([1, 4, 5, 9, 14])
    full = effective_resistances(graph.laplacian())[np.ix_(keep, keep)]
    assert_allclose(effective_resistances(kron_reduce(graph, keep, "exact").laplacian()), full, rtol=1e-8)


def test_two_steps_equal_one():
    graph = random_graph(18, seed=5)
    first, final = np.arange(0, 18, 2), np.array([0, 4, 8, 16])
    halfway = kron_reduce(graph, first, "exact")
    twice = kron_reduce(halfway, np.searchsorted(first, final), "exact").weights.toarray()
    assert_allclose(twice, kron_reduce(graph, final, "exact").weights.toarray(), rtol=1e-8)


def test_keeping_everything_changes_nothing():
    graph = random_graph(7)
    for method in ("exact", "random_walk", "auto"):
        assert kron_reduce(graph, np.arange(7), method) is graph


@pytest.mark.parametrize("name", GRAPHS)
def test_random_walks_converge_like_one_over_root_repeats(name):
    graph = GRAPHS[name]
    keep = draw(graph, 7, random_state=0)
    exact = schur(graph.laplacian(), keep)

    def error(n_repeats, seed):
        L = (
            kron_reduce(graph, keep, "random_walk", n_repeats=n_repeats, random_state=seed, n_jobs=1)
            .laplacian()
            .toarray()
        )
        return np.sum((L - exact) ** 2)

    few, many = (np.sqrt(np.mean([error(r, seed) for seed in range(30)])) for r in (10, 160))
    # Sixteen times the walks, a quarter of the error: an unbiased estimate and nothing else does that.
    assert 3.0 < few / many < 5.3


def test_random_walks_are_unbiased_edge_by_edge():
    graph = random_graph(10, seed=8)
    keep = np.array([0, 3, 6, 9])
    estimates = np.stack(
        [
            kron_reduce(graph, keep, "random_walk", n_repeats=50, random_state=seed).weights.toarray()
            for seed in range(60)
        ]
    )
    error = estimates.mean(axis=0) - kron_reduce(graph, keep, "exact").weights.toarray()
    standard_error = estimates.std(axis=0) / np.sqrt(len(estimates))
    assert np.all(np.abs(error) <= 5 * standard_error + 1e-12)


def test_random_walk_result_is_a_sparse_graph_of_components_no_coarser():
    graph = two_parts()
    keep = draw(graph, 8, random_state=1)
    small = kron_reduce(graph, keep, "random_walk", n_repeats=50, random_state=0)
    assert_is_laplacian(small.laplacian())
    joined = small.weights.tocoo()
    assert_array_equal(graph.components[keep[joined.row]], graph.components[keep[joined.col]])


def test_edges_between_kept_nodes_are_kept_exactly():
    graph = path_graph(6)
    W = kron_reduce(graph, [0, 1, 2, 5], "random_walk", n_repeats=3).weights.toarray()
    assert W[0, 1] == W[1, 2] == 1
    # A path has one way only: walks between 2 and 5 either return (no edge) or cross.
    assert W[0, 3] == W[1, 3] == 0


def test_seed_decides_and_threads_do_not(rng):
    graph = knn_graph(rng.standard_normal((3000, 3)), 8)
    keep = draw(graph, 300, random_state=0)
    one = kron_reduce(graph, keep, "random_walk", random_state=5, n_jobs=1).weights
    two = kron_reduce(graph, keep, "random_walk", random_state=5, n_jobs=2).weights
    other = kron_reduce(graph, keep, "random_walk", random_state=6).weights
    assert abs(one - two).nnz == 0
    assert abs(one - other).nnz > 0


def test_memory_is_proportional_to_edges(rng):
    graph = knn_graph(rng.standard_normal((20_000, 2)), 6)
    keep = draw(graph, 2000, random_state=0)
    small = kron_reduce(graph, keep, "random_walk", n_repeats=1, random_state=0)
    assert small.n_edges <= graph.n_edges  # one walk adds at most one edge


def test_trapped_walks_are_cut_and_reported():
    # Nodes 2 and 3 hold each other a billion times tighter than the rest holds them.
    W = np.zeros((4, 4))
    W[0, 1] = 1.0
    W[1, 2] = 1e-9
    W[2, 3] = 1.0
    with pytest.warns(RuntimeWarning, match="truncated at 1000 steps"):
        small = kron_reduce(Graph(sp.csr_array(W + W.T)), [0, 1], "random_walk", n_repeats=4, max_steps=1000)
    assert small.weights[0, 1] == 1


def test_a_few_lost_walks_are_only_logged(caplog):
    with caplog.at_level(logging.INFO, logger="graphlowrank"):
        report_truncated(1, 1000, 50)
    assert "1 of 1000 random walks were truncated at 50 steps" in caplog.text


def test_faint_bridges_survive_exact_reduction():
    W = np.zeros((4, 4))
    W[0, 1], W[1, 2], W[2, 3] = 1.0, 1e-11, 1.0
    assert kron_reduce(Graph(sp.csr_array(W + W.T)), [0, 3], "exact").n_components == 1


def test_rebuild_is_the_neighbour_graph_of_the_sample(rng):
    X = rng.standard_normal((40, 3))
    keep = np.arange(0, 40, 2)
    rebuilt = reduce_graph(knn_graph(X, 4), keep, X, "rebuild", 4)
    assert_allclose(rebuilt.weights.toarray(), knn_graph(X[keep], 4).weights.toarray())


def test_a_single_kept_node_has_no_edges(rng):
    X = rng.standard_normal((20, 3))
    for reduction in ("exact", "random_walk", "rebuild"):
        assert reduce_graph(knn_graph(X, 4), np.array([7]), X, reduction, 4, random_state=0).n_edges == 0


def test_float32_stays_float32(rng):
    graph = knn_graph(rng.standard_normal((80, 3)).astype(np.float32), 5)
    for method in ("exact", "random_walk"):
        assert kron_reduce(graph, np.arange(0, 80, 3), method).weights.dtype == np.float32


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"keep": [0, 20], "method": "fast"}, "method must be"),
        ({"keep": [0, 99]}, "between 0 and"),
        ({"keep": [0]}, "without a kept node"),
        ({"keep": [0, 20], "method": "random_walk", "n_repeats": 0}, "positive"),
    ],
)
def test_bad_arguments_are_named(arguments, text):
    with pytest.raises(ValueError, match=text):
        kron_reduce(two_parts(), **arguments)


def test_exact_reduction_too_large_for_memory_is_refused():
    graph = path_graph(30_000)
    with pytest.raises(ValueError, match="use method='random_walk'"):
        kron_reduce(graph, np.arange(25_000), "exact")
