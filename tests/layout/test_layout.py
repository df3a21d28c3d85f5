"""The layout of graphs: kernels against plain twins, limits, components."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank._threads import limit_threads, map_ranges
from graphlowrank.graphs import Graph, as_graph, knn_graph, path_graph
from graphlowrank.kernels import layout, random_bits
from graphlowrank.layout import first_positions, lay_out, membership_graph, oriented
from graphlowrank.layout.start import component_centers
from helpers import random_graph

# --- memberships -------------------------------------------------------------------------------------------


def plain_memberships(graph, k):
    """Dense, row by row, the scale by bisection of the logarithm."""
    n, weights = graph.n_nodes, graph.weights.toarray()
    found = np.zeros((n, n))
    for row in range(n):
        columns = np.flatnonzero(weights[row])
        if not len(columns):
            continue
        distances = np.sqrt(-np.log(weights[row, columns] / max(weights.max(), 1)))
        nearest = np.sort(distances)[:k]
        low, high = -40.0, 40.0
        for _ in range(200):
            middle = (low + high) / 2
            total = np.exp(-(nearest - nearest[0]) / np.exp(middle)).sum()
            low, high = (middle, high) if total < np.log2(len(nearest) + 1) else (low, middle)
        member = np.maximum(np.exp(-(distances - nearest[0]) / np.exp(high)), layout.LEAST_MEMBERSHIP)
        found[row, columns] = np.where(distances <= nearest[-1], member, 0)
    return found + found.T - found * found.T


@given(seed=st.integers(0, 5000), n=st.integers(2, 40), density=st.floats(0.1, 1), k=st.integers(2, 12))
@settings(max_examples=40, deadline=None)
def test_memberships_are_those_of_the_plain_twin(seed, n, density, k):
    graph = random_graph(n, density, seed, spread=1.0, connected=False)
    found = membership_graph(graph, k)
    assert_allclose(found.weights.toarray(), plain_memberships(graph, k), atol=1e-6)
    Graph(found.weights)  # symmetric, no zeros


def test_memberships_do_not_depend_on_the_unit_or_a_factor():
    points = np.random.default_rng(0).standard_normal((200, 3))
    first = membership_graph(knn_graph(points, 8), 8).weights
    assert_allclose(membership_graph(knn_graph(1000 * points, 8), 8).weights.data, first.data, rtol=1e-6)
    large = [membership_graph(Graph(c * knn_graph(points, 8).weights), 8).weights.data for c in (4, 8)]
    assert_array_equal(*large)


def test_dense_and_sparse_regions_have_the_same_memberships():
    """Twice the same cloud, one a hundred times as large."""
    cloud = np.random.default_rng(0).standard_normal((60, 2))
    graph = knn_graph(np.vstack([cloud, 2 * cloud + 1000]), 6, bandwidth=3.0)
    weights = membership_graph(graph, 6).weights
    assert_allclose(weights[:60][:, :60].toarray(), weights[60:][:, 60:].toarray(), atol=1e-6)


def test_memberships_of_one_row_sum_to_the_logarithm():
    distances = np.sort(np.random.default_rng(0).random(15)) + 1
    found = np.empty(15)
    layout.calibrate_memberships(0, 1, np.array([0, 15]), distances, np.empty(15), found)
    assert found[0] == 1
    assert_allclose(found.sum(), 4, rtol=1e-9)


def test_copies_are_full_neighbors():
    graph = knn_graph(np.zeros((6, 2)), 3)
    assert_array_equal(membership_graph(graph, 3).weights.data, 1)


# --- moves -------------------------------------------------------------------------------------------------


def plain_moves(weights, points, others, keys, seed, epoch, step, repulsion, n_negative):
    """One epoch, one node after another, with the same random numbers."""

    def mix(z):
        z = ((z ^ (z >> 30)) * int(random_bits.MIX_1)) % 2**64
        z = ((z ^ (z >> 27)) * int(random_bits.MIX_2)) % 2**64
        return z ^ (z >> 31)

    golden, moved = int(random_bits.GOLDEN), points.copy()
    for i in range(len(points)):
        own = moved[i]
        state = mix((mix((seed + golden * (epoch + 1)) % 2**64) + golden * int(keys[i])) % 2**64)
        for entry in range(weights.indptr[i], weights.indptr[i + 1]):
            toward, w = others[weights.indices[entry]] - own, weights.data[entry]
            own += min(4 * step * w / (1 + toward @ toward), layout.LARGEST_PULL) * toward
            for _ in range(n_negative):
                state = (state + golden) % 2**64
                away = own - others[((mix(state) >> 32) * len(others)) >> 32]
                square = away @ away
                force = 2 * step * repulsion * w / n_negative / ((layout.SOFTENING + square) * (1 + square)) * away
                own += np.clip(force, -layout.LARGEST_STEP * step, layout.LARGEST_STEP * step)
    return moved


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(seed=st.integers(0, 5000), n=st.integers(2, 30), dimension=st.integers(1, 4), n_negative=st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_moves_are_those_of_the_plain_twin(dtype, seed, n, dimension, n_negative):
    rng = np.random.default_rng(seed)
    weights = sp.csr_array(random_graph(n, 0.3, seed, connected=False).weights, dtype=dtype)
    points, others = (rng.standard_normal((n, dimension)).astype(dtype) for _ in range(2))
    keys, moved = rng.integers(10**6, size=n), np.full_like(points, np.nan)
    edges = weights.indptr, weights.indices, weights.data
    map_ranges(layout.move_points, n, *edges, keys, points, others, seed, 3, 0.02, 5.0, n_negative, moved)
    expected = plain_moves(weights, points.astype(float), others.astype(float), keys, seed, 3, 0.02, 5.0, n_negative)
    assert_allclose(moved, expected, rtol=1e-3 if dtype == np.float32 else 1e-9, atol=1e-4)


def test_small_steps_follow_the_gradient_of_the_objective():
    """Of ``sum w (log(1 + d^2) - r mean log(1 - 1 / (1 + d^2)))``, the cross-entropy, by central differences."""
    rng, n, w, r = np.random.default_rng(0), 400, 0.7, 3.0
    others, own = rng.standard_normal((n, 2)), np.array([[4.0, -3.0]])
    weights = np.full(n, w)

    def objective(x):
        square = ((others - x) ** 2).sum(axis=1)
        repulsion = np.log(layout.SOFTENING + square) - np.log1p(square)
        return w * n * (2 * np.log1p(square).mean() - r * repulsion.mean())

    gradient = [(objective(own + e) - objective(own - e)) / 2e-5 for e in 1e-5 * np.eye(2)]
    total, step, n_seeds = np.zeros(2), 1e-7, 200
    arguments = np.array([0, n]), np.arange(n, dtype=np.int32), weights, np.zeros(1, np.int64), own, others
    for seed in range(n_seeds):
        moved = np.empty_like(own)
        layout.move_points(0, 1, *arguments, seed, 0, step, r, 5, moved)
        total -= (moved - own)[0] / step / n_seeds
    assert_allclose(total, gradient, rtol=0.03)


def test_the_same_bytes_in_any_number_of_threads():
    weights = membership_graph(knn_graph(np.random.default_rng(0).standard_normal((700, 5)), 10), 10).weights
    start = np.random.default_rng(1).standard_normal((700, 2)).astype(np.float32)

    def answer(n_jobs):
        with limit_threads(n_jobs):
            return lay_out(weights, start, n_epochs=15, seed=4)

    first = answer(1)
    for n_jobs in (2, 3):
        assert_array_equal(answer(n_jobs), first)
    assert not np.array_equal(lay_out(weights, start, n_epochs=15, seed=5), first)


# --- start -------------------------------------------------------------------------------------------------


def test_a_path_starts_in_its_order():
    along = first_positions(path_graph(60), 1, np.random.RandomState(0)).ravel()
    assert abs(np.diff(np.argsort(along))).max() == 1


def test_components_start_apart():
    cliques = sp.block_diag([np.ones((m, m)) - np.eye(m) for m in (30, 20, 12, 5, 2)], format="csr")
    graph = as_graph(sp.block_diag([cliques, sp.csr_array((1, 1))]))
    positions = first_positions(graph, 2, np.random.RandomState(0))
    sizes = np.bincount(graph.components)
    radii = 10 * np.sqrt(sizes / sizes.sum())
    centers = component_centers(radii, 2)
    for one in range(len(sizes)):
        own = positions[graph.components == one]
        assert (np.linalg.norm(own - centers[one], axis=1) <= 1.5 * radii[one]).all()
        for other in range(one):
            assert np.linalg.norm(centers[one] - centers[other]) >= 0.9 * (radii[one] + radii[other])


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_discs_of_equal_size_do_not_overlap_much(dimension):
    centers = component_centers(np.ones(40), dimension)
    distances = np.linalg.norm(centers[:, None] - centers, axis=2)[np.triu_indices(40, 1)]
    assert distances.min() >= 1.8
    assert distances.max() < (80 if dimension == 1 else 25)


def test_orientation_keeps_distances():
    points = np.random.default_rng(0).standard_normal((50, 3)) @ np.diag([1.0, 5.0, 2.0]) + 7
    found = oriented(points)
    assert_allclose(found.mean(axis=0), 0, atol=1e-12)
    assert (np.diff(found.std(axis=0)) < 0).all()
    assert_allclose(np.linalg.norm(found[:, None] - found, axis=2), np.linalg.norm(points[:, None] - points, axis=2))
