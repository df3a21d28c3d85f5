"""Counts by blocks of rows: dense, sparse, with gaps, against numpy on the whole matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank import counts
from graphlowrank.preprocessing.counts import (
    are_counts,
    blocks,
    log_counts,
    log_transform,
    moments,
    most_variable,
    n_missing,
    select_columns,
    size_factors,
    stays_sparse,
)


class Stored:
    """What an array in a file has: a shape, a type, and rows by slices."""

    def __init__(self, X):
        self.X, self.shape, self.dtype = X, X.shape, X.dtype

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        return self.X[rows]


class Itself(Stored):
    """Its rows are no copies."""

    def __getitem__(self, rows):
        return self.X


WAYS = {"dense": np.asarray, "sparse": sp.csr_array, "matrix": sp.csr_matrix, "stored": Stored}


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(counts, "BLOCK_ENTRIES", 20 * 7)  # rows come in blocks of seven


@pytest.fixture(params=WAYS)
def given(request):
    return WAYS[request.param]


def made_up(dtype=float, gaps=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.uniform(0, 3, 20), (60, 20)).astype(dtype)
    if gaps:
        X[rng.random(X.shape) < gaps] = np.nan
    return X


def whole(X):
    return X.toarray() if sp.issparse(X) else X


def parts(values, transform=None):
    return (block for _, block in blocks(values, transform))


# --- what numpy says of the whole ---


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_moments_are_those_of_the_whole(given, gaps):
    X = made_up(gaps=gaps) + 1000 * np.arange(20)  # far from 0: sums of squares alone would lose the variance
    X[20:, 3] = X[:, 3].min() if not gaps else np.nan
    mean, variance = moments(parts(given(X)))
    assert_allclose(mean, np.nanmean(X, axis=0))
    assert_allclose(variance, np.nanvar(X, axis=0), rtol=1e-6)


def test_columns_without_a_value_have_no_variance(given):
    X = made_up()
    X[:, 4] = np.nan
    mean, variance = moments(parts(given(X)))
    assert mean[4] == variance[4] == 0
    assert 4 not in most_variable(parts(given(X)), 19)


def test_the_most_variable_are_those_of_the_whole(given):
    X = made_up()
    assert_array_equal(most_variable(parts(given(X)), 6), np.sort(np.argsort(-X.var(axis=0))[:6]))
    assert_array_equal(most_variable([np.array([[0, 0, 1], [2, 2, 0]])], 1), [0])  # of equals the first


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_logarithms_of_one_depth(given, gaps):
    X = made_up(gaps=gaps) * np.arange(60)[:, None]  # the first sample has no count
    totals = np.nansum(X, axis=1)
    factors = np.where(totals > 0, totals / np.median(totals[totals > 0]), 1)
    assert_allclose(size_factors(given(X)), factors)
    for normalize, wanted in ((True, np.log1p(X / factors[:, None])), (False, np.log1p(X))):
        transform = log_transform(given(X), normalize=normalize)
        assert_allclose(np.vstack([whole(block) for block in parts(given(X), transform)]), wanted)


def test_samples_without_a_count_do_no_harm():
    assert_array_equal(size_factors(np.array([[0, 0], [2, 2], [0, 0]])), [1, 1, 1])
    assert_array_equal(size_factors(np.zeros((2, 2))), [1, 1])


def test_what_is_missing_is_counted(given):
    X = made_up(gaps=0.3)
    found = [n_missing(block) for _, block in blocks(given(X))]
    assert_array_equal(np.concatenate([rows for rows, _ in found]), np.isnan(X).sum(axis=1))
    assert_array_equal(np.sum([columns for _, columns in found], axis=0), np.isnan(X).sum(axis=0))


@pytest.mark.parametrize(
    ("change", "answer"),
    [(None, True), (np.nan, True), (0.5, False), (-1, False), (np.inf, False), (1e300, True)],
)
def test_what_counts_are(given, change, answer):
    X = made_up()
    if change is not None:
        X[50, 2] = change  # not in the first block
    assert are_counts(given(X)) is answer


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64])
def test_whole_numbers_are_counts_unless_negative(given, dtype):
    X = made_up(dtype)
    assert are_counts(given(X))
    if dtype is np.int64:
        assert not are_counts(given(X - 1))


# --- one matrix of the chosen ---


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("columns", [None, np.array([1, 5, 19])])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int64])
def test_chosen_columns_dense_or_sparse(given, keep, columns, dtype):
    X = made_up(dtype)
    values = given(X)
    found = select_columns(values, log_transform(values, normalize=False), columns, keep_sparse=keep)
    assert isinstance(found, sp.csr_array) == (keep and sp.issparse(values))
    assert found.dtype == (np.float32 if dtype in (np.float32, np.uint8) else np.float64)
    assert_allclose(whole(found), np.log1p((X if columns is None else X[:, columns]).astype(float)), rtol=1e-6)


def test_where_nothing_is_to_be_done_nothing_is_copied():
    X = made_up()
    assert select_columns(X, None, None) is X
    S = sp.csr_matrix(X)
    kept = select_columns(S, None, None, keep_sparse=True)
    assert isinstance(kept, sp.csr_array)
    assert np.shares_memory(kept.data, S.data)
    assert_array_equal(select_columns(S, None, None, keep_sparse=False), X)


def test_what_is_handed_on_sparse():
    X, gaps = made_up(), made_up(gaps=0.3)
    for values in (sp.csr_array(X), Stored(sp.csr_array(X))):
        assert stays_sparse(values)
    assert not stays_sparse(sp.csr_array(gaps))  # estimators take gaps in dense matrices
    assert not stays_sparse(X)


def test_what_is_given_stays_as_it_is():
    X = made_up(np.float32)
    S = sp.csr_array(X)
    for array in (X, S.data, S.indices, S.indptr):
        array.flags.writeable = False
    for values in (X, S):
        are_counts(values)
        transform = log_transform(values, normalize=True)
        select_columns(values, transform, most_variable(parts(values, transform), 5), keep_sparse=True)
        assert log_counts(values, np.full(60, 2.0)).dtype == np.float32
    assert_array_equal(S.toarray(), X)


def test_entries_stored_twice_are_one_value():
    twice = sp.csr_array((np.array([1.0, 2.0, 5.0]), np.array([3, 3, 0]), np.array([0, 2, 3])), shape=(2, 20))
    before = [part.copy() for part in (twice.data, twice.indices, twice.indptr)]
    X = np.zeros((2, 20))
    X[0, 3], X[1, 0] = 3, 5
    assert_allclose(select_columns(twice, log_transform(twice, normalize=False), None, keep_sparse=False), np.log1p(X))
    assert_allclose(moments(parts(twice))[1], X.var(axis=0))
    assert_allclose(moments(parts(Itself(twice)))[1], X.var(axis=0))
    for part, old in zip((twice.data, twice.indices, twice.indptr), before, strict=True):
        assert_array_equal(part, old)
