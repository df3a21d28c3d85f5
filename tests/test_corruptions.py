"""Noise that is put in on purpose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from graphlowrank.datasets.corruptions import sparse_noise

shares = st.floats(0, 1)
seeds = st.integers(0, 2**32 - 1)


def between_its_extremes(n_samples, n_features, seed=0):
    """Last sample holds the extremes 0 and 1; all others are strictly between, so that every hit shows."""
    X = np.random.default_rng(seed).uniform(0.25, 0.75, size=(n_samples, n_features))
    X[-1, 0], X[-1, 1] = 0, 1
    return X


@given(n_samples=st.integers(1, 8), n_features=st.integers(2, 40), share=shares, seed=seeds)
def test_each_sample_loses_the_same_number_of_entries(n_samples, n_features, share, seed):
    X = between_its_extremes(n_samples + 1, n_features)
    hit = sparse_noise(X, share, random_state=seed) != X
    assert_array_equal(hit[:-1].sum(axis=1), round(share * n_features))


@given(share=shares, seed=seeds, dtype=st.sampled_from([np.float32, np.float64, np.int64]))
def test_input_stays_and_output_repeats(share, seed, dtype):
    X = (10 * between_its_extremes(5, 12)).astype(dtype)
    before = X.copy()
    X.flags.writeable = False
    first = sparse_noise(X, share, random_state=seed)
    assert_array_equal(X, before)
    assert not np.shares_memory(first, X)
    assert first.dtype == dtype
    assert_array_equal(sparse_noise(X, share, random_state=seed), first)


def test_hits_are_black_or_white_in_equal_parts_and_fall_everywhere():
    X = between_its_extremes(4001, 20)
    noisy = sparse_noise(X, 0.3, random_state=0)[:-1]
    hit = noisy != X[:-1]
    assert set(np.unique(noisy[hit])) == {0.0, 1.0}
    assert noisy[hit].mean() == pytest.approx(0.5, abs=0.02)
    assert np.all(np.abs(hit.mean(axis=0) - 0.3) < 0.05)


def test_seeds_differ():
    X = between_its_extremes(10, 20)
    assert np.any(sparse_noise(X, 0.5, random_state=0) != sparse_noise(X, 0.5, random_state=1))


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_between_0_and_1(share):
    with pytest.raises(ValueError, match="share must be between 0 and 1"):
        sparse_noise(np.eye(3), share)
