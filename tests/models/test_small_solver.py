"""Solvers of the compressed problem: the registry, and one added from outside."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from graphlowrank import CompressivePCA
from graphlowrank.linalg.svd import leading_svd
from graphlowrank.models import SOLVERS, CompressedProblem, SmallSolver, register_solver, solve_frpcag
from graphlowrank.solvers.solution import Solution
from helpers import random_graph


def truncate(problem, callback):
    left, values, right = leading_svd(problem.X, 3)  # two factors and an offset
    if callback is not None:
        callback(1, 0.0)
    return Solution((left * values) @ right.T, 1, converged=True, residual=0.0)


@pytest.fixture
def truncated(monkeypatch):
    monkeypatch.setitem(SOLVERS, "truncated", None)  # restored afterwards
    return register_solver(SmallSolver("truncated", truncate, "truncated SVD"))


def test_a_solver_from_outside_runs_in_the_estimator(truncated, rng):
    X = rng.standard_normal((50, 2)) @ rng.standard_normal((2, 12))
    model = CompressivePCA(2, solver="truncated", downsampling=(1, 1), random_state=0).fit(X)
    assert_allclose(np.asarray(model.low_rank_), X, atol=1e-6)
    assert "truncated" in model.stage_seconds_
    with pytest.raises(ValueError, match="solver must be one of 'auto', 'frpcag', 'rpca', 'rpcag', 'truncated'"):
        CompressivePCA(2, solver="other").fit(X)


@pytest.mark.parametrize("name", ["frpcag", "rpca", "rpcag"])
@pytest.mark.parametrize("missing", [False, True])
def test_built_in_solvers_share_one_signature(name, missing, rng):
    X = rng.standard_normal((20, 3)) @ rng.standard_normal((3, 15))
    X[rng.random(X.shape) < 0.1 * missing] = np.nan
    L = random_graph(20, spread=0.5).unit_laplacian()
    calls = []
    found = SOLVERS[name].solve(CompressedProblem(X, L, gammas=(0.1, 0.1)), lambda *seen: calls.append(seen))
    assert found.X.shape == X.shape
    assert np.isfinite(found.X).all()
    assert calls[-1][0] == found.n_iter
    with pytest.warns(ConvergenceWarning, match=f"{name.upper()} did not converge in 1 iterations .*raise max_iter"):
        SOLVERS[name].solve(CompressedProblem(X, L, gammas=(5.0, 0.1), tol=1e-9, max_iter=1))


def test_every_option_arrives(rng):
    X = rng.standard_normal((12, 9))
    L_s, L_f = random_graph(12).unit_laplacian(), random_graph(9).unit_laplacian()
    options = {
        "loss": "huber", "huber_delta": 0.3, "sample_weights": rng.random(12), "feature_weights": rng.random(9),
        "X0": 0.5 * X, "tol": 1e-8, "max_iter": 20_000, "size": 3.0, "tighten_tol": True,
    }  # fmt: skip
    found = SOLVERS["frpcag"].solve(CompressedProblem(X, L_s, L_f, (20.0, 3.0), **options))
    direct = solve_frpcag(X, L_s, L_f, gamma_samples=20.0, gamma_features=3.0, **options)
    assert_array_equal(found.X, direct.X)
    assert found.n_iter == direct.n_iter > solve_frpcag(X, L_s, L_f, gamma_samples=20.0, gamma_features=3.0).n_iter


def test_rpcag_of_a_single_sample_is_rpca(rng):
    X = rng.standard_normal((1, 8))
    problem = CompressedProblem(X, gammas=(1.0, 0.0))
    assert_array_equal(SOLVERS["rpcag"].solve(problem).X, SOLVERS["rpca"].solve(problem).X)
