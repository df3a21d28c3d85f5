"""Statistics of the observed entries."""

import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank.preprocessing.missing import column_mean, column_median, has_missing
from graphlowrank.preprocessing.scaling import mean_and_std
from helpers import with_missing


@given(seed=st.integers(0, 10_000), share=st.floats(0, 0.6))
@settings(max_examples=40, deadline=None)
def test_statistics_are_those_of_the_observed_entries(seed, share):
    X = with_missing(np.random.default_rng(seed).standard_normal((15, 6)), share, seed)
    X[0], X[1], X[:, 0] = 1.0, 2.0, 3.0
    w = np.random.default_rng(seed).random(15)
    assert_allclose(column_mean(X), np.nanmean(X, axis=0))
    assert_allclose(column_median(X), np.nanmedian(X, axis=0))
    expected = [np.average(column[~np.isnan(column)], weights=w[~np.isnan(column)]) for column in X.T]
    assert_allclose(column_mean(X, w), expected)
    for axis in (0, 1):
        mean, std = mean_and_std(X, axis)
        assert_allclose(mean, np.nanmean(X, axis=axis, keepdims=True), atol=1e-12)
        assert_allclose(std, np.nanstd(X, axis=axis, keepdims=True), atol=1e-12)


def test_missing_values_are_noticed():
    X = np.ones((4, 3))
    assert not has_missing(X)
    assert not has_missing(np.array([[1e308, 1e308], [-1e308, -1e308]]))
    assert not has_missing(np.array([[np.inf, -np.inf]]))
    X[2, 1] = np.nan
    assert has_missing(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(column_mean(np.array([[np.nan, 2.0], [np.nan, 4.0]])), [3, 3])
        assert_array_equal(column_median(np.array([[np.nan, 2.0], [np.nan, 4.0]])), [3, 3])
