"""IRLS of rows that are coupled over a graph, against dense twins and its limits."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank._threads import limit_threads
from graphlowrank.models.losses import L1, L2, Huber
from graphlowrank.solvers.graph_irls import GaussianPrior, Rows, graph_irls
from graphlowrank.solvers.irls import irls
from graphlowrank.solvers.least_absolute import least_absolute
from helpers import random_graph, with_missing

N, Q, K = 40, 25, 3


class Case:
    """Noisy rows on random regressors, some outliers and missing values, and a prior around other coefficients."""

    def __init__(self, seed=0, *, missing=0.1, dtype=np.float64):
        rng = np.random.default_rng(seed)
        self.C = rng.standard_normal((K, Q)).astype(dtype)
        S = rng.standard_normal((N, K))
        Y = S @ self.C + 0.1 * rng.standard_normal((N, Q))
        Y[rng.random(Y.shape) < 0.1] += 20
        self.Y = with_missing(Y, missing).astype(dtype)
        L = random_graph(N, 0.2, seed, spread=0.5).unit_laplacian()
        P = (L + sp.diags_array(np.where(np.arange(N) % 3 == 0, 5.0, 0.0))).tocsr()
        mean = (S + 0.3 * rng.standard_normal(S.shape)).astype(dtype)
        self.prior = GaussianPrior(mean, P, np.array([0.5, 2.0, 20.0]))

    def fit(self, loss, *, weight=1.0, **options):
        rows = Rows(lambda part: self.Y[part].copy(), self.C)
        return graph_irls(rows, loss, self.prior.scaled(weight), **options)

    def objective(self, S, loss, noise=None):
        residual = self.Y - S @ self.C
        value = noise * np.abs(residual) if noise else loss.delta * loss.value(residual)
        D = S - self.prior.mean
        return np.nansum(value) + 0.5 * np.sum(self.prior.precision * D * (self.prior.P @ D))


def test_least_squares_solves_the_dense_normal_equations():
    case = Case()
    seen = ~np.isnan(case.Y)
    # One vector of all coefficients, row by row.
    A = np.kron(case.prior.P.toarray(), np.diag(case.prior.precision))
    b = A @ case.prior.mean.ravel()
    for i in range(N):
        block = slice(i * K, (i + 1) * K)
        A[block, block] += case.C[:, seen[i]] @ case.C[:, seen[i]].T
        b[block] += case.C[:, seen[i]] @ case.Y[i, seen[i]]
    found = case.fit(L2(), tol=1e-9)
    assert_allclose(found.X, np.linalg.solve(A, b).reshape(N, K), atol=1e-8)
    assert found.converged
    assert found.n_iter == 1


@pytest.mark.parametrize("loss", [L1(), L2(), Huber(0.3)])
def test_a_firm_prior_returns_its_mean(loss):
    case = Case()
    assert_allclose(case.fit(loss, weight=1e9).X, case.prior.mean, atol=1e-6)


def test_a_flat_prior_leaves_rows_to_themselves():
    case = Case()
    by_row = irls(case.Y, case.C, Huber(0.3), damping=0.0, tol=1e-8, max_iter=500).X
    assert_allclose(case.fit(Huber(0.3), weight=1e-12, tol=1e-8, max_iter=500).X, by_row, atol=1e-5)
    start = irls(case.Y, case.C, L2()).X
    exact = least_absolute(case.Y, case.C, start).X
    ours = case.fit(L1(), weight=1e-12, noise=0.1, tol=1e-6, max_iter=500).X
    absolute = [np.nansum(np.abs(case.Y - S @ case.C)) for S in (ours, exact)]
    assert absolute[0] == pytest.approx(absolute[1], rel=1e-3)


def test_the_gradient_vanishes():
    case = Case()
    S = case.fit(Huber(0.3), tol=1e-9, max_iter=500).X
    slope = np.clip(np.nan_to_num(case.Y - S @ case.C), -0.3, 0.3) @ case.C.T
    assert_allclose(slope, case.prior.precision * (case.prior.P @ (S - case.prior.mean)), atol=1e-6)


@pytest.mark.parametrize(("loss", "noise"), [(Huber(0.3), None), (L1(), 0.1)])
def test_every_step_lowers_the_objective(loss, noise):
    case = Case()
    S, values = case.prior.mean, []
    for _ in range(12):
        values.append(case.objective(S, loss, noise))
        S = case.fit(loss, noise=noise or 1.0, start=S, max_iter=1, tol=0.5).X
    assert np.all(np.diff(values) <= 1e-4 * values[-1])  # |r| is bounded from below by 1e-3 noise
    assert values[-1] < 0.97 * values[0]


def test_missing_values_do_not_count():
    case, other = Case(missing=0.0), Case(missing=0.0)
    case.Y[:, 5], case.Y[3] = np.nan, np.nan
    other.C, other.Y = np.delete(other.C, 5, axis=1), np.delete(other.Y, 5, axis=1)
    other.Y[3] = np.nan
    found = case.fit(Huber(0.3), tol=1e-8, max_iter=500).X
    assert_allclose(found, other.fit(Huber(0.3), tol=1e-8, max_iter=500).X, atol=1e-6)
    assert np.isfinite(found[3]).all()  # from its neighbors


def test_the_answer_does_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr("graphlowrank.solvers.graph_irls.BLOCK_ENTRIES", 100)
    monkeypatch.setattr("graphlowrank.solvers.graph_irls.MIN_ROWS", 3)
    found = []
    for n_threads in (1, 2, 5):
        with limit_threads(n_threads):
            found.append(Case().fit(Huber(0.3)).X)
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])


def test_single_precision_stays():
    single, double = (Case(dtype=dtype).fit(Huber(0.3), tol=1e-5, max_iter=200).X for dtype in (np.float32, np.float64))
    assert single.dtype == np.float32
    assert_allclose(single, double, atol=1e-3)


def test_it_reports_that_it_has_not_converged():
    found = Case().fit(Huber(0.3), max_iter=1)
    assert not found.converged
    assert found.residual > 1e-3
