"""Whether outliers are filtered before distances are computed, and what that gains."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

import graphlowrank
from graphlowrank import CompressiveClustering, CompressivePCA, FastRobustPCAOnGraphs
from graphlowrank.auto.outliers import check_outlier_filter
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.graphs.search import nearest_neighbors
from graphlowrank.metrics import clustering_error, recovery_error
from graphlowrank.preprocessing.outlier_filter import fit_outlier_filter
from helpers import salt_and_pepper, with_outliers


def chosen(model):
    return {choice.name: choice.value for choice in model.report_.choices}["robust_graphs"]


@pytest.mark.parametrize("seed", range(3))
def test_clean_data_are_not_filtered(seed):
    _, clean, _ = with_outliers(seed)
    assert not check_outlier_filter(clean, 10).value
    assert not check_outlier_filter(np.random.default_rng(seed).standard_normal((300, 20)), 10).value
    assert not check_outlier_filter(
        np.random.default_rng(seed).lognormal(size=(300, 20)), 10
    ).value  # heavy tails are no errors


def test_digits_are_filtered_only_with_outliers():
    X = load_digits().data
    assert not check_outlier_filter(X, 10).value
    hit = np.random.default_rng(0).random(X.shape) < 0.05
    noise = 5 * X.std() * np.random.default_rng(1).standard_normal(X.shape)
    choice = check_outlier_filter(np.where(hit, X + noise, X), 10)
    assert choice.value
    assert "outlier filtering improved held-out prediction by" in choice.reason


@pytest.mark.parametrize(("seed", "size"), [(0, 15), (1, 100), (2, 1e3), (3, 1e4), (4, 1e6)])
def test_filtering_finds_neighbors_that_distances_miss(seed, size):
    X, clean, _ = with_outliers(seed, size=size)
    assert check_outlier_filter(X, 10).value
    true, plain, sifted = (
        nearest_neighbors(points, 10, engine="exact")[1]
        for points in (clean, X, fit_outlier_filter(X, np.random.RandomState(0)).apply(X))
    )
    found = [np.mean([len(set(a) & set(b)) for a, b in zip(true, these, strict=True)]) for these in (plain, sifted)]
    assert found[0] < 5
    assert found[1] > 8


@pytest.mark.parametrize("draw", range(3))
def test_salt_and_pepper_is_recognized(draw):
    choice = check_outlier_filter(salt_and_pepper(load_digits().data, draw), 10)
    assert choice.value == "ends"
    assert "ends of their feature's range improved held-out prediction by" in choice.reason


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_values_that_are_at_an_end_for_a_reason_are_not_filtered(share, rng):
    """Clipped data: many entries are at the ends, and their neighbors are, too."""
    X = with_outliers(n=400)[1]
    low, high = np.quantile(X, [share, 1 - share / 3], axis=0)
    assert check_outlier_filter(np.clip(X, low, high), 10).value is False
    assert check_outlier_filter(rng.poisson(0.5, (400, 40)).astype(float), 10).value is False


def test_clusters_and_low_rank_matrix_of_salt_and_pepper():
    """Errors of digits with 15 %: k-means 0.27, PCA at its best rank 0.364."""
    digits = load_digits()
    X, y = digits.data.astype(np.float32), digits.target
    S = salt_and_pepper(X)
    model = CompressiveClustering(10, random_state=0).fit(S)
    assert chosen(model) == "ends"
    assert clustering_error(y, model.labels_) < 0.25
    assert np.mean(model.predict(S) == model.labels_) > 0.98
    low_rank = CompressivePCA(random_state=0).fit(S).low_rank_.to_array()
    assert recovery_error(X, low_rank) < 0.8 * 0.364


@pytest.mark.parametrize("scaling", ["none", "samples", "features"])
def test_new_samples_with_salt_and_pepper_get_their_cluster(scaling, tmp_path, rng):
    y = rng.integers(4, size=500)
    clean = np.clip(0.5 + 0.25 * rng.standard_normal((4, 40))[y] + 0.05 * rng.standard_normal((500, 40)), 0, 1)
    S = salt_and_pepper(clean)
    S[3, 5], S[420, 7] = np.nan, np.nan
    model = CompressiveClustering(4, scaling=scaling, robust_graphs="ends", random_state=0).fit(S[:400])
    assert clustering_error(y[:400], model.labels_) == 0
    again = model._points_of_new(S[10:400])
    assert_allclose(again, model.points_[10:], atol=1e-9)  # filtered before they are scaled
    ours = model.predict(S[400:])
    assert clustering_error(y, np.r_[model.labels_, ours]) == 0
    model.save(tmp_path / "model")
    assert_array_equal(graphlowrank.load(tmp_path / "model").predict(S[400:]), ours)


def test_few_data_are_not_checked():
    assert "too few" in check_outlier_filter(with_outliers(n=30)[0], 5).reason
    assert "too few" in check_outlier_filter(np.ones((100, 10)), 5).reason
    wide = np.zeros((60, 5000), dtype=np.float32)
    assert "more than 4000 features" in check_outlier_filter(wide, 5).reason


def test_recovery_improves():
    made = make_low_rank_on_graphs(600, 60, 5, random_state=0)
    rng = np.random.RandomState(0)
    X = made.X_true + 0.2 * made.X_true.std() * rng.standard_normal(made.X_true.shape)
    X = np.where(rng.random_sample(X.shape) < 0.1, 10 * made.X_true.std() * rng.standard_normal(X.shape), X)
    errors = {}
    for robust in ("auto", True, False):
        model = CompressivePCA(5, downsampling=(4, 1), robust_graphs=robust, random_state=0).fit(X)
        errors[robust] = recovery_error(made.X_true, model.low_rank_.to_array())
        assert chosen(model) is (robust is not False)
    assert errors["auto"] == errors[True] < 0.1
    assert errors[False] > 0.3
    whole = [
        recovery_error(made.X_true, FastRobustPCAOnGraphs(robust_graphs=robust).fit(X).low_rank_)
        for robust in ("auto", False)
    ]
    assert whole[0] < 0.7 * whole[1]


@pytest.mark.parametrize("Estimator", [CompressivePCA, CompressiveClustering, FastRobustPCAOnGraphs])
def test_answers_on_clean_data_do_not_change(Estimator):
    X = load_digits().data[:400]
    auto, off = (Estimator(5, robust_graphs=robust, random_state=0).fit(X) for robust in ("auto", False))
    assert chosen(auto) is chosen(off) is False
    assert_array_equal(auto.sample_graph_.weights.data, off.sample_graph_.weights.data)
    assert "imputation" not in auto.stage_seconds_


def test_new_samples_with_outliers_get_their_cluster(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=600)
    clean = 2 * rng.standard_normal((4, 30))[y] + 0.5 * rng.standard_normal((600, 30))
    X = np.where(rng.random(clean.shape) < 0.1, 30 * rng.standard_normal(clean.shape), clean)
    model = CompressiveClustering(4, scaling="none", random_state=0).fit(X[:400])
    assert chosen(model) is True
    ours = model.predict(X[400:])
    assert np.mean([np.bincount(ours[y[400:] == k]).max() / (y[400:] == k).sum() for k in range(4)]) > 0.9
    model.save(tmp_path / "model")
    assert_array_equal(graphlowrank.load(tmp_path / "model").predict(X[400:]), ours)


def test_data_with_given_graphs_are_not_checked():
    X, *_ = with_outliers(n=100)
    X[3, 4] = np.nan
    given = {"sample_graph": np.ones((100, 100)), "feature_graph": None}
    model = CompressivePCA(3, **given).fit(X)
    assert chosen(model) is False
    assert not {"outliers", "imputation"} & set(model.stage_seconds_)
    assert CompressiveClustering(3, **given).fit(X).predict(X).shape == (100,)


def test_sparse_data_are_not_filtered():
    X = sp.random_array((100, 20), density=0.2, rng=0, format="csr")
    assert chosen(CompressivePCA(3).fit(X)) is False
    for wanted in (True, "ends"):
        with pytest.raises(ValueError, match=f"robust_graphs={wanted!r} needs dense data"):
            CompressivePCA(3, robust_graphs=wanted).fit(X)


@pytest.mark.parametrize("size", [30, 1000])
def test_clusters_survive_outliers_of_any_size(size):
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=300)
    clean = 2 * rng.standard_normal((4, 30))[y] + 0.5 * rng.standard_normal((300, 30))
    X = np.where(rng.random(clean.shape) < 0.1, size * rng.standard_normal(clean.shape), clean)
    assert clustering_error(y, CompressiveClustering(4, random_state=0).fit_predict(X)) < 0.02
    assert clustering_error(y, CompressiveClustering(4, robust_graphs=False, random_state=0).fit_predict(X)) > 0.2


@pytest.mark.parametrize("bad", ["yes", 1, None])
def test_other_values_are_refused(bad):
    with pytest.raises(ValueError, match="robust_graphs must be True, False, 'ends' or 'auto'"):
        CompressivePCA(robust_graphs=bad).fit(np.eye(20))
