"""Noise that is put in on purpose."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from graphlowrank.datasets.corruptions import (
    gaussian_noise,
    laplacian_noise,
    missing_entries,
    occluding_blocks,
    sparse_noise,
)

shares = st.floats(0, 1)
seeds = st.integers(0, 2**32 - 1)


def blocks(X, share, **options):
    """Occlude images of 3 x 4 pixels."""
    return occluding_blocks(X, (3, 4), share, **options)


def between_its_extremes(n_samples, n_features, seed=0):
    """Last sample holds the extremes 0 and 1; all others are strictly between, so that every hit shows."""
    X = np.random.default_rng(seed).uniform(0.25, 0.75, size=(n_samples, n_features))
    X[-1, 0], X[-1, 1] = 0, 1
    return X


# --- all kinds ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("corrupt", [gaussian_noise, laplacian_noise, sparse_noise, blocks, missing_entries])
@given(share=shares, seed=seeds, dtype=st.sampled_from([np.float32, np.float64, np.int64]))
def test_input_stays_and_output_repeats(corrupt, share, seed, dtype):
    X = (10 * between_its_extremes(5, 12)).astype(dtype)
    before = X.copy()
    X.flags.writeable = False
    first = corrupt(X, share, random_state=seed)
    assert_array_equal(X, before)
    assert not np.shares_memory(first, X)
    assert first.shape == X.shape
    adds = corrupt in (gaussian_noise, laplacian_noise)
    expected = bool if corrupt is missing_entries else np.float64 if adds and dtype == np.int64 else dtype
    assert first.dtype == expected
    assert_array_equal(corrupt(X, share, random_state=seed), first)


@pytest.mark.parametrize("corrupt", [gaussian_noise, laplacian_noise, sparse_noise, blocks])
def test_nothing_of_it_changes_nothing(corrupt):
    X = between_its_extremes(10, 12)
    assert_array_equal(corrupt(X, 0, random_state=0), X)


@pytest.mark.parametrize("corrupt", [gaussian_noise, laplacian_noise, sparse_noise, blocks, missing_entries])
def test_seeds_differ(corrupt):
    X = between_its_extremes(10, 12)
    assert np.any(corrupt(X, 0.3, random_state=0) != corrupt(X, 0.3, random_state=1))


@pytest.mark.parametrize("corrupt", [sparse_noise, blocks, missing_entries])
@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_is_between_0_and_1(corrupt, share):
    with pytest.raises(ValueError, match="share must be between 0 and 1"):
        corrupt(np.ones((2, 12)), share)


# --- dense --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("corrupt", [gaussian_noise, laplacian_noise])
@given(level=st.floats(0.05, 2), scale=st.floats(0.1, 100), shift=st.floats(-10, 10), seed=seeds)
@settings(max_examples=20, deadline=None)
def test_level_is_in_deviations_of_the_data(corrupt, level, scale, shift, seed):
    X = shift + scale * np.random.default_rng(0).standard_normal((300, 200)) * np.linspace(0, 2, 200)
    errors = (corrupt(X, level, random_state=seed) - X) / X.std()
    # Six standard errors: that of a deviation is sqrt((kurtosis - 1) / 4 n), 0.7 and 1.1 over sqrt(n).
    assert errors.std() == pytest.approx(level, rel=6 * 1.2 / np.sqrt(X.size))
    assert errors.mean() == pytest.approx(0, abs=6 * level / np.sqrt(X.size))
    # Not in deviations of each feature, which differ.
    assert errors[:, 0].std() == pytest.approx(level, rel=6 * 1.2 / np.sqrt(300))


def test_the_two_kinds_have_their_own_tails():
    X = np.tile([-1.0, 1.0], (100, 1000))
    normal, laplacian = (corrupt(X, 1.0, random_state=0) - X for corrupt in (gaussian_noise, laplacian_noise))
    for errors, beyond_two in ((normal, 0.0455), (laplacian, np.exp(-2 * np.sqrt(2)))):
        assert np.mean(np.abs(errors) > 2) == pytest.approx(beyond_two, abs=0.004)
    assert np.mean(normal**4) == pytest.approx(3, rel=0.05)
    assert np.mean(laplacian**4) == pytest.approx(6, rel=0.1)


@pytest.mark.parametrize("corrupt", [gaussian_noise, laplacian_noise])
def test_single_precision_gets_the_same_noise(corrupt):
    X = between_its_extremes(20, 12)
    single = corrupt(X.astype(np.float32), 0.2, random_state=0)
    assert np.abs(single - corrupt(X, 0.2, random_state=0)).max() < 1e-6


@pytest.mark.parametrize("corrupt", [gaussian_noise, laplacian_noise])
@pytest.mark.parametrize("level", [-0.1, float("nan"), float("inf")])
def test_a_level_is_a_number(corrupt, level):
    with pytest.raises(ValueError, match="level must be a number >= 0"):
        corrupt(np.eye(3), level)


# --- sparse -------------------------------------------------------------------------------------------------------


@given(n_samples=st.integers(1, 8), n_features=st.integers(2, 40), share=shares, seed=seeds)
def test_each_sample_loses_the_same_number_of_entries(n_samples, n_features, share, seed):
    X = between_its_extremes(n_samples + 1, n_features)
    hit = sparse_noise(X, share, random_state=seed) != X
    assert_array_equal(hit[:-1].sum(axis=1), round(share * n_features))
    missing = ~missing_entries(X, share, random_state=seed)
    assert_array_equal(missing.sum(axis=1), round(share * n_features))


def test_hits_are_black_or_white_in_equal_parts_and_fall_everywhere():
    X = between_its_extremes(4001, 20)
    noisy = sparse_noise(X, 0.3, random_state=0)[:-1]
    hit = noisy != X[:-1]
    assert set(np.unique(noisy[hit])) == {0.0, 1.0}
    assert noisy[hit].mean() == pytest.approx(0.5, abs=0.02)
    assert np.all(np.abs(hit.mean(axis=0) - 0.3) < 0.05)


def test_missing_entries_are_everywhere_and_may_go_missing_twice():
    X = between_its_extremes(4000, 20)
    observed = missing_entries(X, 0.3, random_state=0)
    assert np.all(np.abs(observed.mean(axis=0) - 0.7) < 0.05)
    with_gaps = np.where(observed, X, np.nan)
    assert_array_equal(missing_entries(with_gaps, 0.3, random_state=0), observed)


# --- blocks -------------------------------------------------------------------------------------------------------


@given(height=st.integers(1, 9), width=st.integers(1, 9), share=shares, seed=seeds)
def test_one_block_of_each_image_is_covered(height, width, share, seed):
    X = np.zeros((6, height * width))
    covered = occluding_blocks(X, (height, width), share, value=1, random_state=seed).reshape(-1, height, width) == 1
    sides = round(np.sqrt(share) * height), round(np.sqrt(share) * width)
    for image in covered:
        assert image.sum() == np.prod(sides)
        if image.any():
            rows, columns = (np.flatnonzero(image.any(axis=axis)) for axis in (1, 0))
            assert (np.ptp(rows) + 1, np.ptp(columns) + 1) == sides


def test_blocks_fall_everywhere_and_are_white_unless_told():
    X = between_its_extremes(3000, 30)
    white = occluding_blocks(X, (5, 6), 0.1, random_state=0)
    hit = white != X
    assert np.all(hit.any(axis=0))
    assert np.all(white[hit] == 1)
    black = occluding_blocks(X, (5, 6), 0.1, value=0, random_state=0)
    assert_array_equal((black != X)[:-1], hit[:-1])
    assert len({tuple(row) for row in hit[:-1]}) == 20  # 2 x 2 pixels: 4 places down, 5 across


@pytest.mark.parametrize("image_shape", [(5, 5), (0, 12), (-3, -4)])
def test_images_must_fit(image_shape):
    with pytest.raises(ValueError, match="does not hold the 12 pixels"):
        occluding_blocks(np.ones((2, 12)), image_shape, 0.1)
