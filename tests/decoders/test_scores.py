"""Robust scores of samples on components."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from graphlowrank.decoders.scores import residual_sizes, robust_scores
from helpers import with_missing


def test_huber_scores_meet_the_optimality_condition(rng):
    C = np.linalg.qr(rng.standard_normal((30, 3)))[0].T
    X = rng.standard_normal((20, 3)) @ C + 0.1 * rng.standard_normal((20, 30))
    X[rng.random(X.shape) < 0.1] += 20
    residual = X - robust_scores(X, C, loss="huber", huber_delta=0.2, tol=1e-10, max_iter=2000) @ C
    slope = np.clip(residual / 0.2, -1, 1) @ C.T  # derivative of Huber's loss along the components
    assert np.abs(slope).max() < 1e-6


def test_l1_scores_are_as_good_as_a_linear_program(rng):
    C = np.linalg.qr(rng.standard_normal((15, 2)))[0].T
    X = rng.standard_normal((6, 2)) @ C + 0.1 * rng.standard_normal((6, 15))
    X[rng.random(X.shape) < 0.15] += 30
    found = np.abs(X - robust_scores(X, C, loss="l1", max_iter=1000) @ C).sum(axis=1)
    for x, value in zip(X, found, strict=True):
        # min sum(t)  s.t.  -t <= x - C^T s <= t
        A = np.block([[-C.T, -np.eye(15)], [C.T, -np.eye(15)]])
        best = linprog(np.r_[np.zeros(2), np.ones(15)], A, np.r_[-x, x], bounds=[(None, None)] * 17).fun
        assert value == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("amplitude", [10, 1e3, 1e6])
def test_outliers_do_not_move_l1_scores(amplitude, rng):
    C = np.linalg.qr(rng.standard_normal((40, 3)))[0].T
    S = rng.standard_normal((15, 3))
    X = S @ C
    X[:, ::8] += amplitude * rng.standard_normal((15, 5))
    assert_allclose(robust_scores(X, C, loss="l1"), S, atol=1e-2)
    assert np.abs(robust_scores(X, C, loss="l2") - S).max() > 0.1 * amplitude


def test_scores_do_not_depend_on_other_samples(rng):
    C = np.linalg.qr(rng.standard_normal((10, 2)))[0].T
    X = rng.standard_normal((6, 10))
    together = robust_scores(X, C, loss="l1")
    alone = np.vstack([robust_scores(x[None], C, loss="l1") for x in X])
    assert_allclose(together, alone, atol=1e-9)


def test_l1_scores_scale_with_the_data(rng):
    C = np.linalg.qr(rng.standard_normal((10, 2)))[0].T
    X = rng.standard_normal((6, 10))
    assert_allclose(robust_scores(1e6 * X, C, loss="l1"), 1e6 * robust_scores(X, C, loss="l1"), rtol=1e-5)


@pytest.mark.parametrize("loss", ["l1", "l2", "huber"])
def test_scores_ignore_missing_values(loss):
    rng = np.random.default_rng(0)
    C = np.linalg.qr(rng.standard_normal((20, 3)))[0].T
    S = rng.standard_normal((30, 3))
    X = S @ C
    incomplete = with_missing(X, 0.3)
    assert_allclose(robust_scores(incomplete, C, loss=loss, tol=1e-10), S, atol=1e-6)
    X = X + 0.1 * rng.standard_normal(X.shape)
    incomplete = with_missing(X, 0.3)
    found = robust_scores(incomplete, C, loss=loss, huber_delta=0.05, tol=1e-10, max_iter=1000)
    for row, scores in zip(incomplete, found, strict=True):
        seen = ~np.isnan(row)
        residual = row[seen] - scores @ C[:, seen]
        pull = {"l2": residual, "l1": np.sign(residual), "huber": np.clip(residual / 0.05, -1, 1)}[loss]
        if loss != "l1":  # at the optimum the pulls on each score cancel
            assert np.abs(C[:, seen] @ pull).max() < 1e-3
        else:  # as many entries are met as there are scores
            assert np.sum(np.abs(residual) < 1e-3) >= 3
    assert_array_equal(robust_scores(np.full((1, 20), np.nan), C, loss=loss), np.zeros((1, 3)))


def test_residual_sizes_are_those_of_observed_entries(rng):
    components = np.linalg.qr(rng.standard_normal((6, 2)))[0].T
    offset, scale, S = rng.random(6), rng.random(6) + 0.5, rng.standard_normal((5, 2))
    residual = rng.standard_normal((5, 6))
    X = (S @ components + residual) * scale + offset
    X[0, 2] = np.nan
    size = [np.abs(row[~np.isnan(x)]) for row, x in zip(residual, X, strict=True)]
    expected = [[np.median(one), one.mean(), one.max()] for one in size]
    assert_allclose(residual_sizes(X, S, components, offset, scale), expected)
