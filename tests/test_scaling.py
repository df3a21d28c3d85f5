"""Scaling chosen by the graph, and clustering that needs no labels to choose."""

import numpy as np
import pytest
import scipy.sparse as sp
from graphlowrank.preprocessing.standardize import prepare
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from graphlowrank import CompressiveClustering, CompressivePCA
from graphlowrank.metrics import clustering_error, conductance
from graphlowrank.preprocessing.scaling import choose_scaling, recovery_scaling, scaling_of


@pytest.fixture
def pictures(rng):
    """Four patterns of 30 numbers, noisy."""
    y = np.repeat(np.arange(4), 60)
    return rng.standard_normal((4, 30))[y] + 0.3 * rng.standard_normal((240, 30)), y


def chosen(X, k=4):
    return choose_scaling(X, k, 10, np.random.RandomState(0))


def test_samples_in_different_light_are_scaled(pictures, rng):
    X, _ = pictures
    lit = np.exp(rng.standard_normal((240, 1))) * (X + 3 * rng.standard_normal((240, 1)))
    assert chosen(lit).kind == "samples"
    assert chosen(lit).tried["samples"] < chosen(lit).tried["none"]


def test_features_in_different_units_are_scaled(pictures):
    X, _ = pictures
    units = X * np.r_[1e4, 1e3 * np.ones(1), np.ones(28)]
    assert chosen(units).kind == "features"


def test_a_feature_that_tells_clusters_apart_is_not_scaled_down(rng):
    y = np.repeat(np.arange(3), 100)
    line = np.column_stack([10.0 * y + rng.standard_normal(300), rng.standard_normal((300, 5))])
    assert chosen(line, 3).kind == "none"
    assert clustering_error(y, CompressiveClustering(3, random_state=0).fit_predict(line)) == 0


@settings(max_examples=20, deadline=None)
@given(factor=st.sampled_from([1e-6, 1e-3, 1e3, 1e6]), dtype=st.sampled_from([np.float32, np.float64]))
def test_units_of_all_data_do_not_matter(factor, dtype):
    X = load_digits().data[:300].astype(dtype)
    assert chosen(X, 10).kind == chosen((X * factor).astype(dtype), 10).kind


@pytest.mark.parametrize("kind", ["samples", "features"])
def test_scaled_data_have_zero_mean_and_unit_deviation(kind, rng):
    X = rng.standard_normal((50, 30)) * rng.random(30) + 5
    X[7] = -1.0
    if kind == "features":
        X[:, 3] = 2.0
    axis = 1 if kind == "samples" else 0
    before = X.copy()
    scaled = scaling_of(X, kind, "").apply(X)
    assert_array_equal(X, before)
    expected = prepare(X, ("standardise samples" if kind == "samples" else "standardise",))
    assert_allclose(scaled, expected, atol=1e-12)
    deviation = scaled.std(axis=axis)
    assert_allclose(deviation[deviation > 0], 1)
    assert np.sum(deviation == 0) == 1
    assert scaling_of(X.astype(np.float32), kind, "").apply(X.astype(np.float32)).dtype == np.float32


def test_new_samples_are_scaled_like_the_training_data(pictures, rng):
    X, y = pictures
    lit = X * np.exp(rng.standard_normal((240, 1)))
    model = CompressiveClustering(4, scaling="samples", random_state=0).fit(lit)
    assert clustering_error(y, model.labels_) == 0
    assert_array_equal(model.predict(5 * lit + 3), model.labels_)
    units = np.column_stack([X, 1e4 * rng.standard_normal(240)])  # left as it is, noise would decide
    model = CompressiveClustering(4, scaling="features", random_state=0).fit(units)
    assert clustering_error(y, model.labels_) == 0
    assert_array_equal(model.predict(units), model.labels_)


def test_given_graphs_leave_the_data_alone(pictures):
    X, _ = pictures
    first = CompressiveClustering(4, random_state=0).fit(X)
    again = CompressiveClustering(4, sample_graph=first.sample_graph_, random_state=0).fit(X)
    assert again.scaling_ == "none"


def test_the_graph_chooses_no_worse_a_partition_than_k_means_at_any_gamma():
    X = load_digits().data[:600]
    model = CompressiveClustering(10, random_state=0).fit(X)
    W = model.sample_graph_.weights
    assert model.conductance_ == pytest.approx(conductance(W, model.labels_, 10))
    assert_array_equal(model.labels_, model.soft_labels_.argmax(axis=1))
    for gamma in (0.5, 5.0, 40.0):
        plain = CompressiveClustering(10, partition="k-means", gamma_samples=gamma, random_state=0).fit(X)
        assert np.isnan(plain.conductance_)
        assert model.conductance_ <= conductance(W, plain.labels_, 10)


@pytest.mark.parametrize("n_draws", [1, 3])
def test_labels_do_not_depend_on_threads_or_units(n_draws):
    X = load_digits().data.astype(np.float32)
    options = {"n_draws": n_draws, "downsampling": (4, 1), "random_state": 3}
    first = CompressiveClustering(10, n_jobs=1, **options).fit(X)
    second = CompressiveClustering(10, n_jobs=2, **options).fit(X)
    assert_array_equal(first.labels_, second.labels_)
    assert_array_equal(first.soft_labels_, second.soft_labels_)
    scaled = CompressiveClustering(10, **options).fit(1024 * X)  # a power of two: nothing is rounded differently
    assert np.mean(scaled.labels_ != first.labels_) < 0.02


def test_draws_share_graphs_and_agree_on_clear_samples(pictures):
    X, y = pictures
    model = CompressiveClustering(4, n_draws=5, downsampling=(3, 1), random_state=0).fit(X)
    assert clustering_error(y, model.labels_) == 0
    assert np.all(model.confidence_ > 0.8)
    assert model.n_iter_ > CompressiveClustering(4, downsampling=(3, 1), random_state=0).fit(X).n_iter_
    with pytest.raises(ValueError, match="n_draws must be a positive whole number"):
        CompressiveClustering(4, n_draws=0).fit(X)


def test_uncertain_samples_have_less_confidence(rng):
    y = np.repeat([0, 1], 150)
    X = np.column_stack([4.0 * y, np.zeros(300)]) + rng.standard_normal((300, 2))
    model = CompressiveClustering(2, n_draws=5, downsampling=(3, 1), random_state=0).fit(X)
    between = np.abs(X[:, 0] - 2) < 0.5
    assert model.confidence_[between].mean() < model.confidence_[~between].mean()


def test_fewer_neighbours_where_clusters_are_small():
    X = load_digits().data[:200]
    assert CompressiveClustering(20, random_state=0).fit(X).sample_graph_.n_edges < 200 * 5
    explicit = CompressiveClustering(20, n_neighbors=10, random_state=0).fit(X)
    assert explicit.sample_graph_.n_edges >= 200 * 5


def test_noise_in_large_units_does_not_win_for_its_low_dimension(rng):
    """A line of noise has small eigenvalues, too; what counts is that there is none after the groups."""
    y = np.repeat([0, 1], 200)
    X = np.column_stack([1e4 * rng.standard_normal(400), 8 * y + rng.standard_normal(400)])
    assert chosen(X, 2).kind == "features"
    assert clustering_error(y, CompressiveClustering(2, random_state=0).fit_predict(X)) <= 0.01


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [0.1, 1.0, 1000.0])
def test_ties_are_not_decided_by_rounding(dtype, factor, rng):
    X = np.repeat([[0.0], [50.0]], 60, axis=0) * np.sign(rng.standard_normal(30)) + rng.standard_normal((120, 30))
    assert chosen((factor * X).astype(dtype), 2).kind == "none"
    assert chosen((factor * X).astype(dtype), 1).kind == "none"


def test_conductance_is_that_of_the_labels_for_any_number_of_draws(rng):
    X = rng.standard_normal((300, 6))
    for n_draws in (1, 4):
        model = CompressiveClustering(3, n_draws=n_draws, downsampling=(4, 1), random_state=0).fit(X)
        assert model.conductance_ == pytest.approx(conductance(model.sample_graph_, model.labels_, 3))


def test_predictions_are_those_of_the_fit_whatever_is_set_later(pictures, rng):
    X, _ = pictures
    new = X + 2 * rng.standard_normal(X.shape)
    model = CompressiveClustering(4, random_state=0).fit(X)
    before = model.predict(new)
    assert_array_equal(model.set_params(n_clusters=60, n_neighbors=40).predict(new), before)


def test_a_graph_without_edges_is_no_crash(rng):
    X = rng.standard_normal((60, 5))
    labels = CompressiveClustering(3, sample_graph=sp.csr_array((60, 60)), random_state=0).fit_predict(X)
    assert labels.shape == (60,)


# --- units of recovery


@pytest.fixture
def mixed(rng):
    """Rank 3 in 12 features of units from 1e-3 to 1e4, and what it is without noise."""
    clean = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 12))
    units = 10.0 ** np.linspace(-3, 4, 12)
    return units * (clean + 0.1 * rng.standard_normal(clean.shape)) + 5 * units, units * clean + 5 * units


def largest_error(M, clean):
    """Of a feature, relative to its deviation."""
    return (np.sqrt(np.mean((M - clean) ** 2, axis=0)) / clean.std(axis=0)).max()


def test_every_feature_of_a_table_in_different_units_is_recovered(mixed):
    X, clean = mixed
    model = CompressivePCA(random_state=0).fit(X)
    assert model.feature_scale_ is not None
    assert largest_error(model.low_rank_.to_array(), clean) < 0.12
    assert largest_error(model.inverse_transform(model.transform(X)), clean) < 0.12
    assert largest_error(CompressivePCA(scaling="none", random_state=0).fit(X).low_rank_.to_array(), clean) > 0.5
    assert {choice.name: choice.value for choice in model.report_.choices}["scaling"] == "features"


@given(seed=st.integers(0, 1000), gaps=st.booleans())
@settings(max_examples=8, deadline=None)
def test_the_answer_does_not_depend_on_the_units(seed, gaps):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 3)) @ rng.standard_normal((3, 8)) + 0.1 * rng.standard_normal((80, 8))
    X[rng.random(X.shape) < 0.1 * gaps] = np.nan
    units = 2.0 ** rng.integers(-20, 20, 8)  # powers of two: products are exact
    here, there = (CompressivePCA(3, scaling="features", random_state=0).fit(data) for data in (X, X * units))
    assert_array_equal(here.low_rank_.to_array() * units, there.low_rank_.to_array())
    assert_array_equal(here.transform(X), there.transform(X * units))
    scores = here.transform(X)
    assert_allclose(here.inverse_transform(scores) * units, there.inverse_transform(scores))


def test_units_are_left_alone_where_they_agree(pictures, rng):
    X = pictures[0]
    assert recovery_scaling(X).kind == "none"
    X[3, 5] = 1e7  # a gross error is no unit
    assert recovery_scaling(X).kind == "none"
    assert recovery_scaling(X * np.r_[1e4, 1e3, np.ones(28)]).kind == "features"
    with pytest.raises(ValueError, match="scaling must be one of 'auto', 'none', 'features'; got 'samples'"):
        CompressivePCA(scaling="samples").fit(X)


def test_rare_and_constant_features_have_units_too(rng):
    X = rng.standard_normal((500, 6))
    X[:, 1] *= rng.random(500) < 0.05
    X[:, 2] = 7.0
    X[:, 3] = np.nan
    X[7, 3], X[8, 3] = 1.0, 3.0
    X[:, 5] = rng.exponential(size=500) * (rng.random(500) < 0.12)
    found = recovery_scaling(X, "features")
    assert_allclose(found.scale[[1, 2, 3, 5]], [X[:, 1].std(), 1.0, 0.8 * 2 / 2.563, X[:, 5].std()])
    assert_allclose(found.scale[[0, 4]], 1, atol=0.15)
    assert recovery_scaling(1e80 * X[:, [0, 1, 4]]).kind == "none"  # and no warning of an overflow


def test_sparse_data_are_measured_like_dense_ones(rng):
    X = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 10)) * 10.0 ** np.arange(-5, 5)
    X[rng.random(X.shape) < 0.3] = 0
    dense = CompressivePCA(3, random_state=0).fit(X)
    sparse = CompressivePCA(3, random_state=0).fit(sp.csr_array(X))
    assert_allclose(sparse.feature_scale_, dense.feature_scale_)
    apart = (sparse.low_rank_.to_array() - dense.low_rank_.to_array()) / dense.feature_scale_
    assert np.abs(apart).max() < 1e-6
