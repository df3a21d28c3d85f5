"""The outlier filter finds planted outliers and leaves other entries alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank import CompressivePCA
from graphlowrank.auto.outliers import check_outlier_filter
from graphlowrank.preprocessing.outlier_filter import ends_of_range, fit_outlier_filter
from helpers import salt_and_pepper, with_outliers


@given(seed=st.integers(0, 1000), share=st.sampled_from([0.02, 0.1, 0.2]))
@settings(max_examples=10, deadline=None)
def test_planted_outliers_are_flagged_and_imputed(seed, share):
    X, clean, hit = with_outliers(seed, share=share)
    fitted = fit_outlier_filter(X, np.random.RandomState(0))
    flagged = fitted.flag(X)[0]
    assert flagged[hit].mean() > 0.9
    assert hit[flagged].mean() > 0.9
    imputed = fitted.apply(X)
    assert_array_equal(imputed[~flagged], X[~flagged])
    assert np.median(np.abs(imputed - clean)[hit]) < 0.2  # the noise is 0.1, the errors are 15


@pytest.mark.parametrize("seed", [0, 2])
def test_directions_are_not_fitted_to_the_outliers(seed):
    """Without noise, twenty directions for rank 3 have nothing else to fit."""
    X, _, hit = with_outliers(seed, n=300, p=40, noise=0.0)
    flagged = fit_outlier_filter(X, np.random.RandomState(0)).flag(X)[0]
    assert flagged[hit].mean() > 0.995
    assert hit[flagged].mean() > 0.995


@given(seed=st.integers(0, 1000), power=st.integers(-20, 20))
@settings(max_examples=6, deadline=None)
def test_flags_do_not_depend_on_units(seed, power):
    X, unit = with_outliers(seed, n=120, p=12)[0], 2.0**power
    here, there = (fit_outlier_filter(data, np.random.RandomState(0)) for data in (X, unit * X))
    assert_array_equal(here.flag(X)[0], there.flag(unit * X)[0])
    assert check_outlier_filter(X, 10) == check_outlier_filter(unit * X, 10)


@pytest.mark.parametrize("unit", [1.0, 2.0**20, 2.0**400])
def test_salt_and_pepper_is_flagged_and_values_between_are_not(unit):
    X = unit * with_outliers(n=400)[1]
    S = salt_and_pepper(X)
    fitted = fit_outlier_filter(S, np.random.RandomState(0), at_ends=True)
    flagged, hit = fitted.flag(S)[0], S != X
    assert flagged[hit].mean() > 0.95
    assert hit[flagged].mean() > 0.99
    assert_array_equal(fitted.apply(S)[~flagged], S[~flagged])
    assert np.median(np.abs(fitted.apply(S) - X)[hit]) < 0.2 * unit


def test_an_end_is_a_value_that_several_samples_have(rng):
    X = rng.random((200, 3))
    X[:5, 0], X[:2, 1], X[5:9, 2], X[9:30, 2] = 0.0, 0.0, 1.0, np.nan
    low, high = ends_of_range(X)
    assert_array_equal(low, [0, -np.inf, -np.inf])
    assert_array_equal(high, [np.inf, np.inf, 1])
    flagged = fit_outlier_filter(X, np.random.RandomState(0), at_ends=True).flag(X)[0]
    assert not flagged[:, 1].any()
    assert_array_equal(flagged[9:30, 2], True)


@pytest.mark.parametrize("at_ends", [False, True])
def test_samples_are_filtered_one_by_one(at_ends):
    X = salt_and_pepper(with_outliers()[1]) if at_ends else with_outliers()[0]
    fitted = fit_outlier_filter(X, np.random.RandomState(0), at_ends=at_ends)
    assert_allclose(fitted.apply(X)[::7], fitted.apply(X[::7]), atol=1e-9)


def test_missing_values_are_imputed_and_single_precision_stays():
    X, clean, hit = with_outliers()
    missing = np.random.default_rng(1).random(X.shape) < 0.2
    seen = np.where(missing, np.nan, X).astype(np.float32)
    filled = fit_outlier_filter(seen, np.random.RandomState(0)).apply(seen)
    assert filled.dtype == np.float32
    assert np.median(np.abs(filled - clean)[missing | hit]) < 0.2


@pytest.mark.parametrize("share", [0.0, 0.3, 0.55])
def test_samples_off_the_model_are_not_flagged(share):
    """Five of them have a direction of their own; that is no outlier, however many values are missing."""
    X, _, hit = with_outliers(share=0.03)
    rng = np.random.default_rng(5)
    X[:5] += 4 * rng.standard_normal(30)
    missing = rng.random(X.shape) < share
    X[missing] = np.nan
    flagged = fit_outlier_filter(X, np.random.RandomState(0)).flag(X[:5])[0]
    assert flagged[~(hit | missing)[:5]].mean() < 0.3


def test_features_of_unknown_scale_have_no_outliers():
    X, *_ = with_outliers(n=5000)
    drawn = np.random.RandomState(0).choice(5000, 2000, replace=False)
    others = np.setdiff1d(np.arange(5000), drawn)[:50]
    X[:, 7] = np.nan
    X[others, 7] = 1000.0
    X[:, 8] = 3.0
    X[others, 8] = 4.0
    filled = fit_outlier_filter(X, np.random.RandomState(0)).apply(X)
    assert_array_equal(filled[others][:, [7, 8]], X[others][:, [7, 8]])


@pytest.mark.parametrize(("dtype", "unit"), [(np.float32, 1e15), (np.float64, 1e150), (np.float32, 1e-30)])
def test_squares_do_not_overflow(dtype, unit):
    X, clean, hit = with_outliers()
    fitted = fit_outlier_filter((X * unit).astype(dtype), np.random.RandomState(0))
    assert np.median(np.abs(fitted.apply((X * unit).astype(dtype)) / unit - clean)[hit]) < 0.2
    assert check_outlier_filter((X * unit).astype(dtype), 10).value
    CompressivePCA(3, random_state=0).fit((X * unit).astype(dtype))
    X[3, 4] = 1e30 if dtype == np.float64 else 1e12
    assert np.isfinite(fit_outlier_filter(X.astype(dtype), np.random.RandomState(0)).apply(X.astype(dtype))).all()


def test_a_sample_of_outliers_only_stays_finite():
    X, *_ = with_outliers()
    X[7] = 1e6 * np.random.default_rng(0).standard_normal(30)
    X[8] = np.nan
    X[8, 3] = 0.0
    assert np.isfinite(fit_outlier_filter(X, np.random.RandomState(0)).apply(X)).all()
