from dataclasses import replace

import numpy as np
import pytest

from graphlowrank.linalg.optimal_shrinkage import Spectrum
from graphlowrank.models.denoise import denoise
from graphlowrank.models.denoise_rows import Moments, RowDenoiser


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    C = rng.standard_normal((900, 4)) @ rng.standard_normal((4, 40))
    return C, C + 0.5 * rng.standard_normal(C.shape)


@pytest.fixture(scope="module")
def denoiser(data):
    X = data[1][:600]
    return RowDenoiser(denoise(X, X, np.random.RandomState(0)), float(np.ptp(X)))


def test_rows_that_were_learned_from_are_shrunk_alike(data, denoiser):
    first = denoiser.first
    found = denoiser.shrink(first.filled, first.base)
    np.testing.assert_allclose(found, first.spectrum.matrix(), atol=1e-6)


def test_new_rows_are_denoised_as_well(data, denoiser):
    C, X = data
    filled, base = denoiser.complete(X[600:], denoiser.guess(X[600:]))
    new = np.sqrt(np.mean((denoiser.shrink(filled, base) - C[600:]) ** 2))
    assert new == pytest.approx(denoiser.first.error, rel=0.15)


def with_outliers_and_missing(data, rows):
    C, X = (one[rows] for one in data)
    rng = np.random.default_rng(1)
    wrong, missing = rng.random(X.shape) < 0.05, rng.random(X.shape) < 0.1
    X = np.where(wrong, rng.choice([-9, 9], X.shape), X)
    X[missing] = np.nan
    return C, X, wrong, missing


def test_outliers_and_missing_entries_of_new_rows_are_replaced(data):
    first = with_outliers_and_missing(data, slice(600))[1]
    denoiser = RowDenoiser(denoise(first, np.zeros_like(first), np.random.RandomState(0)), float(np.nanmax(first) * 2))
    assert denoiser.first.share > 0.03
    C, X, wrong, missing = with_outliers_and_missing(data, slice(600, None))
    for filled in (denoiser.guess(X), denoiser.complete(X, denoiser.guess(X))[0]):
        replaced = missing | (wrong & (np.abs(X - C) > 4))
        assert np.sqrt(np.mean((filled - C)[replaced] ** 2)) < 0.5
        right = ~missing & ~wrong
        assert np.mean(np.abs(filled - X)[right] > 0.8) < 0.01


def test_only_suspects_of_new_rows_are_replaced(data, denoiser):
    _, X, _, missing = with_outliers_and_missing(data, slice(600, None))
    suspects = np.zeros(X.shape, dtype=bool)
    kept, _ = denoiser.complete(X, denoiser.guess(X, suspects), suspects)
    np.testing.assert_array_equal(kept[~missing], X[~missing])
    signal = RowDenoiser(replace(denoiser.first, only_signal=True), denoiser.width)
    np.testing.assert_array_equal(signal.complete(X, signal.guess(X))[0][~missing], X[~missing])


def test_all_rows_teach_more_than_some():
    """Learned from all rows, the shrinkage is that of their singular values, which is closer to the clean matrix."""
    rng = np.random.default_rng(0)
    C = rng.standard_normal((6000, 6)) @ rng.standard_normal((6, 60))
    X = C + 3 * rng.standard_normal(C.shape)
    some = X[:100]
    denoiser = RowDenoiser(denoise(some, some, np.random.RandomState(0)), float(np.ptp(some)))
    before = np.linalg.norm(denoiser.shrinkage.of(X) - C)
    for rows in np.array_split(np.arange(100, 6000), 5):
        denoiser.add(X[rows], np.zeros_like(X[rows]))
    denoiser.learn()
    after = denoiser.shrinkage.of(X)
    assert np.linalg.norm(after - C) < 0.85 * before
    known = Spectrum.of(np.vstack([denoiser.first.filled, X[100:]])).shrunk(denoiser.first.noise)
    np.testing.assert_allclose(after[100:], known.matrix()[100:], atol=1e-8)


@pytest.mark.parametrize("mean", [0.0, 1e6])
def test_moments_are_those_of_all_rows(mean):
    X = np.random.default_rng(0).standard_normal((50, 4)) + mean
    moments = Moments(X[0])
    for part in np.array_split(X, 3):
        moments.add(part)
    center, eigenvalues, vectors = moments.decompose()
    np.testing.assert_allclose(center, X.mean(axis=0))
    np.testing.assert_allclose(vectors * eigenvalues @ vectors.T, np.cov(X.T, bias=True), atol=1e-8)


def test_each_row_is_treated_on_its_own(data, denoiser):
    X = data[1][600:]
    whole = denoiser._base(X)
    np.testing.assert_allclose(denoiser._base(X[::2]), whole[::2])
