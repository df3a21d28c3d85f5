"""What makes a cluster: slow twins, and invariants."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank.clustering.profiles import (
    PSEUDOCOUNT,
    cluster_profiles,
    contacts,
    describe_difference,
    representative_members,
)
from graphlowrank.graphs import as_graph
from graphlowrank.preprocessing.sparse import as_shifted_sparse


def make_data(missing=False):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 40)
    X = rng.poisson(1.0, (40, 5)) * (1.0 + labels[:, None])
    X[:, 4] = 7.0
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    return X, labels


@pytest.mark.parametrize("kind", ["dense", "missing", "csr", "shifted"])
@pytest.mark.parametrize("logs", [False, True])
def test_profiles_are_those_of_a_plain_loop(kind, logs, monkeypatch):
    monkeypatch.setattr("graphlowrank.preprocessing.counts.BLOCK_ENTRIES", 5 * 7)
    X, labels = make_data(missing=kind == "missing")
    given = {"csr": sp.csr_array, "shifted": as_shifted_sparse}.get(kind, np.asarray)(X)
    found = cluster_profiles(given, labels, 4, logs=logs)  # the last is empty
    assert_array_equal(found.sizes, np.bincount(labels, minlength=4))
    for cluster in range(3):
        inside, outside = X[labels == cluster], X[labels != cluster]
        means = np.nanmean(inside, axis=0), np.nanmean(outside, axis=0)
        assert_allclose(found.means[cluster], means[0])
        assert_allclose(found.elsewhere[cluster], means[1])
        std = np.nanstd(X, axis=0)
        assert_allclose(found.difference[cluster, :4], (means[0] - means[1])[:4] / std[:4], atol=1e-12)
        if logs:
            reads = [np.nanmean(np.expm1(part), axis=0) + PSEUDOCOUNT for part in (inside, outside)]
            assert_allclose(found.fold_change[cluster], np.log2(reads[0] / reads[1]), atol=1e-12)
    assert_array_equal(found.difference[:, 4], 0)  # constant
    assert (found.fold_change is None) == (not logs)


def test_leading_features_are_the_most_different_ones():
    X, labels = np.zeros((40, 4)), np.arange(40) % 2
    X[:, 1], X[:, 2] = labels, -10.0 * labels
    X[::4, 3] = 0.1
    assert_array_equal(cluster_profiles(X, labels, 2).leading(0, 2), [1, 2])
    assert cluster_profiles(np.abs(X), labels, 2, logs=True).leading(1, 1)[0] in (1, 2)
    assert cluster_profiles(np.abs(X), labels, 2, logs=True).leading(0, 1)[0] == 3  # downwards does not count


def test_contacts_are_shares_of_the_edge_weight():
    weights = np.zeros((6, 6))
    for one, other, weight in ((0, 1, 3.0), (1, 2, 1.0), (2, 3, 2.0), (3, 4, 1.0), (4, 5, 5.0)):
        weights[one, other] = weights[other, one] = weight
    found = contacts(as_graph(weights), np.array([0, 0, 1, 1, 2, 2]), 4)
    assert_allclose(found[0], [6 / 7, 1 / 7, 0, 0])
    assert_allclose(found[1], [1 / 6, 4 / 6, 1 / 6, 0])
    assert_allclose(found[2], [0, 1 / 11, 10 / 11, 0])
    assert_array_equal(found[3], 0)


@pytest.mark.parametrize("sparse", [False, True])
def test_members_are_near_the_mean_or_doubtful(sparse):
    X, labels = np.zeros((8, 2)), np.array([0, 0, 0, 0, 1, 1, 1, 1])
    X[:, 0] = [0, 1, 2, 9, 0, 1, 2, 1]
    confidence = np.array([1, 1, 1, 1, 0.5, 0.9, 0.9, 0.5])
    given = sp.csr_array(X) if sparse else X
    profiles = cluster_profiles(given, labels, 3)
    found = representative_members(given, labels, confidence, profiles, 2)
    assert_array_equal(found.typical[0], [2, 1])  # the mean is 3
    assert_array_equal(found.doubtful[0], [3, 0])  # all are sure: the farthest
    assert_array_equal(found.typical[1], [5, 6])
    assert_array_equal(found.doubtful[1], [4, 7])
    assert [len(members) for members in (found.typical[2], found.doubtful[2])] == [0, 0]


def test_differences_of_partitions_in_words():
    labels = np.repeat([0, 1, 2], 10)
    assert describe_difference(labels, labels) == "moves single samples"
    assert describe_difference(labels, np.repeat([0, 0, 1], 10)) == "joins 0 and 1"
    assert describe_difference(labels, np.repeat([0, 1, 2, 3], [6, 4, 10, 10])) == "splits 0 (60 %, 40 %)"
