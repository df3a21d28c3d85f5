"""The residual of a low-rank matrix, and its outliers."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank import CompressivePCA
from graphlowrank.metrics.residuals import CUTOFF, Residual, find_outliers, residual_size

N_ROWS = 45


def make_matrix():
    """Rank two, with one entry in twenty an outlier."""
    rng = np.random.default_rng(0)
    clean = rng.standard_normal((N_ROWS, 2)) @ rng.standard_normal((2, 12)) + 4
    return clean, np.where(rng.random(clean.shape) < 0.05, 9.0, clean)


def incomplete():
    """Data with zeros and missing values, and a low-rank matrix."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((N_ROWS, 12)) < 0.4, make_matrix()[1], 0.0)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 0] = np.arange(N_ROWS)  # every sample has a value
    return X, make_matrix()[0]


def test_a_residual_is_computed_where_it_is_asked_for():
    _, X = make_matrix()
    low_rank = CompressivePCA(2, random_state=0, n_jobs=1).fit(X).low_rank_
    residual = Residual(X, low_rank)
    whole = X - low_rank.to_array()
    assert residual.shape == X.shape
    for index in (slice(3, 7), (slice(None), slice(2, 5))):
        assert_allclose(residual[index], whole[index], atol=1e-12)
    left = residual_size(residual, low_rank.offset)
    assert_allclose(left.of_samples, np.linalg.norm(whole, axis=1))
    assert left.relative == pytest.approx(np.linalg.norm(whole) / np.linalg.norm(X - low_rank.offset))
    assert_array_equal(X, make_matrix()[1])


@pytest.fixture
def few_rows(monkeypatch):
    monkeypatch.setattr("graphlowrank.preprocessing.counts.BLOCK_ENTRIES", 12 * 7)


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("sparse", [False, True])
def test_a_residual_ignores_missing_values(sparse):
    X, low_rank = incomplete()
    residual = Residual(sp.csr_array(X) if sparse else X, low_rank)
    known = ~np.isnan(X)
    for index in (slice(3, 7), (slice(None), slice(2, 5))):
        assert_array_equal(residual[index], (X - low_rank)[index])
    offset = np.arange(12.0)
    left = residual_size(residual, offset)
    errors = np.where(known, X - low_rank, 0)
    assert_allclose(left.of_samples, np.linalg.norm(errors, axis=1))
    assert left.relative == pytest.approx(np.linalg.norm(errors) / np.linalg.norm((X - offset)[known]))
    medians = [np.nanmedian(np.abs(X - low_rank)[a : a + 7]) for a in range(0, N_ROWS, 7)]
    assert left.typical == pytest.approx(np.median(medians))


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("sparse", [False, True])
def test_outliers_are_those_far_beyond_the_noise_of_their_feature(sparse):
    rng = np.random.default_rng(0)
    noise = np.array([0.1, 1.0, 10.0])
    X = rng.standard_normal((500, 3)) * noise
    planted = [(7, 0), (100, 1), (101, 2)]
    for size, (row, column) in zip((9.0, -8.0, 7.0), planted, strict=True):
        X[row, column] = size * noise[column]
    X[3, 1] = np.nan
    found = find_outliers(Residual(sp.csr_array(X) if sparse else X, np.zeros((500, 3))), n_largest=2)
    assert_allclose(found.noise, noise, rtol=0.15)
    assert_array_equal(found.flagged, [1, 1, 1])
    assert_array_equal(found.missing, [0, 1, 0])
    assert [place for _, *place in found.largest] == [list(place) for place in planted[:2]]
    assert_allclose([size for size, *_ in found.largest], [9, -8], rtol=0.15)


def test_features_without_noise_have_the_limit_of_the_others():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4)) * [1, 1, 1, 100]  # the last is recovered exactly, but for two entries
    low_rank = X.copy()
    low_rank[:, :3] += np.where(np.arange(400)[:, None] % 2, 0.1, -0.1)
    limit = 0.3 * 0.14826 / X[:, :3].std(axis=0).mean() * X[:, 3].std() * CUTOFF
    low_rank[0, 3] -= 1.2 * limit
    low_rank[1, 3] -= 0.8 * limit
    assert_array_equal(find_outliers(Residual(X, low_rank)).flagged, [0, 0, 0, 1])
    assert_array_equal(find_outliers(Residual(np.zeros((5, 2)), np.zeros((5, 2)))).flagged, [0, 0])
    assert find_outliers(Residual(np.full((5, 2), np.nan), np.zeros((5, 2)))).missing.sum() == 10


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_outliers_do_not_depend_on_units(unit):
    clean, X = make_matrix()
    clean = clean + 0.05 * np.random.default_rng(1).standard_normal(clean.shape)
    units = np.r_[np.full(6, unit), np.ones(6)]
    found, scaled = find_outliers(Residual(X, clean)), find_outliers(Residual(X * units, clean * units))
    assert found.flagged.sum() == scaled.flagged.sum() > 10
    assert_array_equal(found.flagged, scaled.flagged)
    assert_allclose(scaled.noise, units * found.noise)


def test_nonzero_entries_of_sparse_counts_are_no_outliers():
    """The median of residuals is that of zeros: nonzero entries have a noise of their own."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((400, 5)) < 0.1, rng.normal(6, 0.5, (400, 5)), 0.0)
    X[7, 2], X[9, 3] = 400, np.nan
    low_rank = np.where(X == 0, 1e-7 * rng.random(X.shape), 5.0)
    found = find_outliers(Residual(sp.csr_array(X), low_rank))
    assert_array_equal(found.flagged, [0, 0, 1, 0, 0])
    assert [(row, column) for _, row, column in found.largest] == [(7, 2)]
    dense = find_outliers(Residual(X, low_rank))  # a background of zeros: what is not zero is an outlier
    assert_array_equal(dense.flagged, (np.nan_to_num(X) != 0).sum(axis=0))
    single = np.zeros((3000, 1))
    single[2] = 1  # not among the rows of which the noise is estimated
    assert find_outliers(Residual(sp.csr_array(single), np.full((3000, 1), 1e-6))).flagged == 0
