"""Weights of samples and features in the loss."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank import CompressiveClustering, CompressivePCA, FastRobustPCAOnGraphs
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.models import solve_frpcag

FITTED = [
    CompressivePCA(3, random_state=0, gamma_samples=0.5, gamma_features=0.3, robust_graphs=False),
    FastRobustPCAOnGraphs(3, random_state=0, robust_graphs=False),
    CompressiveClustering(3, random_state=0, robust_graphs=False),
]


@pytest.fixture(scope="module")
def data():
    clean = make_low_rank_on_graphs(120, 30, rank=3, random_state=0).X
    return clean + 0.3 * clean.std() * np.random.default_rng(0).standard_normal(clean.shape)


def answer(model):
    return model.soft_labels_ if hasattr(model, "soft_labels_") else np.asarray(model.low_rank_)


@pytest.mark.parametrize("model", FITTED)
def test_only_ratios_count(data, model):
    X = data
    plain = answer(model.fit(X))
    constant = {"sample_loss_weight": np.full(120, 7.0), "feature_loss_weight": np.full(30, 0.1)}
    assert_allclose(answer(model.fit(X, **constant)), plain, atol=1e-9)
    rng = np.random.default_rng(0)
    v, w = rng.random(120) + 0.1, rng.random(30) + 0.1
    weighted = answer(model.fit(X, sample_loss_weight=v, feature_loss_weight=w))
    assert_allclose(answer(model.fit(X, sample_loss_weight=1000 * v, feature_loss_weight=w)), weighted, atol=1e-7)


def test_the_loss_is_weighted(data):
    """The answer is that of the solver, on the estimator's own graphs and units."""
    X = data
    rng = np.random.default_rng(1)
    v, w = rng.random(120) + 0.1, rng.random(30) + 0.1
    model = FastRobustPCAOnGraphs(3, loss="l2", tol=1e-10, max_iter=20_000, laplacian="combinatorial")
    model.fit(X, sample_loss_weight=v, feature_loss_weight=w)
    L_s, L_f = model.sample_graph_.unit_laplacian(), model.feature_graph_.unit_laplacian()
    U = model.low_rank_
    # Optimality in the units of the data: the l2 loss counts squares of units, the graphs' terms too.
    pull = 2 * np.outer(v / v.mean(), w / w.mean()) * (U - X) + 2 * 0.5 * (L_s @ U) + 2 * 0.3 * (L_f @ U.T).T
    assert np.abs(pull).max() < 1e-5 * np.abs(X).max()
    plain = solve_frpcag(X, L_s, L_f, gamma_samples=0.5, gamma_features=0.3, loss="l2", tol=1e-10, max_iter=20_000).X
    assert np.abs(plain - U).max() > 1e-2 * X.std()


def test_a_sample_of_weight_0_follows_its_neighbors(data):
    X = data
    bad = X.copy()
    bad[5] += 100 * X.std()
    graph = FastRobustPCAOnGraphs(3).fit(X).sample_graph_
    weights = np.ones(120)
    weights[5] = 0
    options = {"sample_graph": graph, "feature_graph": None, "loss": "l2", "tol": 1e-6, "max_iter": 5000}
    ignored = FastRobustPCAOnGraphs(3, **options).fit(bad, sample_loss_weight=weights).low_rank_
    expected = FastRobustPCAOnGraphs(3, **options).fit(X, sample_loss_weight=weights).low_rank_
    assert_allclose(ignored, expected, atol=1e-3 * X.std())
    believed = FastRobustPCAOnGraphs(3, **options).fit(bad).low_rank_
    assert np.abs(believed[5] - expected[5]).mean() > 5 * X.std()
    model = CompressivePCA(random_state=0)  # its choice of gammas and rank, too
    model.fit(X, sample_loss_weight=weights, feature_loss_weight=np.arange(30) > 0)
    assert np.isfinite(model.low_rank_.to_array()).all()


@pytest.mark.parametrize("model", FITTED)
@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (np.ones(3), r"must have shape \(120,\), got \(3,\)"),
        (-np.ones(120), "finite numbers >= 0"),
        (np.full(120, np.nan), "finite numbers >= 0"),
        (np.zeros(120), "zero everywhere"),
    ],
)
def test_bad_weights(data, model, weights, text):
    X = data
    with pytest.raises(ValueError, match=f"sample_loss_weight.*{text}|{text}"):
        model.fit(X, sample_loss_weight=weights)


@pytest.mark.parametrize("solver", ["rpca", "rpcag"])
def test_solvers_without_weights_refuse_them(data, solver):
    X = data
    with pytest.raises(ValueError, match="feature_loss_weight needs solver='frpcag'"):
        CompressivePCA(2, solver=solver).fit(X, feature_loss_weight=np.ones(30))


def test_optimal_sampling_keeps_its_importance_weights(data):
    X = data
    model = CompressivePCA(
        3, sampling="optimal", downsampling=(2, 1), random_state=0, gamma_samples=0.5, gamma_features=0.3
    )
    plain = model.fit(X)
    importance, found = plain.sample_weights_, plain.low_rank_.to_array()
    model.fit(X, sample_loss_weight=np.full(120, 3.0))
    assert_array_equal(model.sample_weights_, importance)
    assert_allclose(model.low_rank_.to_array(), found, atol=1e-9)


@pytest.mark.parametrize("Estimator", [CompressivePCA, CompressiveClustering])
def test_weights_that_are_0_on_all_kept_samples(data, Estimator):
    X = data
    weights = np.zeros(120)
    model = Estimator(2, downsampling=(4, 1), random_state=0)
    weights[np.setdiff1d(np.arange(120), model.fit(X).sample_indices_)[0]] = 1
    with pytest.raises(ValueError, match="has weight 0; keep more"):
        model.fit(X, sample_loss_weight=weights)


def test_the_former_names_are_deprecated(data):
    model, weights = FITTED[0], np.arange(120.0) + 1
    expected = answer(model.fit(data, sample_loss_weight=weights))
    with pytest.warns(FutureWarning, match="sample_weight was renamed sample_loss_weight"):
        assert_array_equal(answer(model.fit(data, sample_weight=weights)), expected)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sample_wait'"):
        model.fit(data, sample_wait=weights)
