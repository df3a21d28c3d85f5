import numpy as np
import pytest

from graphlowrank.models.denoise import denoise
from graphlowrank.models.denoise_rows import RowDenoiser


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
    learned = denoiser.learned
    found = denoiser.shrink(learned.filled, learned.base)
    np.testing.assert_allclose(found, learned.spectrum.matrix(), atol=1e-6)


def test_new_rows_are_denoised_as_well(data, denoiser):
    C, X = data
    filled, base = denoiser.complete(X[600:], X[600:])
    new = np.sqrt(np.mean((denoiser.shrink(filled, base) - C[600:]) ** 2))
    assert new == pytest.approx(denoiser.learned.error, rel=0.15)


def test_outliers_and_missing_entries_of_new_rows_are_replaced(data, denoiser):
    C, X = data
    rng = np.random.default_rng(1)
    X, wrong, missing = X[600:].copy(), rng.random((300, 40)) < 0.05, rng.random((300, 40)) < 0.1
    X[wrong] = rng.choice([-9, 9], np.count_nonzero(wrong))
    X[missing] = np.nan
    filled, _ = denoiser.complete(X, np.where(missing | wrong, 0, X))
    replaced = missing | (wrong & (np.abs(X - C[600:]) > 4))
    assert np.sqrt(np.mean((filled - C[600:])[replaced] ** 2)) < 0.5
    right = ~missing & ~wrong
    assert np.mean(np.abs(filled - X)[right] > 0.8) < 0.01
    suspects = np.zeros(X.shape, dtype=bool)
    kept, _ = denoiser.complete(X, np.where(missing, 0, X), suspects)
    np.testing.assert_array_equal(kept[~missing], X[~missing])


def test_each_row_is_treated_on_its_own(data, denoiser):
    X = data[1][600:]
    whole = denoiser._base(X)
    np.testing.assert_allclose(denoiser._base(X[::2]), whole[::2])
