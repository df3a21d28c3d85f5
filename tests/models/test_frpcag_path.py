"""FRPCAG by ADMM along a path of gammas, against FISTA."""

from unittest.mock import patch

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank._threads import limit_threads
from graphlowrank.linalg import products
from graphlowrank.models import CompressedProblem, solve_frpcag
from graphlowrank.models.frpcag_path import FRPCAGPath
from helpers import waves


@pytest.mark.parametrize(("loss", "weighted"), [("l1", False), ("l2", False), ("huber", True)])
@pytest.mark.parametrize("gammas", [(0.1, 0.3), (1.0, 0.0), (30.0, 30.0)])
def test_solutions_are_the_minima_that_fista_finds(loss, weighted, gammas):
    X, _, L_s, L_f = waves(60, 20, noise=0.5, outliers=0.05)
    X = np.where(np.random.default_rng(2).random(X.shape) < 0.2, np.nan, X)
    X[:, 7] = np.nan  # nothing is known of a feature
    weights = np.linspace(0.5, 2, 60) if weighted else np.ones(60)
    L_f = L_f if gammas[1] else None
    slow = solve_frpcag(
        X, L_s, L_f, gamma_samples=gammas[0], gamma_features=gammas[1], loss=loss, huber_delta=0.5,
        sample_weights=weights, tol=1e-7, max_iter=50_000,
    )  # fmt: skip
    path = FRPCAGPath(CompressedProblem(X, L_s, L_f, loss=loss, huber_delta=0.5), weights[:, None])
    near = path.solve((0.5, 0.5 if gammas[1] else 0.0), tol=1e-3, max_iter=1000)
    for start in (None, near):
        found = path.solve(gammas, tol=1e-6, max_iter=20_000, start=start)
        value, least = (objective(U, X, L_s, L_f, gammas, loss, weights) for U in (found.X, slow.X))
        assert_allclose(value, least, rtol=1e-4)


def test_threads_do_not_change_the_solution():
    X, _, L_s, L_f = waves(150, 40, noise=0.5, outliers=0.05)
    problem = CompressedProblem(X.astype(np.float32), L_s, L_f)
    answers = []
    for n_jobs in (1, 3):
        with limit_threads(n_jobs), patch.object(products, "THREADED_ABOVE", 0):
            answers.append(FRPCAGPath(problem).solve((1.0, 0.3), tol=1e-4, max_iter=100))
    assert_array_equal(answers[0].X, answers[1].X)
    assert answers[0].n_iter == answers[1].n_iter > 5


def objective(U, X, L_s, L_f, gammas, loss, weights):
    """What both solvers minimize, written out."""
    r = np.abs(np.nan_to_num(U - X))
    each = {"l1": r, "l2": r**2, "huber": np.where(r < 0.5, r**2 / 2, 0.5 * (r - 0.25))}[loss]
    graphs = gammas[0] * np.sum(U * (L_s @ U)) + (gammas[1] * np.sum(U * (L_f @ U.T).T) if gammas[1] else 0)
    return np.sum(weights[:, None] * each) + graphs
