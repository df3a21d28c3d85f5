"""Data of the paper's figures are what they say they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank.graphs import knn_graph
from graphlowrank.metrics import approximate_rank, graph_alignment, modularity
from graphlowrank_benchmarks.datasets import make_block_matrix, make_noisy_circle
from graphlowrank_benchmarks.datasets.synthetic import graph_with_gap

seeds = st.integers(0, 2**32 - 1)


def fields_of(record):
    return [value for value in vars(record).values() if isinstance(value, np.ndarray)]


@pytest.mark.parametrize("make", [make_noisy_circle, lambda **seed: make_block_matrix(60, 40, 2, gap=0.1, **seed)])
def test_seeds_repeat_and_differ(make):
    first, again, other = (make(random_state=seed) for seed in (0, 0, 1))
    for one, same in zip(fields_of(first), fields_of(again), strict=True):
        assert_array_equal(one, same)
    assert np.any(first.X != other.X)


# --- circle -------------------------------------------------------------------------------------------------------


@given(n=st.integers(1, 200), seed=seeds)
@settings(deadline=None)
def test_the_truth_is_a_circle_in_a_plane(n, seed):
    circle = make_noisy_circle(n, noise=0.2, random_state=seed)
    assert circle.X.shape == circle.X_true.shape == (n, 3)
    assert_allclose(np.linalg.norm(circle.X_true, axis=1), 1)
    assert_allclose(circle.X_true.sum(axis=1), 0, atol=1e-12)
    # The chord between two points is that of their angles.
    chords = np.linalg.norm(circle.X_true - circle.X_true[0], axis=1)
    assert_allclose(chords, 2 * np.abs(np.sin((circle.angles - circle.angles[0]) / 2)), atol=1e-7)


def test_noise_of_the_circle_is_as_asked_for_in_every_direction():
    circle = make_noisy_circle(20_000, noise=0.3, random_state=0)
    assert_allclose(np.cov((circle.X - circle.X_true).T), 0.09 * np.eye(3), atol=0.004)
    assert_allclose(circle.X_true.var(axis=0), 1 / 3, atol=0.02)  # askew: each coordinate sees as much
    assert_array_equal(
        make_noisy_circle(50, noise=0, random_state=0).X, make_noisy_circle(50, noise=0, random_state=0).X_true
    )


def test_the_graph_of_the_noisy_circle_follows_it():
    circle = make_noisy_circle(600, noise=0.1, random_state=0)
    graph = knn_graph(circle.X, 10)
    assert graph_alignment(circle.X_true, graph, 6) > 0.97
    assert graph_alignment(circle.X - circle.X_true, graph, 6) < 0.15


@pytest.mark.parametrize(("options", "text"), [({"n_samples": 0}, "n_samples"), ({"noise": -1}, "noise must be")])
def test_circles_that_cannot_be(options, text):
    with pytest.raises(ValueError, match=text):
        make_noisy_circle(**options)


# --- blocks -------------------------------------------------------------------------------------------------------


@given(
    k_samples=st.integers(2, 4),
    k_features=st.integers(2, 4),
    gap=st.floats(1e-4, 0.5),
    extra=st.integers(0, 30),
    seed=seeds,
)
@settings(max_examples=40, deadline=None)
def test_both_graphs_have_the_gap_asked_for(k_samples, k_features, gap, extra, seed):
    n_samples, n_features = 10 * k_samples + extra, 10 * k_features
    data = make_block_matrix(
        n_samples, n_features, k_samples, n_feature_clusters=k_features, gap=gap, random_state=seed
    )
    for graph, k in ((data.sample_graph, k_samples), (data.feature_graph, k_features)):
        values = np.linalg.eigvalsh(graph.laplacian().toarray())
        assert values[k - 1] / values[k] == pytest.approx(gap, rel=0.011)
        assert graph.n_components == 1
        assert abs(graph.weights - graph.weights.T).max() == 0
        assert_array_equal(graph.weights.diagonal(), 0)
    assert data.X.shape == (n_samples, n_features)
    assert np.ptp(np.bincount(data.labels)) <= 1


def test_no_gap_at_all_leaves_the_clusters_apart():
    data = make_block_matrix(200, 90, 4, n_feature_clusters=3, gap=0, noise=0, random_state=0)
    assert (data.sample_graph.n_components, data.feature_graph.n_components) == (4, 3)
    for graph, labels in ((data.sample_graph, data.labels), (data.feature_graph, data.feature_labels)):
        assert len(set(zip(graph.components, labels, strict=True))) == graph.n_components
    assert graph_alignment(data.X, data.sample_graph, 4) == pytest.approx(1)
    assert graph_alignment(data.X.T, data.feature_graph, 3) == pytest.approx(1)


def test_the_matrix_is_constant_on_blocks():
    data = make_block_matrix(150, 60, 5, n_feature_clusters=3, gap=0.01, noise=0.2, random_state=0)
    for row in range(5):
        for column in range(3):
            block = data.X_true[data.labels == row][:, data.feature_labels == column]
            assert np.ptp(block) == 0
    assert approximate_rank(data.X_true, 1e-9) == 3
    noise = data.X - data.X_true
    assert noise.std() == pytest.approx(0.2 * data.X_true.std(), rel=0.03)
    # Nearly in the span of the first eigenvectors, and less so where the blocks are joined more firmly.
    shares = [
        graph_alignment(made.X_true, made.sample_graph, 4)
        for made in (make_block_matrix(100, 40, gap=gap, random_state=0) for gap in (0.001, 0.05, 0.4))
    ]
    assert shares[0] > 0.999999 > shares[1] > 0.999 > shares[2] > 0.95


def test_clusters_of_samples_lie_apart():
    data = make_block_matrix(200, 80, 4, noise=0, random_state=3)
    centres = np.array([data.X_true[data.labels == cluster][0] for cluster in range(4)])
    distances = np.linalg.norm(centres[:, None] - centres, axis=2)[np.triu_indices(4, 1)]
    assert_allclose(distances, distances[0])
    assert modularity(data.sample_graph.weights, data.labels) > 0.7


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"gap": 0.6}, "gap must be between 0 and 0.5"),
        ({"gap": -0.1}, "gap must be"),
        ({"n_clusters": 1}, "n_samples must be at least 10 for each of 2 or more clusters"),
        ({"n_features": 39}, "n_features must be at least 10"),
        ({"n_feature_clusters": 13}, "n_features must be at least 10"),
        ({"noise": -1}, "level must be"),
    ],
)
def test_blocks_that_cannot_be(options, text):
    with pytest.raises(ValueError, match=text):
        make_block_matrix(**options)


def test_a_gap_out_of_reach_is_an_error():
    with pytest.raises(RuntimeError, match="was not met"):
        graph_with_gap(np.arange(60) % 2, 0.5, np.random.RandomState(0), max_steps=1)
