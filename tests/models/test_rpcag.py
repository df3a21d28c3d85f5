import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import graphlowrank.models.rpcag as module
from graphlowrank.graphs import knn_graph, path_graph
from graphlowrank.models import solve_rpca, solve_rpcag
from helpers import disjoint, random_graph

SHAPES = [(40, 25), (25, 40)]


def problem(n, p, seed=0, rank=3, share=0.05):
    """Smooth low-rank matrix with gross errors, and the Laplacian it is smooth on."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n, rank))
    X = points @ rng.standard_normal((rank, p)) + 0.1 * rng.standard_normal((n, p))
    X[rng.random((n, p)) < share] += 5
    return X, knn_graph(points, 5).unit_laplacian("combinatorial")


def objective(X, low_rank, L, gamma, weight, mask=None):
    errors = np.abs(X - low_rank) if mask is None else np.abs(X - low_rank)[mask]
    return np.linalg.norm(low_rank, "nuc") + weight * (errors.sum() + gamma * np.sum(low_rank * (L @ low_rank)))


def assert_optimal(X, answer, L, gamma, weight, mask=None, accuracy=1e-4):
    """The multiplier is a subgradient of the errors; less the gradient of the graph, one of the nuclear norm."""
    Y, S, low_rank = answer.dual, answer.sparse, answer.low_rank
    seen = np.ones(X.shape, dtype=bool) if mask is None else mask
    assert_allclose((low_rank + S)[seen], X[seen], atol=accuracy * np.abs(X[seen]).max())
    assert np.abs(Y).max() <= weight * (1 + accuracy)
    assert (Y[~seen] == 0).all()
    assert (S[~seen] == 0).all()
    active = seen & (np.abs(S) > accuracy * np.abs(X[seen]).max())
    assert_allclose(Y[active], weight * np.sign(S[active]), rtol=10 * accuracy)
    G = Y - 2 * weight * gamma * (L @ low_rank)
    assert np.linalg.norm(G, 2) <= 1 + 10 * accuracy
    assert np.sum(G * low_rank) == pytest.approx(np.linalg.norm(low_rank, "nuc"), rel=10 * accuracy)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("gamma", [1e-6, 0.3, 3, 100])
def test_multipliers_certify_the_optimum(shape, gamma):
    X, L = problem(*shape)
    answer = solve_rpcag(X, L, gamma=gamma, tol=1e-7, max_iter=5000)
    assert answer.converged
    assert_optimal(X, answer, L, gamma, 1 / np.sqrt(40))


@given(
    seed=st.integers(0, 1000),
    n=st.integers(6, 30),
    p=st.integers(2, 30),
    gamma=st.floats(0.01, 50),
    weight=st.floats(0.05, 1),
)
@settings(max_examples=12, deadline=None)
def test_multipliers_certify_the_optimum_of_any_problem(seed, n, p, gamma, weight):
    X, L = problem(n, p, seed)
    answer = solve_rpcag(X, L, gamma=gamma, weight=weight, tol=1e-7, max_iter=20_000)
    assert answer.converged
    assert_optimal(X, answer, L, gamma, weight, accuracy=1e-3)


def test_a_tiny_instance_agrees_with_cvxpy():
    X, L = problem(9, 7)
    low_rank, weight, gamma = cp.Variable(X.shape), 0.3, 0.7
    smooth = cp.sum([cp.quad_form(low_rank[:, j], cp.psd_wrap(L.toarray())) for j in range(X.shape[1])])
    best = cp.Problem(cp.Minimize(cp.normNuc(low_rank) + weight * (cp.sum(cp.abs(X - low_rank)) + gamma * smooth)))
    best.solve(solver=cp.CLARABEL)
    answer = solve_rpcag(X, L, gamma=gamma, weight=weight, tol=1e-8, max_iter=10_000)
    assert objective(X, answer.low_rank, L, gamma, weight) == pytest.approx(best.value, rel=1e-4)
    assert_allclose(answer.low_rank, low_rank.value, atol=5e-3)


def test_without_a_graph_it_is_robust_pca():
    X, L = problem(40, 30)
    plain = solve_rpca(X, growth=1.02, max_iter=3000)
    assert_array_equal(solve_rpcag(X, L, gamma=0).low_rank, solve_rpca(X).low_rank)
    faint = solve_rpcag(X, L, gamma=1e-9, tol=1e-8, max_iter=10_000)  # by the way of all other gammas
    assert_allclose(faint.low_rank, plain.low_rank, atol=1e-3 * np.abs(X).max())
    assert objective(X, faint.low_rank, L, 0, 1 / np.sqrt(40)) <= objective(X, plain.low_rank, L, 0, 1 / np.sqrt(40))


def test_a_very_strong_graph_leaves_one_row_for_each_component(rng):
    graph = disjoint(random_graph(12, seed=1), random_graph(8, seed=2))
    X = rng.standard_normal((20, 6))
    low_rank = solve_rpcag(X, graph.unit_laplacian("combinatorial"), gamma=1e4, weight=1.0, tol=1e-7, max_iter=20_000)
    for part in (slice(0, 12), slice(12, 20)):
        assert np.ptp(low_rank.low_rank[part], axis=0).max() < 1e-3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_strongest_graphs_give_the_limit(dtype):
    """gamma times the largest entry beyond 1 / eps: a solver that takes it literally never ends."""
    X, L = problem(30, 8)
    one, other = (solve_rpcag(X.astype(dtype), L, gamma=gamma, max_iter=100) for gamma in (1e20, 1e300))
    assert np.isfinite(one.low_rank).all()
    assert_array_equal(one.low_rank, other.low_rank)
    assert np.ptp(one.low_rank, axis=0).max() < 1e-2 * np.ptp(X)


@pytest.mark.parametrize("precision", [(np.float32, np.float64), (np.float64, np.float32), (np.float64, np.float64)])
def test_the_strongest_graphs_do_not_shrink_the_means(precision):
    """The rows of a Laplacian sum to 0 up to rounding, which gamma multiplies; the first is of X, the other of L."""
    L = disjoint(random_graph(12, seed=1), random_graph(8, seed=2)).unit_laplacian("combinatorial")
    X = np.repeat([[3.0, 1.0], [-2.0, 4.0]], [12, 8], axis=0)
    answer = solve_rpcag(X.astype(precision[0]), L.astype(precision[1]), gamma=1e30, weight=1.0)
    assert_allclose(answer.low_rank, X, atol=2e-2)


def test_smooth_data_are_recovered_better_with_their_graph():
    rng = np.random.default_rng(0)
    time = np.linspace(0, 1, 200)[:, None]
    truth = np.sin(2 * np.pi * (time * [1, 2, 3])) @ rng.standard_normal((3, 60))
    noisy = truth + 0.5 * rng.standard_normal(truth.shape)
    noisy[rng.random(truth.shape) < 0.1] += 20
    L = path_graph(200).unit_laplacian("combinatorial")
    errors = [np.linalg.norm(solve_rpcag(noisy, L, gamma=gamma).low_rank - truth) for gamma in (0, 3)]
    assert errors[1] < 0.8 * errors[0]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_entries_that_are_not_observed(shape, rng):
    X, L = problem(*shape)
    mask = rng.random(shape) < 0.7
    given_, other = np.where(mask, X, np.nan), np.where(mask, X, 1e6)
    answer = solve_rpcag(given_, L, gamma=0.5, weight=0.2, mask=mask, tol=1e-7, max_iter=10_000)
    assert answer.converged
    assert_optimal(X, answer, L, 0.5, 0.2, mask)
    again = solve_rpcag(other, L, gamma=0.5, weight=0.2, mask=mask, tol=1e-7, max_iter=10_000)
    assert_array_equal(answer.low_rank, again.low_rank)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_scaling_data_scales_the_answer_if_gamma_scales_against_it(factor):
    X, L = problem(30, 20)
    plain, scaled = solve_rpcag(X, L, gamma=1.0), solve_rpcag(factor * X, L, gamma=1.0 / factor)
    assert_allclose(scaled.low_rank, factor * plain.low_rank, rtol=1e-6, atol=1e-6 * factor)


def test_single_precision_stays_single_and_close():
    X, L = problem(60, 40)
    single = solve_rpcag(X.astype(np.float32), L.astype(np.float32), gamma=1.0, tol=1e-9)
    assert {part.dtype for part in (single.low_rank, single.sparse, single.dual)} == {np.dtype(np.float32)}
    assert single.converged
    double = solve_rpcag(X, L, gamma=1.0, tol=1e-8, max_iter=5000)
    assert_allclose(single.low_rank, double.low_rank, atol=1e-3)


def test_rank_deficient_and_zero_data():
    _, L = problem(20, 8)
    X = np.outer(np.arange(20.0), np.ones(8))
    answer = solve_rpcag(X, L, gamma=1e-3)
    assert answer.converged
    assert answer.rank == 1
    assert not solve_rpcag(np.zeros((20, 8)), L, gamma=1.0).low_rank.any()


def test_stopping_short_is_said_and_data_are_left_alone():
    X, L = problem(30, 20)
    X.setflags(write=False)
    seen = []
    answer = solve_rpcag(X, L, gamma=1.0, max_iter=5, callback=lambda *call: seen.append(call))
    assert not answer.converged
    assert [n_iter for n_iter, _ in seen] == [1, 2, 3, 4, 5]
    assert answer.residual == seen[-1][1]


@pytest.mark.parametrize(
    ("given_", "text"),
    [
        ({"gamma": -1.0}, "gamma"),
        ({"gamma": np.inf}, "gamma"),
        ({"gamma": 1.0, "tol": 0.0}, "tol"),
        ({"gamma": 1.0, "weight": -1.0}, "weight"),
        ({"gamma": 1.0, "L_samples": np.eye(3)}, "L_samples"),
        ({"gamma": 1.0, "mask": np.zeros((10, 4), dtype=bool)}, "observed"),
    ],
)
def test_bad_input_is_refused_before_work(given_, text, monkeypatch):
    monkeypatch.setattr(module, "admm", None)
    X, L = problem(10, 4)
    with pytest.raises(ValueError, match=text):
        solve_rpcag(X, **{"L_samples": L, **given_})
