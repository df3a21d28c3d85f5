import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from graphlowrank.linalg.svd import gram_directions, leading_svd, orthonormal_product, rank_of

GRAM_UP_TO = {"gram": 200, "sketch": 0}


@pytest.mark.parametrize("shape", [(30, 8), (8, 30), (10, 10), (7, 1), (1, 7)])
@pytest.mark.parametrize("path", ["gram", "sketch"])
def test_leading_svd_is_the_svd(shape, path, rng):
    X = rng.standard_normal(shape)
    k = min(3, *shape)
    left, values, right = leading_svd(X, k, gram_up_to=GRAM_UP_TO[path])
    u, s, vt = np.linalg.svd(X, full_matrices=False)
    assert_allclose(values, s[:k], rtol=1e-6)
    assert_allclose((left * values) @ right.T, (u[:, :k] * s[:k]) @ vt[:k], atol=1e-5)
    assert np.all(right[np.argmax(np.abs(right), axis=0), np.arange(k)] > 0)


@pytest.mark.parametrize("path", ["gram", "sketch"])
def test_rank_rule_decides_how_many(path, rng):
    u, v = np.linalg.qr(rng.standard_normal((200, 90)))[0], np.linalg.qr(rng.standard_normal((120, 90)))[0]
    s = np.r_[np.linspace(1, 0.11, 80), np.full(10, 0.09)]  # 80 values count: more than the first sketch looks at
    assert len(leading_svd((u * s) @ v.T, gram_up_to=GRAM_UP_TO[path])[1]) == 80


def test_rank_of_limits():
    assert rank_of(np.array([])) == 0
    assert rank_of(np.zeros(3)) == 0
    assert rank_of(np.array([1.0, 0.1, 0.0999])) == 2


def test_rank_deficient_and_float32(rng):
    X = (rng.standard_normal((40, 2)) @ rng.standard_normal((2, 9))).astype(np.float32)
    left, values, right = leading_svd(X, 5)
    assert left.dtype == values.dtype == right.dtype == np.float32
    assert np.all(np.isfinite(left))
    assert_allclose((left * values) @ right.T, X, atol=1e-4)


@given(seed=st.integers(0, 99), n=st.integers(3, 12), p=st.integers(3, 12), k=st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_orthonormal_product_refactors(seed, n, p, k):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((n, k)), rng.standard_normal((p, k))
    left, values, right = orthonormal_product(A, B)
    assert_allclose((left * values) @ right.T, A @ B.T, atol=1e-10)
    assert_allclose(left.T @ left, np.eye(k), atol=1e-10)
    assert_allclose(right.T @ right, np.eye(k), atol=1e-10)
    assert np.all(np.diff(values) <= 1e-12)


def test_directions_from_the_gram_matrix_span_those_of_the_svd():
    rng = np.random.RandomState(0)
    X = (rng.standard_normal((400, 12)) * 0.8 ** np.arange(12)) @ np.linalg.qr(rng.standard_normal((60, 12)))[0].T
    X = (X + 1e-3 * rng.standard_normal(X.shape)).astype(np.float32)
    found = gram_directions(X, 6, np.random.RandomState(0))
    assert found.shape == (60, 6)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.T @ found, np.eye(6), atol=1e-5)
    right = np.linalg.svd(X)[2][:6]
    assert np.linalg.svd(right @ found)[1].min() > 0.99
