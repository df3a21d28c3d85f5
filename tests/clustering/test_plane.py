"""The plane that clusters are drawn in."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from graphlowrank.clustering.plane import first_two, project_on_centers
from graphlowrank.preprocessing.principal import principal_scores


def test_the_projection_keeps_the_distances_of_centers():
    X, kinds = make_blobs(60, 5, centers=3, random_state=0)
    scores, _ = principal_scores(X, 3)
    places = project_on_centers(scores, kinds)
    centers = np.stack([places[kinds == kind].mean(axis=0) for kind in range(3)])
    apart = np.stack([scores[kinds == kind].mean(axis=0) for kind in range(3)])
    for one, other in ((0, 1), (0, 2), (1, 2)):  # three centers lie in a plane: nothing of their distances is lost
        wanted = np.linalg.norm(apart[one] - apart[other])
        assert np.linalg.norm(centers[one] - centers[other]) == pytest.approx(wanted)


@pytest.mark.parametrize("n_clusters", [1, 2])
@pytest.mark.parametrize("n_features", [1, 2, 6])
def test_few_clusters_and_few_features_are_projected_too(n_clusters, n_features):
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((20, n_features)), np.arange(20) % n_clusters
    places = project_on_centers(principal_scores(X, n_clusters)[0], labels)
    assert places.shape == (20, 2)
    assert (np.ptp(places, axis=0) > 0).sum() == min(2, n_features)


@pytest.mark.parametrize("n_clusters", [1, 3])
def test_large_numbers_in_single_precision_do_not_overflow(n_clusters):
    rng = np.random.default_rng(0)
    scores, labels = rng.standard_normal((20, 2)).astype(np.float32), np.arange(20) % n_clusters
    places = project_on_centers(scores * np.float32(2.0**120), labels)
    np.testing.assert_array_equal(places, project_on_centers(scores, labels) * np.float32(2.0**120))


def test_a_map_of_one_dimension_gets_heights_that_keep_its_shape():
    line = np.linspace(0, 100, 50, dtype=np.float32)[:, None]
    places = first_two(line)
    assert places.dtype == np.float32
    np.testing.assert_array_equal(places[:, :1], line)
    assert 1 < np.ptp(places[:, 1]) <= 10
    np.testing.assert_array_equal(first_two(places), places)
