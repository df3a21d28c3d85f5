"""The order of samples does not matter to clusters."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine

from graphlowrank import CompressiveClustering
from graphlowrank.graphs import knn_graph
from graphlowrank.preprocessing.order import canonical_order
from graphlowrank.preprocessing.sparse import as_shifted_sparse


def kinds(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (60, 3)).astype(float)  # ties between distances, and equal samples
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    return {"dense": X, "single": X.astype(np.float32), "missing": holes, "sparse": as_shifted_sparse(sp.csr_array(X))}


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(["dense", "single", "missing", "sparse"]))
def test_the_sequence_of_ordered_rows_is_that_of_any_permutation(seed, kind):
    X = kinds(seed)[kind]
    shuffled = np.random.default_rng(seed + 1).permutation(60)
    first, second = X[canonical_order(X)], X[shuffled][canonical_order(X[shuffled])]
    assert_array_equal(*(one.to_array() if kind == "sparse" else one for one in (first, second)))


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("options", [{}, {"partition": "k-means"}, {"downsampling": (2, 1), "sampling": "optimal"}])
def test_clusters_are_those_of_any_permutation(load, options):
    X = np.unique(load().data, axis=0)  # iris is measured to a tenth: many distances are equal
    model = CompressiveClustering(3, random_state=0, robust_graphs=False, **options).fit(X)
    shuffled = np.random.default_rng(0).permutation(len(X))
    other = CompressiveClustering(3, random_state=0, robust_graphs=False, **options).fit(X[shuffled])
    assert_array_equal(model.labels_[shuffled], other.labels_)
    assert_array_equal(model.soft_labels_[shuffled], other.soft_labels_)
    assert_array_equal(model.points_[shuffled], other.points_)
    assert_array_equal(np.sort(shuffled[other.sample_indices_]), model.sample_indices_)
    assert_allclose(model.sample_graph_.permuted(shuffled).weights.toarray(), other.sample_graph_.weights.toarray())
    assert_array_equal(model.predict(X), other.predict(X))


@pytest.mark.parametrize("sparse", [False, True])
def test_a_feature_that_drowns_the_others_in_rounding_does_not_matter(sparse):
    X = np.column_stack([np.unique(load_iris().data, axis=0), np.full(149, 1e18)])
    shuffled = np.random.default_rng(0).permutation(149)
    one, other = (as_shifted_sparse(sp.csr_array(rows)) if sparse else rows for rows in (X, X[shuffled]))
    assert_array_equal(shuffled[canonical_order(other)], canonical_order(one))


def test_the_parts_of_a_fit_belong_to_the_samples_as_given():
    X = load_iris().data
    model = CompressiveClustering(3, random_state=0, downsampling=(2, 1), scaling="none", robust_graphs=False)
    model.fit(X, sample_loss_weight=np.linspace(1, 2, 150))
    assert_array_equal(model.points_, X)
    graph = knn_graph(X, 10).weights
    assert abs(model.sample_graph_.weights - graph).sum() < 0.02 * graph.sum()  # ties apart
    assert (np.diff(model.sample_indices_) > 0).all()


def test_a_given_graph_or_given_indices_keep_the_order():
    X = load_iris().data
    graph = knn_graph(X, 10)
    assert CompressiveClustering(3, sample_graph=graph, random_state=0).fit(X).sample_graph_ is graph
    kept = np.arange(0, 150, 2)
    model = CompressiveClustering(3, sampling=(kept, None), robust_graphs=False, random_state=0).fit(X)
    assert_array_equal(model.sample_indices_, kept)
