"""Huber regression by iteratively reweighted least squares."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from graphlowrank.decoders.scores import robust_scores
from graphlowrank.kernels.regression import huber_rows
from graphlowrank.models.losses import Huber
from graphlowrank.solvers.irls import fit_rows, irls, products_of_rows
from helpers import with_missing


def problem(seed, n=7, q=60, k=3, outliers=0.2, noise=0.1):
    rng = np.random.default_rng(seed)
    C, S = rng.standard_normal((k, q)), rng.standard_normal((n, k))
    Y = S @ C + noise * rng.standard_normal((n, q))
    Y[rng.random((n, q)) < outliers] += 20
    return Y, C, S


@given(seed=st.integers(0, 9999), corner=st.floats(0.05, 5), ridged=st.booleans(), weighted=st.booleans())
@settings(max_examples=50, deadline=None)
def test_the_gradient_vanishes_at_the_answer(seed, corner, ridged, weighted):
    Y, C, _ = problem(seed)
    rng = np.random.default_rng(seed)
    ridge = rng.uniform(0, 5, 3) if ridged else None
    importance = rng.uniform(0.2, 3, 60) if weighted else None
    found = irls(Y, C, Huber(corner), ridge=ridge, importance=importance, tol=1e-10, max_iter=3000)
    residual = Y - found.X @ C
    pull = np.clip(residual, -corner, corner) * (1 if importance is None else importance)
    gradient = -pull @ C.T + (0 if ridge is None else ridge * found.X)
    assert np.abs(gradient).max() < 2e-4 * np.abs(pull).sum()
    assert found.converged


@pytest.mark.parametrize("rows", [1, 30])  # of importance: one for all, or one each
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 4])
def test_the_kernel_agrees_with_its_twin(dtype, k, rows):
    Y, C, _ = problem(0, n=30, q=200, k=k)
    Y, C = Y.astype(dtype), C.astype(dtype)
    importance, ridge = np.linspace(0.5, 2, 200 * rows).astype(dtype).reshape(rows, 200), np.linspace(0, 1, k)
    answers = []
    for compiled in (True, False):
        scores, n_iter = np.zeros((30, k)), np.zeros(30, dtype=np.int64)
        if compiled:
            huber_rows(5, 30, Y, C, products_of_rows(C), importance, 0.3, ridge, 1e-6, 1e-4, 40, scores, n_iter)
        else:
            given = importance if rows == 1 else importance[5:]
            fit_rows(Y[5:], C, Huber(0.3), given, ridge, (1e-6, 0.0), 1e-4, 40, scores[5:], n_iter[5:])
        assert not scores[:5].any()
        assert n_iter[5:].min() > 1
        answers.append(scores)
    assert_allclose(*answers, atol=1e-4 if dtype is np.float32 else 1e-10)


def test_outliers_have_little_influence_and_rows_none_on_each_other():
    Y, C, S = problem(1, outliers=0.3, noise=0.01)
    found = irls(Y, C, Huber(0.03))
    assert np.abs(found.X - S).max() < 0.02
    assert np.abs(irls(Y, C, Huber(1e6)).X - S).max() > 0.5  # least squares
    alone = np.vstack([irls(row[None], C, Huber(0.03)).X for row in Y])
    assert_allclose(alone, found.X, rtol=1e-12)
    assert_allclose(irls(Y, C, Huber(0.03), compiled=True).X, found.X, atol=1e-8)


def test_no_regressors_no_rows_and_bad_input():
    Y = np.ones((3, 5))
    assert irls(Y, np.ones((0, 5)), Huber(1.0)).X.shape == (3, 0)
    assert irls(Y[:0], np.ones((2, 5)), Huber(1.0)).X.shape == (0, 2)
    assert_allclose(irls(Y, np.zeros((1, 5)), Huber(1.0)).X, 0)
    with pytest.raises(ValueError, match="as many columns"):
        irls(Y, np.ones((2, 4)), Huber(1.0))
    with pytest.raises(ValueError, match="must be positive"):
        irls(Y, np.ones((2, 5)), Huber(0.0))


def test_too_few_steps_are_reported():
    Y, C, _ = problem(2)
    found = irls(Y, C, Huber(0.01), tol=1e-12, max_iter=2)
    assert (found.converged, found.n_iter, found.residual) == (False, 2, 1.0)


def test_missing_values_are_ignored():
    rng = np.random.default_rng(0)
    C, S = rng.standard_normal((3, 40)), rng.standard_normal((25, 3))
    Y = with_missing(S @ C + 0.1 * rng.standard_normal((25, 40)), 0.4)
    w = rng.random(40) + 0.5
    options = {"importance": w, "tol": 1e-8, "max_iter": 500}
    plain, compiled = (irls(Y, C, Huber(0.05), compiled=one, **options).X for one in (False, True))
    assert_allclose(plain, compiled, atol=1e-7)
    for row, scores in zip(Y, plain, strict=True):
        seen = ~np.isnan(row)
        alone = irls(row[None, seen], C[:, seen], Huber(0.05), **(options | {"importance": w[seen]})).X
        assert_allclose(scores[None], alone, atol=1e-7)


def least_absolute(y, C):
    """Smallest sum of absolute residuals, by linear programming."""
    k, q = C.shape
    bounds = np.block([[C.T, -np.eye(q)], [-C.T, -np.eye(q)]])
    free = [(None, None)] * k + [(0, None)] * q
    return linprog(np.r_[np.zeros(k), np.ones(q)], A_ub=bounds, b_ub=np.r_[y, -y], bounds=free).fun


@pytest.mark.parametrize(("p", "more"), [(40, -1), (60, -1), (30, 0), (16, 1), (16, 2), (16, 4)])
def test_least_absolute_residuals_of_rows_with_few_entries(p, more):
    """Residuals that are 0 by chance in an early step must not stay so: at the answer only k of k + more have to be."""
    rng, k = np.random.default_rng(0), 4
    C = np.linalg.qr(rng.standard_normal((p, k)))[0].T
    Y = rng.standard_normal((200, p))
    missing = rng.random(Y.shape).argsort(axis=1) >= k + more
    Y[missing] = np.nan
    scores = robust_scores(Y, C, loss="l1")
    for y, score in zip(Y, scores, strict=True):
        seen = ~np.isnan(y)
        least = least_absolute(y[seen], C[:, seen])
        assert np.abs(y - score @ C)[seen].sum() < least + 0.01 * np.abs(y[seen]).sum()
    alone = np.concatenate([robust_scores(y[None], C, loss="l1") for y in Y])
    assert_allclose(alone, scores, atol=1e-3 * np.abs(scores).max())
