"""CompressivePCA and FastRobustPCAOnGraphs: recovery, limits, units, error bars."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from graphlowrank import CompressivePCA, FastRobustPCAOnGraphs
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.graphs import knn_graph
from graphlowrank.metrics import recovery_error

RECOVERY = [CompressivePCA, FastRobustPCAOnGraphs]


@pytest.fixture(scope="module", params=["clusters", "rings"])
def clean(request):
    return make_low_rank_on_graphs(3000, 300, rank=5, shape=request.param, random_state=0)


@pytest.fixture(scope="module", params=["clusters", "rings"])
def corrupted(request):
    return make_low_rank_on_graphs(3000, 300, rank=5, shape=request.param, outliers=0.1, random_state=0)


def on_graphs(data, **options):
    given = {"sample_graph": data.sample_graph, "feature_graph": data.feature_graph}
    return CompressivePCA(downsampling=(10, 2), reduction="random_walk", random_state=0, **given, **options).fit(data.X)


def test_recovery_without_noise(clean):
    assert recovery_error(clean.X_true, on_graphs(clean).low_rank_) < 0.03


def test_recovery_from_outliers(corrupted):
    truncated = PCA(5).fit(corrupted.X)
    assert recovery_error(corrupted.X_true, truncated.inverse_transform(truncated.transform(corrupted.X))) > 0.4
    model = on_graphs(corrupted, gamma_samples=2.0, gamma_features=2.0)
    assert recovery_error(corrupted.X_true, model.low_rank_) < 0.05
    assert model.n_components_ <= 5
    # Each sample fitted on the components by itself is as good: this is what `transform` does with new samples.
    assert recovery_error(corrupted.X_true, model.inverse_transform(model.transform(corrupted.X))) < 0.05


def test_compressing_nothing_is_frpcag():
    X = load_digits().data[:150]
    options = {"n_components": 64, "gamma_samples": 1.0, "gamma_features": 0.2, "tol": 1e-6}
    whole = FastRobustPCAOnGraphs(**options).fit(X)
    same = CompressivePCA(downsampling=(1, 1), **options).fit(X)
    assert_allclose(same.low_rank_.to_array(), whole.low_rank_, atol=1e-4)
    assert_allclose(same.singular_values_, whole.singular_values_, atol=1e-4)


def test_zero_gammas_return_the_data():
    X = load_digits().data[:80]
    model = FastRobustPCAOnGraphs(gamma_samples=0, gamma_features=0).fit(X)
    assert_allclose(model.low_rank_, X, atol=1e-10)


@pytest.mark.parametrize("Estimator", RECOVERY)
def test_answers_follow_the_units_of_the_data(Estimator):
    X = load_digits().data[:200]
    model = Estimator(random_state=0).fit(X)
    scaled = Estimator(random_state=0).fit(1000 * X + 500)
    assert_allclose(np.asarray(scaled.low_rank_), 1000 * np.asarray(model.low_rank_) + 500, rtol=1e-3, atol=5)


def test_l2_transform_is_the_projection():
    X = load_digits().data[:200]
    model = CompressivePCA(5, loss="l2", random_state=0).fit(X)
    assert_allclose(model.components_ @ model.components_.T, np.eye(5), atol=1e-8)
    assert_allclose(model.transform(X), (X - model.offset_) @ model.components_.T, atol=1e-8)
    assert_allclose(model.transform(model.inverse_transform(model.transform(X))), model.transform(X), atol=1e-8)


@pytest.mark.parametrize("amplitude", [10, 1e5])
def test_the_size_of_outliers_does_not_matter(amplitude):
    data = make_low_rank_on_graphs(400, 60, rank=3, random_state=0)
    rng = np.random.default_rng(1)
    hit = rng.random(data.X.shape) < 0.1
    X = np.where(hit, amplitude * data.X_true.std() * rng.standard_normal(data.X.shape), data.X_true)
    model = CompressivePCA(  # three groups lie in a plane around their mean
        2, sample_graph=data.sample_graph, feature_graph=data.feature_graph, gamma_samples=2.0, gamma_features=2.0
    ).fit(X)
    assert recovery_error(data.X_true, model.low_rank_) < 0.05
    assert recovery_error(data.X_true, model.inverse_transform(model.transform(X))) < 0.05


def test_a_feature_on_a_high_level_does_not_end_the_iterations():
    X = load_digits().data[:200]
    level = np.r_[1e5, np.zeros(X.shape[1] - 1)]
    options = {"feature_graph": None, "gamma_samples": 1.0}
    plain = FastRobustPCAOnGraphs(**options).fit(X)
    lifted = FastRobustPCAOnGraphs(**options).fit(X + level)
    assert lifted.n_iter_ >= plain.n_iter_ / 2
    assert_allclose(lifted.low_rank_[:, 1:], plain.low_rank_[:, 1:], atol=0.5)


def test_huber_corner_is_in_units_of_the_data():
    X = load_digits().data[:150]
    small, large = (
        CompressivePCA(4, loss="huber", huber_delta=0.5, random_state=0).fit(unit * X).transform(unit * X) / unit
        for unit in (1.0, 1000.0)
    )
    assert_allclose(np.abs(large), np.abs(small), rtol=1e-2, atol=0.1)


@pytest.mark.parametrize("reduction", ["exact", "random_walk", "rebuild"])
def test_every_reduction_runs(reduction):
    X = load_digits().data[:300]
    model = CompressivePCA(5, downsampling=(3, 2), reduction=reduction, random_state=0).fit(X)
    assert recovery_error(X, model.low_rank_) < 0.6


def test_disconnected_data_and_isolated_nodes():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((60, 5)), rng.standard_normal((60, 5)) + 1000])
    model = CompressivePCA(2, downsampling=(10, 1), random_state=0).fit(X)
    assert model.sample_graph_.n_components == 2
    W = knn_graph(X, 5).weights.tolil()
    W[7, :] = 0
    W[:, 7] = 0
    isolated = CompressivePCA(2, downsampling=(10, 1), sample_graph=W.tocsr(), random_state=0).fit(X)
    assert 7 in isolated.sample_indices_


def test_error_bars_are_the_standard_deviation_over_draws():
    data = make_low_rank_on_graphs(300, 40, rank=3, random_state=0)
    model = CompressivePCA(3, n_draws=4, downsampling=(3, 1), random_state=0).fit(data.X)
    assert len(model.draws_) == 4
    assert model.draws_[0] is model.low_rank_
    bars = model.error_bars(slice(0, 50))
    every = np.std([draw.to_array()[:50] for draw in model.draws_], axis=0, ddof=1)
    np.testing.assert_allclose(bars, every, atol=1e-6)
    assert np.any(bars > 0)
    one = CompressivePCA(3, downsampling=(3, 1), random_state=0).fit(data.X)
    np.testing.assert_allclose(one.low_rank_.to_array(), model.low_rank_.to_array())  # the first draw is the answer
    with pytest.raises(ValueError, match="error bars need n_draws"):
        one.error_bars()
    with pytest.raises(ValueError, match="n_draws must be a positive"):
        CompressivePCA(3, n_draws=0).fit(data.X)
