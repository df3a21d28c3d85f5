"""Least absolute deviations: certified by the dual, compared with a linear program, independent of other rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from graphlowrank._threads import limit_threads
from graphlowrank.solvers.irls import products_of_rows
from graphlowrank.solvers.least_absolute import least_absolute, normal_matrices
from helpers import with_missing


def problem(seed, n=8, k=3, q=25, outliers=0.2):
    rng = np.random.default_rng(seed)
    C = rng.standard_normal((k, q))
    Y = rng.standard_normal((n, k)) @ C + 0.1 * rng.standard_normal((n, q))
    Y[rng.random(Y.shape) < outliers] += 10
    return Y, C


def least_squares(Y, C):
    rows = [np.linalg.lstsq(C[:, seen].T, y[seen])[0] for y, seen in zip(Y, ~np.isnan(Y), strict=True)]
    return np.array(rows).reshape(len(Y), len(C))


def objective(Y, C, scores):
    return np.nansum(np.abs(Y - scores @ C), axis=1)


def minimum(y, C):
    """By a linear program: min sum(t) with -t <= y - s C <= t."""
    seen = ~np.isnan(y)
    y, C = y[seen], C[:, seen]
    k, q = C.shape
    A = np.block([[-C.T, -np.eye(q)], [C.T, -np.eye(q)]])
    return linprog(np.r_[np.zeros(k), np.ones(q)], A, np.r_[-y, y], bounds=[(None, None)] * (k + q)).fun


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10**6), k=st.integers(1, 6), q=st.integers(1, 40), missing=st.sampled_from([0.0, 0.3]),
    unit=st.sampled_from([1e-150, 1.0, 1e150]),
)  # fmt: skip
def test_the_objective_is_that_of_a_linear_program(seed, k, q, missing, unit):
    Y, C = problem(seed, n=4, k=k, q=q)
    Y = with_missing(Y, missing, seed) if missing else Y
    found = least_absolute(unit * Y, C, unit * least_squares(Y, C))
    assert found.converged
    wanted = [minimum(y, C) for y in Y]
    assert_allclose(objective(Y, C, found.X / unit), wanted, rtol=1e-6, atol=1e-10)


def test_rows_that_are_nearly_solved_at_the_start_do_not_overflow():
    """Where a residual becomes 0 exactly, the gap that is left is rounding, whatever it is relative to."""
    for seed in range(30):
        Y, C = problem(seed, n=200, k=12, q=22)
        C = np.linalg.qr(C.T)[0].T
        Y = with_missing(Y, 0.94, seed)
        start = least_squares(Y, C)
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            found = least_absolute(Y, C, start + 1e-13 * np.random.default_rng(seed).standard_normal(start.shape))
        assert found.converged


@pytest.mark.parametrize("amplitude", [10, 1e3, 1e8])
def test_exact_rows_are_found_in_spite_of_outliers(amplitude):
    rng = np.random.default_rng(0)
    C, S = rng.standard_normal((3, 40)), rng.standard_normal((15, 3))
    Y = S @ C
    Y[:, ::8] += amplitude * rng.standard_normal((15, 5))
    found = least_absolute(Y, C, least_squares(Y, C))
    assert found.converged
    assert_allclose(found.X, S, atol=1e-12 * amplitude)


def test_rows_do_not_depend_on_other_rows_or_on_threads():
    Y, C = problem(0, n=300, q=40)
    Y = with_missing(Y, 0.1)
    start = least_squares(Y, C)
    with limit_threads(1):
        together = least_absolute(Y, C, start).X
    with limit_threads(3):
        assert_array_equal(least_absolute(Y, C, start).X, together)
    assert_allclose(least_absolute(Y[5:7], C, start[5:7]).X, together[5:7], rtol=1e-6, atol=1e-8)


def test_single_precision_stays():
    Y, C = problem(0)
    found = least_absolute(Y.astype(np.float32), C.astype(np.float32), least_squares(Y, C).astype(np.float32))
    assert found.X.dtype == np.float32
    assert_allclose(objective(Y, C, found.X), [minimum(y, C) for y in Y], rtol=1e-5)


def test_rows_that_are_fitted_exactly_stay():
    """Also with fewer entries than regressors, and with none."""
    Y, C = problem(0, n=3, k=3, q=6, outliers=0.0)
    Y[0, 2:] = np.nan
    Y[1] = np.nan
    Y[2] = [1.0, 2.0, -1.0] @ C
    start = least_squares(Y, C)
    found = least_absolute(Y, C, start)
    assert_array_equal(found.X, start)
    assert (found.n_iter, found.converged) == (0, True)
    assert least_absolute(Y[:0], C, start[:0]).X.shape == (0, 3)


def test_too_few_iterations_are_reported():
    Y, C = problem(0)
    found = least_absolute(Y, C, least_squares(Y, C), max_iter=2)
    assert not found.converged
    assert found.n_iter == 2
    best = np.array([minimum(y, C) for y in Y])
    assert np.all(objective(Y, C, found.X) - best <= found.residual * objective(Y, C, found.X) + 1e-9)  # weak duality


def test_normal_matrices_are_those_of_weighted_least_squares():
    rng = np.random.default_rng(0)
    weights, C = rng.random((5, 30)), rng.standard_normal((4, 30))
    wanted = [C @ np.diag(w) @ C.T for w in weights]
    assert_allclose(normal_matrices(weights, C, products_of_rows(C)), wanted, rtol=1e-9, atol=1e-12)
    assert_allclose(normal_matrices(weights, C, None), wanted, rtol=1e-9, atol=1e-12)
