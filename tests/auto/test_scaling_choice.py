"""The scaling of samples or features."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits

import graphlowrank
from graphlowrank import CompressiveClustering, CompressivePCA
from graphlowrank.auto import scaling
from graphlowrank.auto.scaling import choose_recovery_scaling, choose_scaling, choose_units, trial_conductance
from graphlowrank.graphs import knn_graph
from graphlowrank.metrics import clustering_error
from graphlowrank.options import Options
from graphlowrank.preprocessing.scaling import Scaling
from graphlowrank.preprocessing.sparse import as_shifted_sparse
from helpers import sparse_counts


@pytest.fixture
def pictures(rng):
    """Four patterns of 30 numbers, noisy."""
    y = np.repeat(np.arange(4), 60)
    return rng.standard_normal((4, 30))[y] + 0.3 * rng.standard_normal((240, 30)), y


def trial(X, k):
    return trial_conductance(X, k, Options(n_neighbors=10), np.random.RandomState(0))


def chosen(X, k=4):
    return choose_scaling(X, Options(n_clusters=k, n_neighbors=10))[0]


def test_samples_of_different_brightness_are_scaled(pictures, rng):
    X, _ = pictures
    shaded = np.exp(rng.standard_normal((240, 1))) * (X + 3 * rng.standard_normal((240, 1)))
    assert chosen(shaded).kind == "samples"
    assert trial(Scaling.fit(shaded, "samples").apply(shaded), 4) < trial(shaded, 4)


def test_each_scaling_is_tried_on_some_samples_and_reported(monkeypatch):
    tried = []

    def by_scaling(X, k, options, rng):
        tried.append((len(X), k))
        if np.allclose(X.mean(axis=0), 0, atol=1e-6):
            return 0.0005  # "features"
        return 0.04 if np.allclose(X.mean(axis=1), 0, atol=1e-6) else 0.05

    monkeypatch.setattr(scaling, "trial_conductance", by_scaling)
    X = np.random.default_rng(0).random((4000, 30))
    found, choice = choose_scaling(X, Options(n_clusters=7))
    assert (found.kind, tried) == ("features", [(2000, 7)] * 9)
    assert "of 3 x 2000 samples, 0.001 (none 0.050, samples 0.040)" in choice.reason


@pytest.mark.parametrize("seed", range(3))
def test_a_few_far_samples_are_not_a_cluster(seed, rng):
    """Three samples far from all others have the lowest conductance of all pairs of clusters."""
    y = np.repeat([0, 1], 150)
    X = rng.standard_normal((300, 30)) + 2 * y[:, None]
    X[:3] += 1e3
    model = CompressiveClustering(2, robust_graphs=False, random_state=seed).fit(X)
    assert clustering_error(y[3:], model.labels_[3:]) == 0


def test_features_in_different_units_are_scaled(pictures):
    X, _ = pictures
    units = X * np.r_[1e4, 1e3 * np.ones(1), np.ones(28)]
    assert chosen(units).kind == "features"


def test_a_feature_that_separates_clusters_is_not_scaled_down(rng):
    y = np.repeat(np.arange(3), 100)
    line = np.column_stack([10.0 * y + rng.standard_normal(300), rng.standard_normal((300, 5))])
    assert chosen(line, 3).kind == "none"
    assert clustering_error(y, CompressiveClustering(3, random_state=0).fit_predict(line)) == 0


@settings(max_examples=20, deadline=None)
@given(factor=st.sampled_from([1e-6, 1e-3, 1e3, 1e6]), dtype=st.sampled_from([np.float32, np.float64]))
def test_units_of_all_data_do_not_matter(factor, dtype):
    X = load_digits().data[:300].astype(dtype)
    assert chosen(X, 10).kind == chosen((X * factor).astype(dtype), 10).kind


def test_data_with_a_given_graph_are_not_scaled(pictures):
    X, _ = pictures
    again = CompressiveClustering(4, sample_graph=knn_graph(X, 10), robust_graphs=False, random_state=0).fit(X)
    assert again.scaling_ == "none"


def test_fewer_neighbors_if_clusters_are_small():
    X = load_digits().data[:200]
    given = {"robust_graphs": False, "random_state": 0}
    assert CompressiveClustering(20, **given).fit(X).sample_graph_.n_edges < 200 * 5
    explicit = CompressiveClustering(20, n_neighbors=10, **given).fit(X)
    assert explicit.sample_graph_.n_edges >= 200 * 5


def test_noise_in_large_units_does_not_win_for_its_low_dimension(rng):
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


def skewed_counts(n=300, p=80, seed=0):
    """Counts of three topics, each feature with a rate of its own, samples of different totals; and the topics."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    topics = rng.dirichlet(np.full(p, 0.2), 3)
    return rng.poisson(rng.lognormal(4, 1, (n, 1)) * topics[y]).astype(float), y


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_counts_are_recognized_and_hold_for_new_samples(form, tmp_path):
    counts, y = skewed_counts()
    X = form(counts)
    model = CompressiveClustering(3, random_state=0).fit(X[:200])
    choice = next(choice for choice in model.report_.choices if choice.name == "scaling")
    assert (model.scaling_, choice.value) == ("counts", "counts")
    assert "non-negative integers, most of them 0" in choice.reason
    assert clustering_error(y, np.r_[model.labels_, model.predict(X[200:])]) < 0.02
    model.save(tmp_path / "model")
    assert_array_equal(graphlowrank.load(tmp_path / "model").predict(X[200:]), model.predict(X[200:]))
    given = CompressiveClustering(3, scaling="counts", random_state=0).fit(X[:200])
    assert_array_equal(given.labels_, model.labels_)
    assert CompressiveClustering(3, scaling="none", random_state=0).fit(X[:200]).scaling_ == "none"


def test_other_integers_are_not_counts(rng):
    images = load_digits().data
    counts, _ = skewed_counts()
    units = np.column_stack([counts > 1, 1000 * rng.integers(50, size=300)]).astype(float)
    others = [
        images, np.where(images > 8, images, 0), counts / 2, counts - 1, counts + 1, np.log1p(counts), counts > 0,
        np.minimum(counts, 5), rng.poisson(0.5, (300, 50)), np.zeros((50, 30)), units, counts[:, :10],
    ]  # fmt: skip
    for X in others:
        assert choose_units(X.astype(float), Options())[0].kind != "counts"
    assert choose_units(counts, Options())[0].kind == "counts"
    assert choose_units(counts, Options(sample_graph=np.ones((300, 300))))[0].kind == "none"
    with pytest.raises(ValueError, match="negative values, which are not counts"):
        CompressiveClustering(3, scaling="counts").fit(-counts)


@pytest.fixture
def mixed(rng):
    """Rank 3 in 12 features of units from 1e-3 to 1e4, and what it is without noise."""
    clean = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 12))
    units = 10.0 ** np.linspace(-3, 4, 12)
    return units * (clean + 0.1 * rng.standard_normal(clean.shape)) + 5 * units, units * clean + 5 * units


def largest_error(M, clean):
    """Largest root mean square error of a feature, relative to its standard deviation."""
    return (np.sqrt(np.mean((M - clean) ** 2, axis=0)) / clean.std(axis=0)).max()


def test_every_feature_of_a_table_in_different_units_is_recovered(mixed):
    X, clean = mixed
    model = CompressivePCA(random_state=0).fit(X)
    assert model.feature_scale_ is not None
    assert largest_error(model.low_rank_.to_array(), clean) < 0.12
    assert largest_error(model.inverse_transform(model.transform(X)), clean) < 0.14
    unscaled = CompressivePCA(scaling="none", solver="frpcag", random_state=0).fit(X)
    assert largest_error(unscaled.low_rank_.to_array(), clean) > 0.5
    assert {choice.name: choice.value for choice in model.report_.choices}["scaling"] == "features"


@given(seed=st.integers(0, 1000), missing=st.booleans(), robust=st.booleans())
@example(seed=0, missing=True, robust="auto")
@settings(max_examples=7, deadline=None)
def test_the_answer_does_not_depend_on_the_units(seed, missing, robust):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 3)) @ rng.standard_normal((3, 8)) + 0.1 * rng.standard_normal((80, 8))
    X[rng.random(X.shape) < 0.1 * missing] = np.nan
    units = 2.0 ** rng.integers(-20, 20, 8)  # powers of two: products are exact
    model = CompressivePCA(3, scaling="features", robust_graphs=robust, random_state=0)
    here, there = (clone(model).fit(data) for data in (X, X * units))
    assert_array_equal(here.low_rank_.to_array() * units, there.low_rank_.to_array())
    assert_array_equal(here.transform(X), there.transform(X * units))
    scores = here.transform(X)
    assert_allclose(here.inverse_transform(scores) * units, there.inverse_transform(scores))


def test_features_in_equal_units_are_not_scaled(pictures, rng):
    X = pictures[0]
    assert choose_recovery_scaling(X)[0].kind == "none"
    X[3, 5] = 1e7  # an outlier is no unit
    assert choose_recovery_scaling(X)[0].kind == "none"
    assert choose_recovery_scaling(X * np.r_[1e4, 1e3, np.ones(28)])[0].kind == "features"
    with pytest.raises(ValueError, match="scaling must be one of 'auto', 'none', 'features'; got 'samples'"):
        CompressivePCA(scaling="samples").fit(X)


def test_rare_and_constant_features_have_units_too(rng):
    X = rng.standard_normal((500, 6))
    X[:, 1] *= rng.random(500) < 0.05
    X[:, 2] = 7.0
    X[:, 3] = np.nan
    X[7, 3], X[8, 3] = 1.0, 3.0
    X[:, 5] = rng.exponential(size=500) * (rng.random(500) < 0.12)
    found = choose_recovery_scaling(X, "features")[0]
    assert_allclose(found.scale[[1, 2, 3, 5]], [X[:, 1].std(), 1.0, 0.8 * 2 / 2.563, X[:, 5].std()])
    assert_allclose(found.scale[[0, 4]], 1, atol=0.15)
    assert choose_recovery_scaling(1e80 * X[:, [0, 1, 4]])[0].kind == "none"  # and no warning of an overflow


def test_sparse_data_are_scaled_like_dense_ones(rng):
    X = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 10)) * 10.0 ** np.arange(-5, 5)
    X[rng.random(X.shape) < 0.3] = 0
    dense = CompressivePCA(3, random_state=0).fit(X)
    sparse = CompressivePCA(3, random_state=0).fit(sp.csr_array(X))
    assert_allclose(sparse.feature_scale_, dense.feature_scale_)
    apart = (sparse.low_rank_.to_array() - dense.low_rank_.to_array()) / dense.feature_scale_
    assert np.abs(apart).max() < 1e-6


def test_sparse_data_lead_to_the_choices_of_dense_ones():
    values, _ = sparse_counts()
    X, dense = as_shifted_sparse(values), values.toarray()
    for kind in ("none", "samples", "features"):
        scaled, expected = Scaling.fit(X, kind).apply(X), Scaling.fit(dense, kind).apply(dense)
        assert_allclose(scaled.to_array(), expected, atol=1e-12)
        assert trial(scaled, 3) == pytest.approx(trial(expected, 3))
    assert chosen(X, 3).kind == chosen(dense, 3).kind
    assert CompressiveClustering("auto", random_state=0).fit(values).n_clusters_ == 3
