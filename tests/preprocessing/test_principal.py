"""Principal scores by blocks of rows, against the singular value decomposition of the whole."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from graphlowrank import LowRankMatrix
from graphlowrank.preprocessing.principal import centered_svd, principal_scores


@pytest.fixture(params=["few samples", "few features", "neither"])
def way(request, monkeypatch):
    """Up to which length a side is short enough for an exact decomposition."""
    monkeypatch.setattr("graphlowrank.preprocessing.counts.BLOCK_ENTRIES", 12 * 7)  # blocks of seven rows
    return {"few samples": {}, "few features": {"gram_up_to": 20}, "neither": {"gram_up_to": 5}}[request.param]


def made_up(n_features=12, seed=0):
    """Four directions, far from the origin, and a little noise."""
    rng = np.random.default_rng(seed)
    strong = rng.standard_normal((60, 4)) * [40, 20, 10, 5] @ rng.standard_normal((4, n_features))
    return strong + 1e-3 * rng.standard_normal((60, n_features)) + 100


def check(X, filled, k, way, rtol=1e-5):
    left, values, right = centered_svd(X, k, **way)
    centered = filled - filled.mean(axis=0)
    wanted = np.linalg.svd(centered, compute_uv=False)
    assert_allclose(values, wanted[:k], rtol=rtol)
    assert_allclose(left.T @ left, np.eye(k), atol=10 * rtol)
    assert_allclose(right.T @ right, np.eye(k), atol=10 * rtol)
    assert_allclose(centered @ right, left * values, atol=rtol * wanted[0])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_dense_and_sparse(kind, way):
    X = made_up()
    X[X < 60] = 0
    k = 12  # all of them: the sketch, too, is exact
    check(kind(X), X, k, way)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_few_of_many_directions(kind, way):
    X = made_up(n_features=55)  # the sketch has 14 directions
    check(kind(X), X, 4, way)


def test_single_precision(way):
    X = made_up().astype(np.float32)
    check(X, X.astype(float), 4, way, rtol=1e-3)
    assert {part.dtype for part in centered_svd(X, 4, **way)} == {np.dtype(np.float32)}


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_missing_values_count_as_the_mean_of_their_feature(kind, way):
    X = made_up()
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    check(kind(X), np.where(np.isnan(X), np.nanmean(X, axis=0), X), 12, way)


def test_matrices_of_ours(way):
    rng = np.random.default_rng(0)
    M = LowRankMatrix(np.linalg.qr(rng.standard_normal((60, 2)))[0], np.array([5.0, 3.0]),
                      np.linalg.qr(rng.standard_normal((12, 2)))[0], np.arange(12.0))  # fmt: skip
    check(M, M.to_array(), 2, way)


def test_signs_do_not_depend_on_the_way(way):
    right = centered_svd(made_up(), 3, **way)[2]
    assert np.all(right[np.abs(right).argmax(axis=0), range(3)] > 0)


def test_the_data_stay_as_they_are():
    X = made_up()
    X.flags.writeable = False
    centered_svd(X, 3)


def test_half_as_many_again_as_clusters(blobs):
    X, _ = blobs
    scores, values = principal_scores(X, 3)
    wanted = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    assert_allclose(values, wanted, rtol=1e-6)
    assert_allclose(np.linalg.norm(scores, axis=0), wanted[:5], rtol=1e-6)
    for n_clusters, k in ((1, 2), (2, 3), (40, 10)):
        assert principal_scores(X, n_clusters)[0].shape == (120, k)
