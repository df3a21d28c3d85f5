"""Labels of all samples from those of the kept ones (Algorithm 3)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank.clustering.labels import decode_labels, numbers_like
from graphlowrank.graphs import knn_graph
from graphlowrank.metrics import clustering_error
from graphlowrank.sampling import SampledNodes, draw
from helpers import dense_fit, dense_upsample


def test_labels_are_interpolated_over_the_graph(blobs):
    X, y = blobs
    graph = knn_graph(X, 8)
    keep = draw(graph, 20, random_state=0)
    for scores in ("whitened", "scaled"):
        found = decode_labels(
            X[keep] - X[keep].mean(axis=0), SampledNodes(graph, keep), 3, scores=scores, random_state=0
        )
        assert clustering_error(y, found.labels) == 0
        assert_allclose(found.soft_labels.sum(axis=1), 1, atol=1e-6)
        assert np.all(found.soft_labels >= 0)
        assert_array_equal(found.labels, found.soft_labels.argmax(axis=1))


def test_soft_labels_are_the_harmonic_extension(blobs):
    X, _ = blobs
    graph = knn_graph(X + 3 * np.random.default_rng(0).standard_normal(X.shape), 8)
    keep = draw(graph, 30, random_state=0)
    found = decode_labels(X[keep] - X[keep].mean(axis=0), SampledNodes(graph, keep), 3, random_state=0)
    assert_allclose(found.soft_labels, dense_upsample(graph, keep, found.soft_labels[keep]), atol=1e-3)
    assert set(found.soft_labels[keep].ravel()) == {0.0, 1.0}


def test_more_clusters_than_directions(rng):
    y = np.repeat(np.arange(5), 30)
    line = 10.0 * y[:, None] + rng.standard_normal((150, 1)) / 3
    found = decode_labels(line - line.mean(), SampledNodes(None, np.arange(150)), 5, random_state=0)
    assert clustering_error(y, found.labels) == 0
    assert found.scores == "scaled"  # what was used, not what was asked for
    plane = np.column_stack([line, 1e-5 * rng.standard_normal((150, 8))])  # one real direction, eight of dust
    found = decode_labels(plane - plane.mean(axis=0), SampledNodes(None, np.arange(150)), 5, random_state=0)
    assert clustering_error(y, found.labels) == 0


def test_without_compression_labels_are_k_means(blobs):
    X, y = blobs
    found = decode_labels(X - X.mean(axis=0), SampledNodes(None, np.arange(len(X))), 3, random_state=0)
    assert clustering_error(y, found.labels) == 0


def test_regularized_labels_are_the_dense_fit_and_may_overrule_k_means(blobs):
    X, y = blobs
    graph = knn_graph(X, 8)
    keep = draw(graph, 40, random_state=0)
    small = X[keep] - X[keep].mean(axis=0)
    wrong = np.flatnonzero(y[keep] == 0)[0]
    small[wrong] = small[np.flatnonzero(y[keep] == 1)[0]]  # k-means must take this sample for the other group
    plain = decode_labels(small, SampledNodes(graph, keep), 3, scores="scaled", random_state=0)
    smoothed = decode_labels(small, SampledNodes(graph, keep), 3, scores="scaled", gamma=1.0, random_state=0)
    indicators = np.eye(3)[plain.labels[keep]]
    dense = np.clip(dense_fit(SampledNodes(graph, keep), indicators, 1.0), 0, None)
    assert_allclose(smoothed.soft_labels, dense / dense.sum(axis=1, keepdims=True), atol=1e-4)
    own = np.bincount(plain.labels[y == 0]).argmax()
    assert plain.labels[keep[wrong]] != own
    assert smoothed.labels[keep[wrong]] == own


@pytest.mark.parametrize(
    ("labels", "n_clusters", "before", "expected"),
    [
        ([0, 0, 1, 1, 2], 3, [1, 1, 0, 0, 2], [1, 0, 2]),
        ([0, 0, 1, 1, 2], 3, [2, 2, -1, -1, 0], [2, 1, 0]),  # a new cluster
        ([0, 0, 1, 1], 2, [3, 3, 0, 0], [1, 0]),  # a number that there is no more
        ([0, 0, 0, 1, 1], 4, [0, 0, 1, 0, 0], [1, 0, 2, 3]),  # all in all, more samples keep theirs
        ([0, 1], 2, [-1, -1], [0, 1]),
    ],
)
def test_clusters_keep_their_numbers(labels, n_clusters, before, expected):
    assert_array_equal(numbers_like(np.array(labels), n_clusters, np.array(before)), expected)
