import warnings
from dataclasses import replace

import array_api_strict as strict
import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from graphlowrank._threads import limit_threads, single_threaded_libraries
from graphlowrank.graphs import Graph, path_graph
from graphlowrank.linalg.eigen import diagonal_bound
from graphlowrank.models import CompressedProblem, solve_frpcag
from graphlowrank.models.compiled_step import compiled_step
from graphlowrank.models.frpcag import minimize_frpcag
from graphlowrank.models.losses import LOSSES, DataFit, make_loss
from graphlowrank.models.smoothness import TwoGraphSmoothness
from graphlowrank.solvers import fista, proximal_step
from helpers import disjoint, random_graph


def data_fit(name, Y, weights=1.0, delta=0.7):
    return DataFit(make_loss(name, delta), Y, weights)


def problem(n=8, p=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, random_graph(n, seed=seed).unit_laplacian(), random_graph(p, seed=seed + 1).unit_laplacian()


# --- smooth terms ------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 999), gamma_s=st.floats(0, 3), gamma_f=st.floats(0, 3))
@settings(max_examples=30, deadline=None)
def test_gradient_belongs_to_its_value(seed, gamma_s, gamma_f):
    X, L_s, L_f = problem(seed=seed)
    rng = np.random.default_rng(seed)
    smooth = TwoGraphSmoothness(L_s, L_f, gamma_s, gamma_f)
    D = rng.standard_normal(X.shape)
    h = 1e-3
    slope = (smooth.value(X + h * D) - smooth.value(X - h * D)) / (2 * h)  # exact for a quadratic
    assert np.sum(smooth.grad(X) * D) == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_smoothness_is_the_sum_over_edges_of_both_graphs():
    X, _, _ = problem(5, 4)
    G, F = random_graph(5), random_graph(4)
    W, V = G.weights.toarray(), F.weights.toarray()
    samples = 0.5 * sum(W[i, j] * np.sum((X[i] - X[j]) ** 2) for i in range(5) for j in range(5))
    features = 0.5 * sum(V[i, j] * np.sum((X[:, i] - X[:, j]) ** 2) for i in range(4) for j in range(4))
    value = TwoGraphSmoothness(G.laplacian(), F.laplacian(), 2.0, 3.0).value(X)
    assert value == pytest.approx(2 * samples + 3 * features)


def test_objective_is_the_papers_on_the_transposed_matrix():
    # The paper writes Y (features x samples) and tr(X L_c X^T) for samples, tr(X^T L_r X) for features.
    U, L_c, L_r = problem()
    Y = np.random.default_rng(9).standard_normal(U.shape)
    X_paper, Y_paper = U.T, Y.T
    paper = (
        np.abs(Y_paper - X_paper).sum()
        + 1.5 * np.trace(X_paper @ L_c.toarray() @ X_paper.T)
        + 0.5 * np.trace(X_paper.T @ L_r.toarray() @ X_paper)
    )
    ours = data_fit("l1", Y).value(U) + TwoGraphSmoothness(L_c, L_r, 1.5, 0.5).value(U)
    assert ours == pytest.approx(paper)


# --- the solution -----------------------------------------------------------------------------------------


def test_l1_solution_satisfies_the_optimality_conditions():
    X, L_s, L_f = problem(12, 9)
    U = solve_frpcag(X, L_s, L_f, gamma_samples=0.5, gamma_features=0.2, tol=1e-12, max_iter=100_000).X
    G = TwoGraphSmoothness(L_s, L_f, 0.5, 0.2).grad(U)
    moved = np.abs(U - X) > 1e-7
    assert 0.1 < moved.mean() < 0.9  # both conditions are put to the test
    assert np.all(np.abs(G) <= 1 + 1e-5)
    assert_allclose(-G[moved], np.sign(U - X)[moved], atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(8, 6), (5, 9), (7, 1), (1, 6)])
def test_agreement_with_a_generic_convex_solver(loss, shape, weighted):
    n, p = shape
    X, L_s, L_f = problem(n, p) if min(n, p) > 1 else (np.random.default_rng(0).standard_normal(shape), None, None)
    if L_s is None:
        L_s = path_graph(n).laplacian() if n > 1 else None
        L_f = path_graph(p).laplacian() if p > 1 else None
    U = cp.Variable(shape)
    rng = np.random.default_rng(1)
    rows, columns = (rng.uniform(0.2, 4, n), rng.uniform(0.2, 4, p)) if weighted else (None, None)
    weights = np.outer(rows, columns) if weighted else np.ones(shape)
    entries = {"l1": cp.abs, "l2": cp.square, "huber": lambda R: cp.huber(R, 0.7) / (2 * 0.7)}[loss](U - X)
    fit = cp.sum(cp.multiply(weights, entries))
    smooth = 0
    if L_s is not None:
        smooth += 0.8 * cp.sum([cp.quad_form(U[:, j], cp.psd_wrap(L_s.toarray())) for j in range(p)])
    if L_f is not None:
        smooth += 0.4 * cp.sum([cp.quad_form(U[i, :], cp.psd_wrap(L_f.toarray())) for i in range(n)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy's own
        best = cp.Problem(cp.Minimize(fit + smooth)).solve(solver="CLARABEL")
    ours = solve_frpcag(
        X, L_s, L_f, gamma_samples=0.8, gamma_features=0.4, loss=loss, huber_delta=0.7, tol=1e-11, max_iter=50_000,
        sample_weights=rows, feature_weights=columns,
    ).X  # fmt: skip
    value = data_fit(loss, X, weights).value(ours) + TwoGraphSmoothness(
        L_s, L_f, 0.8 if L_s is not None else 0, 0.4 if L_f is not None else 0
    ).value(ours)
    assert value == pytest.approx(best, rel=1e-6)


def test_fista_meets_its_rate_on_a_badly_conditioned_graph():
    # gap_k <= 2 L ||X0 - X*||^2 / (k + 1)^2; plain gradient steps overshoot this bound by an order of magnitude.
    rng = np.random.default_rng(0)
    L = path_graph(60).laplacian()
    X, gamma = rng.standard_normal((60, 3)), 1000.0
    best = solve_frpcag(X, L, None, gamma_samples=gamma, gamma_features=0, tol=1e-14, max_iter=60_000, trace=True)
    run = solve_frpcag(X, L, None, gamma_samples=gamma, gamma_features=0, tol=1e-300, max_iter=3000, trace=True)
    gaps = np.array(run.objective) - min(best.objective)
    k = np.arange(1, len(gaps) + 1)
    bound = 2 * (2 * gamma * 4) * np.sum((X - best.X) ** 2) / (k + 1) ** 2
    assert np.all(gaps <= bound)


def hub_problem(n=60, p=40, seed=0):
    """Data with outliers on a path of samples, and a feature graph of weak edges with a hub."""
    rng = np.random.default_rng(seed)
    X = np.sin(np.linspace(0, 6, n))[:, None] * rng.standard_normal(p) + (rng.random((n, p)) < 0.1) * 5.0
    W = 0.01 * random_graph(p, seed=seed, spread=0.5).weights.toarray()
    W[0, 1:] = W[1:, 0] = 1.0
    return X, path_graph(n).unit_laplacian(), Graph(sp.csr_array(W)).unit_laplacian()


@pytest.mark.parametrize("loss", LOSSES)
def test_a_hub_does_not_shorten_the_steps_of_other_features(loss):
    """Against the slow twin, whose steps are 1 / Lipschitz constant for all entries."""
    fast = CompressedProblem(*hub_problem(), (0.1, 10.0), loss=loss, tol=1e-7, max_iter=100_000)
    slow = replace(fast, plain=True, tol=1e-9)
    value, iterations = [], []
    for one in (fast, slow):
        found = minimize_frpcag(one, trace=True)
        value.append(found.objective[-1])
        # The first iteration within a millionth of the least value.
        iterations.append(int(np.argmax(np.array(found.objective) < value[0] * (1 + 1e-6))))
    assert value[0] <= value[1] * (1 + 1e-9)
    assert 5 * iterations[0] < iterations[1]


@given(seed=st.integers(0, 999), gamma_s=st.floats(0.01, 30), gamma_f=st.floats(0.01, 30))
@settings(max_examples=20, deadline=None)
def test_optimality_conditions_on_graphs_with_hubs_and_isolated_nodes(seed, gamma_s, gamma_f):
    X, L_s, L_f = hub_problem(15, 10, seed)
    alone = sp.csr_array((1, 1))  # another sample and another feature, without edges
    L_s, L_f = sp.block_diag([L_s, alone], format="csr"), sp.block_diag([L_f, alone], format="csr")
    X = np.pad(X, (0, 1), constant_values=7.0)
    X[-1, 0] = np.nan  # missing, and known to the feature graph alone
    found = solve_frpcag(X, L_s, L_f, gamma_samples=gamma_s, gamma_features=gamma_f, tol=1e-11, max_iter=100_000)
    G = TwoGraphSmoothness(L_s, L_f, gamma_s, gamma_f).grad(found.X)
    seen = ~np.isnan(X)
    moved = np.abs(found.X - X) > 1e-6  # False where missing
    assert found.converged
    assert abs(G[~seen]).max() <= 1e-4
    assert np.abs(G[seen]).max() <= 1 + 1e-4
    assert_allclose(-G[moved], np.sign(found.X - X)[moved], atol=1e-4)
    assert found.X[-1, -1] == 7.0  # no edge pulls at it


@pytest.mark.parametrize("gammas", [(0.1, 10.0), (0.0, 2.0), (2.0, 0.0)])
def test_as_published_all_entries_have_one_step(gammas):
    X, L_s, L_f = hub_problem()
    lipschitz = sum(
        2 * gamma * np.linalg.eigvalsh(L.toarray())[-1] for gamma, L in zip(gammas, (L_s, L_f), strict=True)
    )
    published = CompressedProblem(X, L_s, L_f, gammas, tol=1e-300, max_iter=20, plain=True)
    step = proximal_step(TwoGraphSmoothness(L_s, L_f, *gammas), data_fit("l1", X), 1 / lipschitz)
    expected = fista(step, X, tol=1e-300, max_iter=20, restart=False).X
    for compiled in (False, True):
        assert_allclose(minimize_frpcag(published, compiled=compiled).X, expected, atol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
def test_zero_gammas_return_the_data(loss):
    X, L_s, L_f = problem()
    solution = solve_frpcag(X, L_s, L_f, gamma_samples=0, gamma_features=0, loss=loss)
    assert_allclose(solution.X, X)
    assert solution.converged
    assert solution.X is not X


def test_a_graph_without_edges_pulls_nowhere():
    X, _, _ = problem()
    empty = random_graph(8).laplacian() * 0
    empty.eliminate_zeros()
    assert_allclose(solve_frpcag(X, empty, None, gamma_samples=3, gamma_features=0).X, X)


def test_one_graph_with_l2_has_the_closed_form():
    X, L_s, L_f = problem()
    left = solve_frpcag(X, L_s, L_f, gamma_samples=2, gamma_features=0, loss="l2", tol=1e-12, max_iter=5000).X
    assert_allclose(left, np.linalg.solve(np.eye(8) + 2 * L_s.toarray(), X), atol=1e-8)
    right = solve_frpcag(X, L_s, L_f, gamma_samples=0, gamma_features=2, loss="l2", tol=1e-12, max_iter=5000).X
    assert_allclose(right, np.linalg.solve(np.eye(6) + 2 * L_f.toarray(), X.T).T, atol=1e-8)


def test_strong_gamma_gives_component_medians():
    rng = np.random.default_rng(2)
    graph = disjoint(random_graph(7, spread=0.3), random_graph(5, seed=1, spread=0.3))
    X = rng.standard_normal((12, 1))
    U = solve_frpcag(X, graph.laplacian(), None, gamma_samples=1e4, gamma_features=0, tol=1e-10, max_iter=50_000).X
    assert_allclose(U[:7], np.median(X[:7]), atol=1e-3)
    assert_allclose(U[7:], np.median(X[7:]), atol=1e-3)


def test_transposing_the_problem_transposes_the_answer():
    X, L_s, L_f = problem()
    options = {"tol": 1e-9, "max_iter": 20_000}
    one = solve_frpcag(X, L_s, L_f, gamma_samples=0.7, gamma_features=0.3, **options).X
    other = solve_frpcag(X.T.copy(), L_f, L_s, gamma_samples=0.3, gamma_features=0.7, **options).X
    assert_allclose(one, other.T, atol=1e-6)


def test_warm_start_saves_iterations():
    X, L_s, L_f = problem(30, 20)
    options = {"gamma_samples": 1.0, "gamma_features": 1.0, "tol": 1e-8, "max_iter": 20_000}
    cold = solve_frpcag(X, L_s, L_f, **options)
    warm = solve_frpcag(X, L_s, L_f, X0=cold.X, **options)
    assert warm.n_iter < cold.n_iter / 3
    assert_allclose(warm.X, cold.X, atol=1e-5)


def test_not_converging_is_said():
    X, L_s, L_f = problem()
    solution = solve_frpcag(X, L_s, L_f, gamma_samples=1, gamma_features=1, max_iter=2, tol=1e-12)
    assert not solution.converged
    assert solution.n_iter == 2
    with pytest.warns(ConvergenceWarning, match="FRPCAG did not converge in 2 iterations"):
        solution.warn_unless_converged("FRPCAG", "raise max_iter")


def test_inputs_are_left_alone():
    X, L_s, L_f = problem()
    X.setflags(write=False)
    start = X + 1
    start.setflags(write=False)
    before = L_s.toarray()
    solve_frpcag(X, L_s, L_f, X0=start, gamma_samples=1, gamma_features=1)
    assert_allclose(L_s.toarray(), before)


# --- twins -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gamma_features", [0.0, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_step_agrees_with_the_plain_one(loss, dtype, gamma_features, weighted):
    X, L_s, L_f = problem(40, 17)
    X, L_s, L_f = X.astype(dtype), L_s.astype(dtype), L_f.astype(dtype)
    options = {"gamma_samples": 1.0, "gamma_features": gamma_features, "loss": loss, "huber_delta": 0.3}
    if weighted:
        options |= {"sample_weights": np.linspace(0.3, 3, 40), "feature_weights": np.linspace(2, 0.5, 17)}
    plain = solve_frpcag(X, L_s, L_f, max_iter=12, tol=1e-300, **options)
    fused = solve_frpcag(X, L_s, L_f, max_iter=12, tol=1e-300, compiled=True, **options)
    assert fused.X.dtype == plain.X.dtype == dtype
    assert_allclose(fused.X, plain.X, atol=200 * np.finfo(dtype).eps)
    assert fused.residual == pytest.approx(plain.residual, rel=1e-2)


@pytest.mark.parametrize("n_rows", [1, 63, 64, 150])
@pytest.mark.parametrize("dense_above", [0.0, 1.1])
def test_feature_products_agree_for_any_cut_of_the_rows(n_rows, dense_above):
    X, L_s, L_f = problem(150, 17)
    smooth, rows, columns = TwoGraphSmoothness(L_s, L_f, 1.0, 0.5), np.ones(150), np.ones(17)
    options = {"block_bytes": n_rows * X.shape[1] * X.itemsize, "dense_above": dense_above}
    curvature = np.linspace(5, 20, 150), np.linspace(5, 0, 17)
    fused = compiled_step(smooth, X, make_loss("l1"), curvature, rows, columns, **options)
    plain = proximal_step(smooth, data_fit("l1", X), 1 / np.add.outer(*curvature))
    found, expected = (fista(step, X, tol=1e-300, max_iter=5).X for step in (fused, plain))
    assert np.abs(expected - X).max() > 0.1
    assert_allclose(found, expected, atol=1e-12)


def test_threads_do_not_change_the_solution(rng):
    X = rng.standard_normal((301, 37)).astype(np.float32)
    L_s, L_f = (sp.csr_array(random_graph(n, 0.6).unit_laplacian(), dtype=np.float32) for n in X.shape)
    smooth, rows, columns = TwoGraphSmoothness(L_s, L_f, 1.0, 0.5), *(np.ones(n, np.float32) for n in X.shape)
    curvature = 2 * diagonal_bound(L_s), diagonal_bound(L_f)
    answers = []
    for n_jobs in (1, 3, 5):
        with limit_threads(n_jobs), single_threaded_libraries():
            step = compiled_step(smooth, X, make_loss("l1"), curvature, rows, columns, block_bytes=7 * 37 * 4)
            answers.append(fista(step, X, tol=1e-3, max_iter=1000).X)
    assert_array_equal(answers[0], answers[1])
    assert_array_equal(answers[0], answers[2])


def test_compiled_loops_run_along_rows_whatever_the_layout():
    X, L_s, L_f = problem(40, 17)
    options = {"gamma_samples": 1.0, "gamma_features": 0.5, "max_iter": 5, "tol": 1e-300, "compiled": True}
    by_rows = solve_frpcag(X, L_s, L_f, **options).X
    by_columns = solve_frpcag(np.asfortranarray(X), L_s, L_f, X0=np.asfortranarray(X), **options).X
    assert by_columns.flags.c_contiguous
    assert_array_equal(by_columns, by_rows)


def test_the_order_of_samples_is_put_back():
    X, L_s, L_f = problem(40, 17)
    given_ = CompressedProblem(
        X, L_s, L_f, (1.0, 0.5), max_iter=12, tol=1e-300, X0=0.9 * X,
        sample_weights=np.linspace(0.3, 3, 40), feature_weights=np.linspace(2, 0.5, 17),
    )  # fmt: skip
    reordered = minimize_frpcag(given_, compiled=True, renumbered_above=0)
    assert_allclose(reordered.X, minimize_frpcag(given_).X, atol=1e-12)


def test_wide_data_are_solved_as_their_transpose():
    X, L_s, L_f = problem(17, 40)
    options = {
        "gamma_samples": 1.0, "gamma_features": 0.5, "max_iter": 12, "tol": 1e-300, "trace": True,
        "sample_weights": np.linspace(0.3, 3, 17), "feature_weights": np.linspace(2, 0.5, 40), "X0": 0.9 * X,
    }  # fmt: skip
    plain = solve_frpcag(X, L_s, L_f, **options)
    turned = solve_frpcag(X, L_s, L_f, compiled=True, **options)
    assert turned.X.flags.c_contiguous
    assert_allclose(turned.X, plain.X, atol=1e-12)
    assert_allclose(turned.objective, plain.objective, rtol=1e-12)


def test_sparse_and_dense_feature_products_agree():
    given_ = CompressedProblem(*problem(10, 8), (0.5, 0.5))
    dense, sparse = (minimize_frpcag(given_, dense_features_up_to=n).X for n in (8, 0))
    assert_allclose(sparse, dense, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_terms_and_solver_need_only_the_array_standard(loss):
    X, L_s, L_f = problem()
    step = 0.1
    reference = fista(
        proximal_step(TwoGraphSmoothness(L_s.toarray(), L_f.toarray(), 0.5, 0.5), data_fit(loss, X), step),
        X, tol=1e-6, max_iter=100,
    )  # fmt: skip
    Xs, Ls, Lf = (strict.asarray(A) for A in (X, L_s.toarray(), L_f.toarray()))
    smooth, fit = TwoGraphSmoothness(Ls, Lf, 0.5, 0.5), data_fit(loss, Xs)
    solution = fista(proximal_step(smooth, fit, step), Xs, tol=1e-6, max_iter=100, objective=fit.value)
    assert_allclose(np.asarray(solution.X), reference.X, atol=1e-12)
