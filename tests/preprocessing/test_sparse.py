"""ShiftedSparse: the arithmetic of the dense matrix it represents."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank.linalg.svd import sketched_directions
from graphlowrank.preprocessing.scaling import mean_and_std, standardize
from graphlowrank.preprocessing.sparse import as_shifted_sparse
from helpers import shifted_sparse, sparse_counts


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_arithmetic_is_that_of_the_dense_matrix(seed):
    X = shifted_sparse(seed)
    dense, rng = X.to_array(), np.random.default_rng(seed)
    assert_allclose(dense, X.values.toarray() + X.rows[:, None] + X.columns, atol=1e-15)
    A, B, w, rows = rng.random((2, 12)), rng.random((9, 3)), rng.random(12), rng.integers(0, 12, 5)
    assert_allclose(X @ B, dense @ B, atol=1e-12)
    assert_allclose(A @ X, A @ dense, atol=1e-12)
    assert_allclose(X.T.to_array(), dense.T, atol=1e-14)
    assert_allclose(X[rows].to_array(), dense[rows], atol=1e-14)
    assert_allclose(X.block(np.array([4, 1])), dense[:, [4, 1]], atol=1e-14)
    assert_allclose(X.mean(), dense.mean(axis=0), atol=1e-12)
    assert_allclose(X.mean(w), np.average(dense, axis=0, weights=w), atol=1e-12)
    assert_allclose((X / 4).to_array(), dense / 4, atol=1e-14)
    assert X.bound() >= np.abs(dense).max()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_standardize(axis, dtype):
    values, _ = sparse_counts(40, 30, dtype=dtype)
    values = values.tolil()
    values[3], values[:, 5] = 0, 0  # what is constant becomes zero
    X = as_shifted_sparse(values.tocsr())
    dense = X.values.toarray()
    for found, expected in zip(mean_and_std(X, axis), mean_and_std(dense, axis), strict=True):
        assert_allclose(found, expected, atol=1e-12)
    tolerance = 1e-5 if dtype is np.float32 else 1e-12
    assert_allclose(standardize(X, axis).to_array(), standardize(dense, axis), atol=tolerance)
    assert standardize(X, axis).dtype == dtype


def test_the_given_matrix_is_not_modified():
    values = sp.csr_array((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    assert not values.has_sorted_indices
    assert_array_equal(as_shifted_sparse(values).values.indices, [0, 1])
    assert_array_equal(values.indices, [1, 0])


def test_sketched_directions_are_the_leading_ones():
    X = shifted_sparse(3, n=40, p=30)
    centered = X.moved(-X.mean())
    found = sketched_directions(centered, 4, np.random.RandomState(0))
    right = np.linalg.svd(centered.to_array())[2][:4]
    assert_allclose(found.T @ found, np.eye(4), atol=1e-10)
    assert_allclose(np.linalg.svd(right @ found, compute_uv=False), 1, atol=0.05)
