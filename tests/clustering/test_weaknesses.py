"""Warnings about clusters that should not be relied on, and what they offer instead."""

import json
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from graphlowrank import CompressiveClustering, load
from graphlowrank.clustering import Alternative, weaknesses
from graphlowrank.exceptions import WeakClustersWarning
from graphlowrank.metrics import adjusted_rand_index


def sentences(sizes, n_clusters, alternatives=()):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    points = np.arange(len(labels), dtype=float)[:, None]
    return list(weaknesses(labels, n_clusters, points, 0.1, alternatives))


def test_a_good_partition_has_none():
    assert sentences([50, 60], 2) == []


def test_each_weakness_is_named():
    assert sentences([50, 60], 3) == ["2 clusters were found instead of 3; ask for fewer."]
    assert sentences([50], 2) == ["1 cluster was found instead of 2; ask for fewer."]
    assert sentences([500, 2], 2) == [
        "the smallest cluster has 2 of 502 samples, less than 1 % of the mean size."
    ]  # fmt: skip
    other = Alternative(np.zeros(110, dtype=int), 0.102, 0.31)
    (tie,) = sentences([50, 60], 2, [other])
    assert "(conductance 0.102 and 0.1), but an adjusted Rand index of 0.31" in tie


@pytest.fixture(scope="module")
def tied():
    """Four equal clusters at the corners of a square, divided into two: either way is as good."""
    rng = np.random.default_rng(0)
    corners = np.array([[0, 0], [0, 9], [9, 9], [9, 0]])
    half = np.repeat(corners, 30, axis=0) + 2.5 * rng.standard_normal((120, 2))
    X = np.vstack([half, half[:, ::-1]])  # its mirror image in the diagonal
    with pytest.warns(WeakClustersWarning, match="another partition is nearly as good"):
        return CompressiveClustering(2, scaling="none", robust_graphs=False, random_state=0).fit(X), X


def test_ties_are_warned_about_and_offered(tied):
    model, _ = tied
    other = model.report_.alternatives_[0]
    assert other.agreement == pytest.approx(adjusted_rand_index(other.labels, model.labels_))
    assert other.conductance == pytest.approx(model.conductance_, abs=0.02)
    assert "nearly ties with another partition" in repr(model.report_)
    plain = json.loads(json.dumps(model.report_.as_dict()))
    assert plain["alternatives_"][0]["agreement"] == pytest.approx(other.agreement)


def test_alternatives_are_part_of_the_model_file(tied, tmp_path):
    model, X = tied
    model.save(tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    assert_array_equal(again.alternatives_[0].labels, model.alternatives_[0].labels)
    assert_array_equal(again.transform(X), model.transform(X))
    assert_array_equal(again.cluster_centers_, model.cluster_centers_)


def test_clear_clusters_have_no_alternative(blobs):
    X, _ = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert CompressiveClustering(3, random_state=0).fit(X).alternatives_ == ()


@pytest.mark.parametrize("labels", [[0.0, 1.0, 1.0], [0, 1, -2], [0, 1, 3]])
def test_a_stored_alternative_has_labels_of_clusters(labels):
    Alternative(np.array([0, 1, 2]), 0.1, 0.3).check()
    with pytest.raises(ValueError, match="labels of an alternative must"):
        Alternative(np.array(labels), 0.1, 0.3).check()
