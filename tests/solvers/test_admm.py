"""ADMM on ``0.5 tr(X H X^T) - tr(A X^T) + weight |X|_1``, whose proximal maps and optimality conditions are plain."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from graphlowrank.solvers.admm import ADMMState, admm

PROBLEMS = {"seed": st.integers(0, 10_000), "weight": st.floats(0.1, 2), "penalty": st.floats(0.01, 100)}


def problem(seed, weight):
    """A, H and the proximal maps of the quadratic and the l1 term."""
    rng = np.random.default_rng(seed)
    A, root = rng.standard_normal((8, 5)), rng.standard_normal((7, 5))
    H = root.T @ root + 0.1 * np.eye(5)

    def quadratic(V, step):
        return np.linalg.solve(H + np.eye(5) / step, (A + V / step).T).T

    def l1(V, step):
        return np.sign(V) * np.maximum(np.abs(V) - weight * step, 0)

    return A, H, quadratic, l1


def run(A, quadratic, l1, state, **options):
    return admm(quadratic, [l1], state, size=np.linalg.norm(A), **options)


def start(A, penalty):
    return ADMMState(np.zeros_like(A), (np.zeros_like(A),), (np.zeros_like(A),), penalty)


@given(**PROBLEMS, balance=st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_multiplier_certifies_the_optimum(seed, weight, penalty, balance):
    A, H, quadratic, l1 = problem(seed, weight)
    found = run(A, quadratic, l1, start(A, penalty), tol=1e-9, max_iter=100_000, balance=balance)
    Z, Y = found.copies[0], found.penalty * found.duals[0]
    assert found.converged
    assert_allclose(found.X, Z, atol=1e-7)
    assert_allclose(Z @ H - A, -Y, atol=1e-5)
    assert np.abs(Y).max() <= weight + 1e-12
    assert_allclose(Y[Z != 0], weight * np.sign(Z[Z != 0]), atol=1e-12)


def test_where_it_stops_another_step_changes_little():
    """Of these problems one in ten changes by more than 1.6e-2 if only the distance of X from its copy is looked at."""
    rng = np.random.default_rng(0)
    for seed in range(100):
        A, _, quadratic, l1 = problem(seed, rng.uniform(0.1, 2))
        found = run(A, quadratic, l1, start(A, 10 ** rng.uniform(-2, 2)), tol=1e-2, max_iter=10_000)
        again = run(A, quadratic, l1, found, tol=1e-2, max_iter=1)
        assert found.converged
        assert np.linalg.norm(again.copies[0] - found.copies[0]) < 1.6e-2 * np.linalg.norm(A)


def test_stopping_early_is_reported():
    A, _, quadratic, l1 = problem(0, 1.0)
    found = run(A, quadratic, l1, start(A, 1e-3), tol=1e-9, max_iter=3)
    assert not found.converged
    assert found.n_iter == 3
    assert found.residual == pytest.approx(run(A, quadratic, l1, start(A, 1e-3), tol=1e-12, max_iter=3).residual)


def test_it_does_not_stop_while_a_proximal_map_is_inexact():
    A, _, quadratic, l1 = problem(0, 1.0)
    calls = []

    def exact():
        calls.append(None)
        return len(calls) > 500

    found = run(A, quadratic, l1, start(A, 1.0), tol=1e-3, max_iter=1000, exact=exact)
    assert found.converged
    assert found.n_iter == 501
