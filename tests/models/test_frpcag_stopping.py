"""When FISTA stops: relative to its iterate, not because a step is short, not after a restart."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_array_equal
from test_frpcag import hub_problem, problem

import graphlowrank.models.frpcag as module
from graphlowrank.graphs import path_graph
from graphlowrank.models import CompressedProblem, solve_frpcag
from graphlowrank.models.frpcag import minimize_frpcag
from graphlowrank.solvers import fista, proximal_step
from graphlowrank.solvers.fista import Advanced


def test_restarts_end_sooner_and_no_worse(monkeypatch):
    X, L_s, L_f = problem(60, 20)
    options = {"gamma_samples": 5.0, "gamma_features": 5.0, "tol": 1e-6, "max_iter": 5000, "trace": True}
    restarted = solve_frpcag(X, L_s, L_f, **options)
    advance = proximal_step

    def without_restart(*args):
        step = advance(*args)
        return lambda S, Z, momentum: step(S, Z, momentum)._replace(uphill=-1.0)

    monkeypatch.setattr(module, "proximal_step", without_restart)
    plain = solve_frpcag(X, L_s, L_f, **options)
    assert restarted.converged
    assert restarted.n_iter < 0.8 * plain.n_iter
    assert restarted.objective[-1] <= plain.objective[-1] * (1 + 1e-9)


def test_short_steps_after_a_restart_are_no_reason_to_stop():
    """Without momentum a step is a fraction of what it was; it counts when momentum is back, or if it is tiny."""

    def run(moved_afterwards, restart):
        momenta = []

        def step(S, Z, momentum):
            momenta.append(momentum)
            at = len(momenta)
            return Advanced(S, Z, 1.0 if at <= 30 else moved_afterwards, 1.0, 1.0 if at == 30 else -1.0)

        found = fista(step, np.zeros(1), tol=0.1, max_iter=100, restart=restart)
        assert found.converged
        assert found.residual < 0.1
        return momenta

    momenta = run(0.09, restart=True)
    assert momenta[30] == 0
    assert momenta[-2] < 1 - (1 - momenta[29]) / 0.9 <= momenta[-1]
    assert len(run(1e-9, restart=True)) == 31
    assert len(run(0.09, restart=False)) == 31  # as printed in the paper


def test_a_restart_does_not_end_the_iterations_far_from_the_minimum():
    X, L_s, L_f = (part.astype(np.float32) for part in hub_problem(200, 30))
    given_ = CompressedProblem(X, L_s, L_f, (3.0, 3.0), size=X.size**0.5, max_iter=100_000)
    exact = minimize_frpcag(replace(given_, tol=1e-7)).X
    found = minimize_frpcag(given_)
    assert np.linalg.norm(found.X - exact) < 5e-3 * X.size**0.5


def test_the_stop_is_relative_to_an_iterate_that_shrinks():
    """At large gammas the solution is much smaller than the data, and so must the last change be."""
    X, L_s, L_f = problem(40, 12)
    options = {"gamma_samples": 30.0, "gamma_features": 30.0, "loss": "l1", "size": X.size**0.5, "max_iter": 100_000}
    exact = solve_frpcag(X, L_s, L_f, tol=1e-10, **options).X
    found = solve_frpcag(X, L_s, L_f, tol=1e-3, **options)
    assert np.linalg.norm(exact) < 0.1 * X.size**0.5
    assert np.linalg.norm(found.X - exact) < 0.02 * np.linalg.norm(exact)
    assert solve_frpcag(X + 100, L_s, L_f, tol=1e-3, **options).residual < 1e-3  # of the size: means do not count


def test_short_steps_are_no_reason_to_stop():
    """At large gammas a warm start would otherwise be taken for the answer."""
    X, L = np.random.default_rng(0).standard_normal((60, 8)), path_graph(60).unit_laplacian()
    options = {"gamma_samples": 100.0, "gamma_features": 0.0, "loss": "l2", "size": X.size**0.5, "max_iter": 100_000}
    exact = solve_frpcag(X, L, None, tol=1e-10, **options).X
    coarse, fine = (solve_frpcag(X, L, None, tol=1e-2, tighten_tol=one, **options) for one in (False, True))
    assert np.linalg.norm(fine.X - exact) < 0.5 * np.linalg.norm(coarse.X - exact)
    assert fine.n_iter > coarse.n_iter
    small = options | {"gamma_samples": 0.1}
    assert_array_equal(*(solve_frpcag(X, L, None, tol=1e-2, tighten_tol=one, **small).X for one in (False, True)))
