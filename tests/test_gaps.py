"""Missing entries (NaN) in the estimators: no say in the loss, guessed for distances, recovered in the answer."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.impute import SimpleImputer

from graphlowrank import (
    CompressiveClustering,
    CompressivePCA,
    FastRobustPCAOnGraphs,
    RobustPCA,
    RobustPCAOnGraphs,
)
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.graphs import knn_graph
from graphlowrank.graphs.search import nearest_neighbors
from graphlowrank.metrics import clustering_error
from graphlowrank.models.huber import huber_fit
from graphlowrank.models.regression import robust_scores
from graphlowrank.preprocessing.imputer import fill_gaps, learn_filling
from graphlowrank.preprocessing.missing import has_gaps, observed_mean, observed_median
from graphlowrank.preprocessing.standardize import mean_and_deviation

RECOVERY = [CompressivePCA, FastRobustPCAOnGraphs, RobustPCA, RobustPCAOnGraphs]


def with_gaps(X, share, seed=0):
    X = np.array(X, dtype=X.dtype if X.dtype.kind == "f" else float)
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


@pytest.fixture(scope="module")
def clean():
    return make_low_rank_on_graphs(300, 60, rank=3, random_state=0).X


# --- statistics --------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), share=st.floats(0, 0.6))
@settings(max_examples=40, deadline=None)
def test_statistics_are_those_of_the_observed_entries(seed, share):
    X = with_gaps(np.random.default_rng(seed).standard_normal((15, 6)), share, seed)
    X[0], X[1], X[:, 0] = 1.0, 2.0, 3.0
    w = np.random.default_rng(seed).random(15)
    assert_allclose(observed_mean(X), np.nanmean(X, axis=0))
    assert_allclose(observed_median(X), np.nanmedian(X, axis=0))
    expected = [np.average(column[~np.isnan(column)], weights=w[~np.isnan(column)]) for column in X.T]
    assert_allclose(observed_mean(X, w), expected)
    for axis in (0, 1):
        mean, deviation = mean_and_deviation(X, axis)
        assert_allclose(mean, np.nanmean(X, axis=axis, keepdims=True), atol=1e-12)
        assert_allclose(deviation, np.nanstd(X, axis=axis, keepdims=True), atol=1e-12)


def test_gaps_are_noticed():
    X = np.ones((4, 3))
    assert not has_gaps(X)
    assert not has_gaps(np.array([[1e308, 1e308], [-1e308, -1e308]]))
    assert not has_gaps(np.array([[np.inf, -np.inf]]))
    X[2, 1] = np.nan
    assert has_gaps(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(observed_mean(np.array([[np.nan, 2.0], [np.nan, 4.0]])), [3, 3])
        assert_array_equal(observed_median(np.array([[np.nan, 2.0], [np.nan, 4.0]])), [3, 3])


# --- distances ---------------------------------------------------------------------------------------------------


def test_filling_keeps_what_is_observed_and_finds_low_rank_data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3)) @ rng.standard_normal((3, 30)) + rng.standard_normal(30)
    gaps = with_gaps(X, 0.2)
    filled = fill_gaps(gaps, np.random.RandomState(0))
    seen = ~np.isnan(gaps)
    assert_array_equal(filled[seen], X[seen])
    guessed = np.linalg.norm((filled - X)[~seen]) / np.linalg.norm((X - X.mean(axis=0))[~seen])
    assert guessed < 0.02
    assert fill_gaps(X, np.random.RandomState(0)) is X
    assert fill_gaps(gaps.astype(np.float32), np.random.RandomState(0)).dtype == np.float32
    # A sample is filled by itself: its company does not matter.
    model = learn_filling(gaps, np.random.RandomState(0))
    assert_allclose(model.apply(gaps[:5]), model.apply(gaps)[:5], atol=1e-12)


def test_neighbours_are_better_than_by_distances_over_common_entries():
    from sklearn.metrics.pairwise import nan_euclidean_distances

    X, y = load_digits(return_X_y=True)
    gaps = with_gaps(X[:800], 0.5)
    usual = nan_euclidean_distances(gaps)
    np.fill_diagonal(usual, np.inf)
    usual = np.argsort(usual, axis=1)[:, :10]
    edges = knn_graph(gaps, 10).weights.tocoo()
    ours = np.mean(y[edges.coords[0]] == y[edges.coords[1]])
    assert ours > np.mean(y[usual] == y[:800, None]) + 0.05
    _, true = nearest_neighbors(X[:800], 10)
    assert ours > 0.75 * np.mean(y[true] == y[:800, None])


# --- recovery ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("Estimator", RECOVERY)
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_missing_entries_are_recovered(clean, Estimator, share):
    noisy = clean + 0.05 * clean.std() * np.random.default_rng(1).standard_normal(clean.shape)
    X = with_gaps(noisy, share)
    kept = X.copy()
    model = Estimator(random_state=0) if "random_state" in Estimator().get_params() else Estimator()
    found = np.asarray(model.fit(X).low_rank_)
    assert_array_equal(X, kept)  # the caller's
    hidden = np.isnan(X)
    error = np.linalg.norm((found - clean)[hidden])
    by_means = np.linalg.norm((SimpleImputer().fit_transform(X) - clean)[hidden])
    assert error < 0.35 * by_means
    assert "% of the entries missing" in repr(model.report_)
    assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize("Estimator", [CompressivePCA, FastRobustPCAOnGraphs, RobustPCA])
def test_a_mask_says_the_same_as_nan(clean, Estimator):
    X = with_gaps(clean, 0.3)
    mask = ~np.isnan(X)
    junk = np.where(mask, clean, 1e6)
    junk[0, np.flatnonzero(~mask[0])[0]] = np.inf
    model = Estimator(3) if Estimator is RobustPCA else Estimator(3, random_state=0)
    scores, found = model.fit_transform(X), np.asarray(model.low_rank_)
    assert_array_equal(model.fit_transform(junk, mask=mask), scores)
    assert_array_equal(np.asarray(model.low_rank_), found)
    model.fit(clean, mask=np.ones(clean.shape, dtype=bool))
    assert_array_equal(np.asarray(model.low_rank_), np.asarray(model.fit(clean).low_rank_))


@pytest.mark.parametrize("Estimator", [CompressivePCA, CompressiveClustering, FastRobustPCAOnGraphs, RobustPCA])
def test_bad_masks(clean, Estimator):
    for mask, text in (
        (np.ones((2, 2), dtype=bool), "mask must hold booleans of shape"),
        (np.ones(clean.shape), "mask must hold booleans"),
        (np.zeros(clean.shape, dtype=bool), "nothing is observed"),
    ):
        with pytest.raises(ValueError, match=text):
            Estimator(2).fit(clean, mask=mask)
    bad = clean.copy()
    bad[0, 0] = np.inf
    with pytest.raises(ValueError, match="where the mask says that it is observed"):
        Estimator(2).fit(bad, mask=np.ones(clean.shape, dtype=bool))


@pytest.mark.parametrize("solver", ["frpcag", "rpca", "rpcag"])
@pytest.mark.parametrize("decoder", ["subspace", "robust", "alternate"])
def test_solvers_and_decoders(clean, solver, decoder):
    X = with_gaps(clean, 0.2)
    model = CompressivePCA(3, solver=solver, decoder=decoder, downsampling=(2, 1), random_state=0).fit(X)
    hidden = np.isnan(X)
    error = np.linalg.norm((model.low_rank_.to_array() - clean)[hidden])
    assert error < 0.4 * np.linalg.norm((clean - observed_mean(X))[hidden])


@pytest.mark.parametrize("decoder", ["approximate2", "approximate3"])
def test_decoders_that_project_the_data_refuse(clean, decoder):
    with pytest.raises(ValueError, match="must then have no missing entries"):
        CompressivePCA(2, decoder=decoder).fit(with_gaps(clean, 0.1))


def test_no_graph_no_filling(clean):
    model = FastRobustPCAOnGraphs(2, sample_graph=knn_graph(clean, 5), feature_graph=None)
    assert "filling" not in model.fit(with_gaps(clean, 0.1)).stage_seconds_
    assert "filling" in FastRobustPCAOnGraphs(2).fit(with_gaps(clean, 0.1)).stage_seconds_


# --- new samples -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["l1", "l2", "huber"])
def test_scores_do_not_see_what_is_missing(loss):
    rng = np.random.default_rng(0)
    C = np.linalg.qr(rng.standard_normal((20, 3)))[0].T
    S = rng.standard_normal((30, 3))
    X = S @ C
    gaps = with_gaps(X, 0.3)
    assert_allclose(robust_scores(gaps, C, loss=loss, tol=1e-10), S, atol=1e-6)
    X = X + 0.1 * rng.standard_normal(X.shape)
    gaps = with_gaps(X, 0.3)
    found = robust_scores(gaps, C, loss=loss, huber_delta=0.05, tol=1e-10, max_iter=1000)
    for row, scores in zip(gaps, found, strict=True):
        seen = ~np.isnan(row)
        residual = row[seen] - scores @ C[:, seen]
        pull = {"l2": residual, "l1": np.sign(residual), "huber": np.clip(residual / 0.05, -1, 1)}[loss]
        if loss != "l1":  # at the optimum the pulls on each score cancel
            assert np.abs(C[:, seen] @ pull).max() < 1e-3
        else:  # as many entries are met as there are scores
            assert np.sum(np.abs(residual) < 1e-3) >= 3
    assert_array_equal(robust_scores(np.full((1, 20), np.nan), C, loss=loss), np.zeros((1, 3)))


def test_huber_regression_does_not_see_what_is_missing():
    rng = np.random.default_rng(0)
    C, S = rng.standard_normal((3, 40)), rng.standard_normal((25, 3))
    Y = with_gaps(S @ C + 0.1 * rng.standard_normal((25, 40)), 0.4)
    w = rng.random(40) + 0.5
    options = {"corner": 0.05, "importance": w, "tol": 1e-8, "max_iter": 500}
    plain, compiled = (huber_fit(Y, C, compiled=one, **options).X for one in (False, True))
    assert_allclose(plain, compiled, atol=1e-7)
    for row, scores in zip(Y, plain, strict=True):
        seen = ~np.isnan(row)
        alone = huber_fit(row[None, seen], C[:, seen], **(options | {"importance": w[seen]})).X
        assert_allclose(scores[None], alone, atol=1e-7)


# --- clusters ----------------------------------------------------------------------------------------------------


def test_clusters_of_incomplete_samples():
    X, y = load_digits(return_X_y=True)
    X, new, y = X[:1000], X[1000:1300], y[:1000]
    gaps = with_gaps(X, 0.3)
    model = CompressiveClustering(10, random_state=0).fit(gaps)
    assert clustering_error(y, model.labels_) < 0.25
    predicted = model.predict(with_gaps(new, 0.3, seed=1))
    assert np.mean(predicted == model.predict(new)) > 0.8
    again = CompressiveClustering(10, random_state=0, n_jobs=1).fit(gaps)
    assert_array_equal(again.labels_, model.labels_)
    # New samples may have gaps where those of the fit had none.
    complete = CompressiveClustering(10, random_state=0).fit(X)
    assert np.mean(complete.predict(with_gaps(new, 0.1)) == complete.predict(new)) > 0.9


@pytest.mark.parametrize("Estimator", [*RECOVERY, CompressiveClustering])
def test_the_tag_says_so(Estimator):
    assert Estimator().__sklearn_tags__().input_tags.allow_nan


# --- threads -----------------------------------------------------------------------------------------------------


def test_the_same_bits_on_one_thread_and_two():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 6)) @ rng.standard_normal((6, 200)) + rng.standard_normal((2000, 200))
    X = with_gaps(X, 0.3)
    weights = rng.random(2000) + 0.1
    one, two = (
        CompressivePCA(random_state=0, laplacian="normalized", n_jobs=n).fit(X, sample_weight=weights) for n in (1, 2)
    )
    assert_array_equal(one.sample_graph_.weights.data, two.sample_graph_.weights.data)
    assert_array_equal(one.low_rank_.to_array(), two.low_rank_.to_array())
    assert_array_equal(one.transform(X[:50]), two.transform(X[:50]))


def test_the_robust_decoder_of_rarely_observed_features(monkeypatch):
    monkeypatch.setattr("graphlowrank.decoders.robust.BLOCK_ENTRIES", 1000)
    rng = np.random.default_rng(0)
    X = with_gaps(rng.standard_normal((600, 3)) @ rng.standard_normal((3, 30)), 0.9)
    X[0], X[:, 0] = 1.0, rng.standard_normal(600)
    options = {"decoder": "robust", "decoder_options": {"max_iter": 2000}, "downsampling": (1.2, 1.5)}
    model = CompressivePCA(2, random_state=0, gamma_samples=1.0, gamma_features=0.1, **options).fit(X)
    assert np.isfinite(model.low_rank_.to_array()).all()
