"""Gross errors put aside before points are compared: planted ones, clean data, and what graphs gain."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

import graphlowrank
from graphlowrank import CompressiveClustering, CompressivePCA, FastRobustPCAOnGraphs
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.graphs.search import nearest_neighbors
from graphlowrank.metrics import clustering_error, recovery_error
from graphlowrank.preprocessing.outliers import judge, learn_sieve


def spoilt(seed=0, *, n=400, p=30, share=0.05, noise=0.1, size=15):
    """Rank 3 with noise and with gross errors, without them, and where they are."""
    rng = np.random.default_rng(seed)
    clean = rng.standard_normal((n, 3)) @ rng.standard_normal((3, p)) + noise * rng.standard_normal((n, p))
    hit = rng.random(clean.shape) < share
    return np.where(hit, clean + size * rng.choice([-1, 1], clean.shape), clean), clean, hit


def chosen(model):
    return {choice.name: choice.value for choice in model.report_.choices}["robust_graphs"]


# --- the sieve


@given(seed=st.integers(0, 1000), share=st.sampled_from([0.02, 0.1, 0.2]))
@settings(max_examples=10, deadline=None)
def test_planted_errors_are_found_and_guessed(seed, share):
    X, clean, hit = spoilt(seed, share=share)
    sieve = learn_sieve(X, np.random.RandomState(0))
    aside = sieve.aside(X)
    assert aside[hit].mean() > 0.9
    assert hit[aside].mean() > 0.9
    guessed = sieve.apply(X)
    assert_array_equal(guessed[~aside], X[~aside])
    assert np.median(np.abs(guessed - clean)[hit]) < 0.2  # the noise is 0.1, the errors are 15


@pytest.mark.parametrize("seed", [0, 2])
def test_directions_do_not_fit_themselves_to_the_errors(seed):
    """Without noise, twenty directions for rank 3 have nothing else to fit."""
    X, _, hit = spoilt(seed, n=300, p=40, noise=0.0)
    aside = learn_sieve(X, np.random.RandomState(0)).aside(X)
    assert aside[hit].mean() > 0.995
    assert hit[aside].mean() > 0.995


@given(seed=st.integers(0, 1000), power=st.integers(-20, 20))
@settings(max_examples=6, deadline=None)
def test_units_do_not_matter(seed, power):
    X, unit = spoilt(seed, n=120, p=12)[0], 2.0**power
    here, there = (learn_sieve(data, np.random.RandomState(0)) for data in (X, unit * X))
    assert_array_equal(here.aside(X), there.aside(unit * X))
    assert judge(X, 10) == judge(unit * X, 10)


def test_samples_have_no_say_on_one_another():
    X, *_ = spoilt()
    sieve = learn_sieve(X, np.random.RandomState(0))
    assert_allclose(sieve.apply(X)[::7], sieve.apply(X[::7]), atol=1e-9)


def test_gaps_are_filled_by_the_way_and_single_precision_stays():
    X, clean, hit = spoilt()
    gaps = np.random.default_rng(1).random(X.shape) < 0.2
    seen = np.where(gaps, np.nan, X).astype(np.float32)
    filled = learn_sieve(seen, np.random.RandomState(0)).apply(seen)
    assert filled.dtype == np.float32
    assert np.median(np.abs(filled - clean)[gaps | hit]) < 0.2


@pytest.mark.parametrize("share", [0.0, 0.3, 0.55])
def test_samples_the_model_does_not_know_are_left_alone(share):
    """Five of them have a direction of their own; it is no error, whatever else is missing."""
    X, _, hit = spoilt(share=0.03)
    rng = np.random.default_rng(5)
    X[:5] += 4 * rng.standard_normal(30)
    gaps = rng.random(X.shape) < share
    X[gaps] = np.nan
    aside = learn_sieve(X, np.random.RandomState(0)).aside(X[:5])
    assert aside[~(hit | gaps)[:5]].mean() < 0.3


def test_what_was_not_seen_is_not_an_error():
    X, *_ = spoilt(n=5000)
    drawn = np.random.RandomState(0).choice(5000, 2000, replace=False)
    others = np.setdiff1d(np.arange(5000), drawn)[:50]
    X[:, 7] = np.nan
    X[others, 7] = 1000.0
    X[:, 8] = 3.0
    X[others, 8] = 4.0
    filled = learn_sieve(X, np.random.RandomState(0)).apply(X)
    assert_array_equal(filled[others][:, [7, 8]], X[others][:, [7, 8]])


@pytest.mark.parametrize(("dtype", "unit"), [(np.float32, 1e15), (np.float64, 1e150), (np.float32, 1e-30)])
def test_squares_do_not_leave_the_range_of_numbers(dtype, unit):
    X, clean, hit = spoilt()
    sieve = learn_sieve((X * unit).astype(dtype), np.random.RandomState(0))
    assert np.median(np.abs(sieve.apply((X * unit).astype(dtype)) / unit - clean)[hit]) < 0.2
    assert judge((X * unit).astype(dtype), 10).present
    CompressivePCA(3, random_state=0).fit((X * unit).astype(dtype))
    X[3, 4] = 1e30 if dtype == np.float64 else 1e12
    assert np.isfinite(learn_sieve(X.astype(dtype), np.random.RandomState(0)).apply(X.astype(dtype))).all()


def test_a_sample_of_errors_alone_is_survived():
    X, *_ = spoilt()
    X[7] = 1e6 * np.random.default_rng(0).standard_normal(30)
    X[8] = np.nan
    X[8, 3] = 0.0
    assert np.isfinite(learn_sieve(X, np.random.RandomState(0)).apply(X)).all()


# --- the verdict


@pytest.mark.parametrize("seed", range(6))
def test_clean_data_are_left_alone(seed):
    _, clean, _ = spoilt(seed)
    assert not judge(clean, 10).present
    assert not judge(np.random.default_rng(seed).standard_normal((300, 20)), 10).present
    assert not judge(np.random.default_rng(seed).lognormal(size=(300, 20)), 10).present  # heavy tails are no errors


def test_verdicts_on_digits():
    X = load_digits().data
    assert not judge(X, 10).present
    hit = np.random.default_rng(0).random(X.shape) < 0.05
    noise = 5 * X.std() * np.random.default_rng(1).standard_normal(X.shape)
    verdict = judge(np.where(hit, X + noise, X), 10)
    assert verdict.present
    assert "predict hidden entries better by" in verdict.reason


@pytest.mark.parametrize(("seed", "size"), [(0, 15), (1, 100), (2, 1e3), (3, 1e4), (4, 1e6)])
def test_with_errors_neighbours_are_found_that_distances_miss(seed, size):
    X, clean, _ = spoilt(seed, size=size)
    assert judge(X, 10).present
    true, plain, sifted = (
        nearest_neighbors(points, 10, engine="exact")[1]
        for points in (clean, X, learn_sieve(X, np.random.RandomState(0)).apply(X))
    )
    found = [np.mean([len(set(a) & set(b)) for a, b in zip(true, these, strict=True)]) for these in (plain, sifted)]
    assert found[0] < 5
    assert found[1] > 8


def test_little_is_not_judged():
    assert "too few" in judge(spoilt(n=30)[0], 5).reason
    assert "too few" in judge(np.ones((100, 10)), 5).reason
    wide = np.zeros((60, 5000), dtype=np.float32)
    assert "more than 4000 features" in judge(wide, 5).reason


# --- estimators


def test_recovery_gains():
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
def test_clean_data_get_the_answer_they_had(Estimator):
    X = load_digits().data[:400]
    auto, off = (Estimator(5, robust_graphs=robust, random_state=0).fit(X) for robust in ("auto", False))
    assert chosen(auto) is chosen(off) is False
    assert_array_equal(auto.sample_graph_.weights.data, off.sample_graph_.weights.data)
    assert "filling" not in auto.stage_seconds_


def test_new_samples_with_errors_are_told_their_cluster(tmp_path):
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


def test_graphs_that_are_given_are_not_judged():
    X, *_ = spoilt(n=100)
    X[3, 4] = np.nan
    given = {"sample_graph": np.ones((100, 100)), "feature_graph": None}
    model = CompressivePCA(3, **given).fit(X)
    assert chosen(model) is False
    assert not {"gross errors", "filling"} & set(model.stage_seconds_)
    assert CompressiveClustering(3, **given).fit(X).predict(X).shape == (100,)


def test_sparse_data_are_compared_as_they_are():
    X = sp.random_array((100, 20), density=0.2, rng=0, format="csr")
    assert chosen(CompressivePCA(3).fit(X)) is False
    with pytest.raises(ValueError, match="robust_graphs=True is for dense data"):
        CompressivePCA(3, robust_graphs=True).fit(X)


@pytest.mark.parametrize("size", [30, 1000])
def test_clusters_survive_errors_of_any_size(size):
    rng = np.random.default_rng(0)
    y = rng.integers(4, size=600)
    clean = 2 * rng.standard_normal((4, 30))[y] + 0.5 * rng.standard_normal((600, 30))
    X = np.where(rng.random(clean.shape) < 0.1, size * rng.standard_normal(clean.shape), clean)
    assert clustering_error(y, CompressiveClustering(4, random_state=0).fit_predict(X)) < 0.02
    assert clustering_error(y, CompressiveClustering(4, robust_graphs=False, random_state=0).fit_predict(X)) > 0.2


@pytest.mark.parametrize("bad", ["yes", 1, None])
def test_other_values_are_refused(bad):
    with pytest.raises(ValueError, match="robust_graphs must be True, False or 'auto'"):
        CompressivePCA(robust_graphs=bad).fit(np.eye(20))
