import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits
from sklearn.decomposition import non_negative_factorization
from sklearn.exceptions import ConvergenceWarning

import graphlowrank.models.gnmf as module
from graphlowrank.graphs import Graph, knn_graph, path_graph
from graphlowrank.models.gnmf import solve_gnmf, starting_factors

UPDATES = ["accelerated", "multiplicative"]
DIGITS = load_digits().data


def random_data(n, p, rank=None, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, p)) if rank is None else rng.random((n, rank)) @ rng.random((rank, p))


def laplacian_of(X, n_neighbors=4):
    return knn_graph(X, min(n_neighbors, len(X) - 1)).unit_laplacian()


def objective(X, L, S, C, gamma):
    """Slow twin: any length of components, and edges one by one."""
    lengths = np.sum(C * C, axis=1)
    edges = sp.coo_array(L)
    rough = sum(
        -w / 2 * (S[i] - S[j]) ** 2 @ lengths for i, j, w in zip(*edges.coords, edges.data, strict=True) if i != j
    )
    return np.sum((X - S @ C) ** 2) + gamma * rough


def start(n, p, k, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, k)) + 0.01, rng.random((k, p)) + 0.01


def unit(S, C):
    lengths = np.linalg.norm(C, axis=1)
    return S * lengths, C / lengths[:, None]


# --- the objective falls -------------------------------------------------------------------------------------


@pytest.mark.parametrize("updates", UPDATES)
@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 25),
    p=st.integers(1, 25),
    k=st.integers(1, 6),
    rank=st.sampled_from([None, 1, 3]),
    gamma=st.sampled_from([0, 0.3, 10, 1000]),
    dtype=st.sampled_from([np.float64, np.float32]),
    init=st.sampled_from(["nndsvda", "random"]),
    is_sparse=st.booleans(),
    seed=st.integers(0, 99),
)
def test_objective_never_rises_and_is_what_it_says(updates, n, p, k, rank, gamma, dtype, init, is_sparse, seed):
    X = random_data(n, p, rank, seed)
    X = (X if rank else np.maximum(X - 0.3, 0)).astype(dtype)
    X[0, 0] = 1  # not all zero
    L = laplacian_of(X)
    found = solve_gnmf(
        sp.csr_array(X) if is_sparse else X, L, min(k, n, p), gamma=gamma, init=init, updates=updates, max_iter=30,
        random_state=seed,
    )  # fmt: skip
    rounding = 20 * float(np.finfo(dtype).eps) * (1 + gamma) * float(np.sum(X**2))
    assert np.all(np.diff(found.objective) <= rounding)
    S, C = found.scores.astype(float), found.components.astype(float)
    assert found.objective[-1] == pytest.approx(objective(X, L, S, C, gamma), abs=rounding, rel=1e-5)
    assert found.scores.dtype == found.components.dtype == dtype
    assert S.min() >= 0
    assert C.min() >= 0
    assert_allclose(np.linalg.norm(C, axis=1), 1, rtol=1e-5)


def test_multiplicative_updates_are_the_published_ones():
    X, (S, C), gamma = random_data(15, 8), start(15, 8, 3), 4.0
    L = laplacian_of(X)
    D = np.diag(L.diagonal())
    S, C = unit(S, C)
    found = solve_gnmf(X, L, 3, gamma=gamma, init=(S, C), updates="multiplicative", max_iter=1)
    S = S * (X @ C.T + gamma * (D - L.toarray()) @ S) / (S @ C @ C.T + gamma * D @ S)
    rough = np.diag(np.sum(S * (L @ S), axis=0))
    S, C = unit(S, C * (S.T @ X) / (S.T @ S @ C + gamma * rough @ C))
    assert_allclose(found.scores, S, rtol=1e-10)
    assert_allclose(found.components, C, rtol=1e-10)


@pytest.mark.parametrize("updates", UPDATES)
def test_scores_of_two_joined_samples_do_not_swap_for_ever(updates):
    """The worst graph for steps of this length: its largest eigenvalue is twice the degree."""
    X, gamma = np.array([[1.0, 0.1], [0.1, 1.0]]), 1000.0
    L = path_graph(2).unit_laplacian()
    found = solve_gnmf(X, L, 2, gamma=gamma, init=(X, np.eye(2)), updates=updates, max_iter=200, tol=0)
    assert np.all(np.diff([objective(X, L, X, np.eye(2), gamma), *found.objective]) <= 1e-9)
    assert found.objective[-1] < 2


@pytest.mark.parametrize("gamma", [0, 5])
def test_size_can_be_moved_between_scores_and_components(gamma, rng):
    X = random_data(30, 12)
    L, (S, C), sizes = laplacian_of(X), start(30, 12, 3), np.array([1e-3, 1.0, 50.0])
    assert objective(X, L, S / sizes, C * sizes[:, None], gamma) == pytest.approx(objective(X, L, S, C, gamma))
    for updates in UPDATES:
        one = solve_gnmf(X, L, 3, gamma=gamma, init=(S, C), updates=updates, max_iter=20)
        other = solve_gnmf(X, L, 3, gamma=gamma, init=(S / sizes, C * sizes[:, None]), updates=updates, max_iter=20)
        assert_allclose(other.objective, one.objective, rtol=1e-10)
        assert_allclose(other.scores, one.scores, rtol=1e-6, atol=1e-10)


def test_momentum_never_raises_the_objective():
    """On a long path momentum alone overshoots."""
    X, (S, C), gamma = random_data(60, 3), unit(*start(60, 3, 2)), 100.0
    L = path_graph(60).unit_laplacian()
    problem, values = module._Problem(X, L, gamma), []
    for n_steps in range(150):
        stepped = module._accelerate_scores(problem, S, X @ C.T, C @ C.T, n_steps=n_steps, rtol=-1)
        values.append(objective(X, L, stepped, C, gamma))
    assert np.all(np.diff(values) <= 1e-10 * values[0])


@pytest.mark.parametrize("gamma", [0, 3, 100])
def test_acceleration_pays(gamma):
    X = DIGITS[:500]
    L, init = laplacian_of(X, 10), start(500, 64, 10)
    slow = solve_gnmf(X, L, 10, gamma=gamma, init=init, updates="multiplicative", tol=0, max_iter=400)
    fast = solve_gnmf(X, L, 10, gamma=gamma, init=init, tol=0, max_iter=60)
    assert fast.objective[-1] < slow.objective[-1]


# --- the answer ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0, 2, 10])
@pytest.mark.parametrize(("n", "p", "rank"), [(30, 12, None), (12, 30, None), (25, 20, 4)])
def test_conditions_of_a_minimum_hold(n, p, rank, gamma):
    X = random_data(n, p, rank) + (0.1 * random_data(n, p, seed=1) if rank else 0)
    L = laplacian_of(X)
    found = solve_gnmf(X, L, 3, gamma=gamma, tol=1e-13, max_iter=20_000)
    assert found.converged
    S, C = found.scores, found.components
    grad_S = (S @ C - X) @ C.T + gamma * (L @ S)
    grad_C = S.T @ (S @ C - X) + gamma * np.sum(S * (L @ S), axis=0)[:, None] * C
    for part, grad, scale in ((S, grad_S, np.abs(X @ C.T).max()), (C, grad_C, np.abs(S.T @ X).max())):
        assert grad.min() >= -1e-4 * scale
        assert np.abs(part * grad).max() <= 1e-4 * scale * part.max()


@pytest.mark.parametrize("max_iter", [1, 2, 10, 100])
@pytest.mark.parametrize("shape", [(30, 12), (12, 30)], ids=str)
def test_without_a_graph_multiplicative_updates_are_those_of_scikit_learn(shape, max_iter):
    X, init = random_data(*shape), start(*shape, 4)
    W, H = (part.copy() for part in init)
    W, H, _ = non_negative_factorization(
        X, W=W, H=H, n_components=4, init="custom", solver="mu", tol=0, max_iter=max_iter
    )
    found = solve_gnmf(X, None, 4, gamma=7, init=init, updates="multiplicative", tol=0, max_iter=max_iter)
    S, C = unit(W, H)
    assert_allclose(found.scores, S, rtol=1e-9)
    assert_allclose(found.components, C, rtol=1e-9)
    zero = solve_gnmf(X, laplacian_of(X), 4, gamma=0, init=init, updates="multiplicative", tol=0, max_iter=max_iter)
    assert_array_equal(zero.scores, found.scores)


@pytest.mark.parametrize("to", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_start_is_that_of_scikit_learn(to):
    X = DIGITS[:100] / DIGITS[:100].mean()  # on data of mean 1, the zeros are filled alike
    W, H, _ = non_negative_factorization(
        X, n_components=8, init="nndsvda", solver="mu", tol=0, max_iter=1, random_state=0
    )
    found = solve_gnmf(to(X), None, 8, gamma=0, updates="multiplicative", tol=0, max_iter=1, random_state=0)
    S, C = unit(W, H)
    assert_allclose(found.scores, S, rtol=1e-3, atol=1e-3)
    assert_allclose(found.components, C, rtol=1e-3, atol=1e-3)


def test_a_start_of_too_low_rank_has_no_twins():
    S, C = starting_factors(random_data(20, 10, rank=2), 5, "nndsvda", np.random.RandomState(0), 1.0)
    assert min(S.min(), C.min()) > 0
    for rows in (S.T, C):
        directions = rows / np.linalg.norm(rows, axis=1)[:, None]
        assert (directions @ directions.T)[np.triu_indices(5, 1)].max() < 1 - 1e-6


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_known_factors_are_recovered(dtype):
    """Each component has a feature and each sample group a component of its own, so the factors are unique."""
    rng = np.random.default_rng(0)
    C = np.hstack([np.eye(4), rng.random((4, 16)) * (rng.random((4, 16)) < 0.5)])
    S = np.vstack([3 * np.eye(4), rng.random((80, 4)) * (rng.random((80, 4)) < 0.6)])
    found = solve_gnmf((S @ C).astype(dtype), None, 4, gamma=0, tol=1e-7, max_iter=5000, random_state=0)
    assert found.converged
    S, C = unit(S, C)
    order = np.argmax(C @ found.components.T, axis=1)
    assert_allclose(found.components[order], C, atol=1e-2)
    assert_allclose(found.scores[:, order], S, atol=5e-2)
    assert found.objective[-1] < 1e-6 * np.sum((S @ C) ** 2)


def test_a_close_fit_is_measured_exactly_in_single_precision():
    S, C = start(60, 40, 3)
    X = (S @ C).astype(np.float32)
    found = solve_gnmf(X, None, 3, gamma=0, tol=1e-6, max_iter=3000)
    residual = np.sum((X.astype(float) - found.scores.astype(float) @ found.components.astype(float)) ** 2)
    assert residual < 1e-6 * np.sum(X**2)
    assert found.objective[-1] == pytest.approx(residual, rel=0.05)


@pytest.mark.parametrize("gamma", [0.0, 1e3])
def test_a_strong_graph_makes_scores_constant_on_its_parts(gamma):
    X = random_data(30, 8)
    two_parts = Graph(sp.csr_array(sp.block_diag([path_graph(15, reach=14).weights] * 2)))
    found = solve_gnmf(X, two_parts.unit_laplacian(), 2, gamma=gamma, tol=1e-10, max_iter=5000)
    spread = max(np.ptp(found.scores[part], axis=0).max() for part in (slice(15), slice(15, 30)))
    assert (spread < 5e-3) == (gamma > 0)
    if gamma:  # what is left is the factorisation of the means
        means = np.repeat([X[:15].mean(axis=0), X[15:].mean(axis=0)], 15, axis=0)
        assert_allclose(found.scores @ found.components, means, atol=1e-2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gamma", [1e6, 1e12, 1e30])
def test_the_strongest_graphs_fit_no_worse_than_the_mean(gamma, dtype):
    """Scores of zeros were taken for the answer: the gradient of the fit was lost in the rounding of the other."""
    X = random_data(40, 8).astype(dtype)
    found = solve_gnmf(X, laplacian_of(X), 3, gamma=gamma)
    left = np.linalg.norm(X - found.scores @ found.components)
    assert left < 1.001 * np.linalg.norm(X - X.mean(axis=0))
    assert np.ptp(found.scores, axis=0).max() < 0.03 * found.scores.max()


# --- data of all kinds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("updates", UPDATES)
def test_sparse_and_dense_agree(updates):
    X = random_data(40, 25)
    X[X < 0.7] = 0
    L, init = laplacian_of(X), start(40, 25, 3)
    options = {"gamma": 3, "init": init, "updates": updates, "max_iter": 25}
    dense = solve_gnmf(X, L, 3, **options)
    for to in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array):
        found = solve_gnmf(to(X), L, 3, **options)
        assert_allclose(found.scores, dense.scores, rtol=1e-6, atol=1e-9)
        assert_allclose(found.objective, dense.objective, rtol=1e-9)


@pytest.mark.parametrize(("factor", "dtype"), [(3.7, float), (1e-100, float), (1e25, np.float32), (1e-25, np.float32)])
def test_answer_scales_with_the_data(factor, dtype):
    X = random_data(40, 25).astype(dtype)
    L = laplacian_of(X)
    one, other = (solve_gnmf(X * dtype(unit), L, 3, gamma=2, max_iter=20, tol=1e-9) for unit in (1, factor))
    assert_allclose(other.scores / dtype(factor), one.scores, atol=1e-6 if dtype is float else 1e-2)
    assert_allclose(other.components, one.components, atol=1e-6 if dtype is float else 1e-2)
    assert other.objective[-1] / factor**2 == pytest.approx(one.objective[-1], rel=1e-4)
    S, C = start(40, 25, 3)
    one, other = (
        solve_gnmf(X * dtype(unit), L, 3, gamma=2, init=(S * unit, C), updates="multiplicative", max_iter=1)
        for unit in (1, factor)
    )
    assert other.objective[-1] / factor**2 == pytest.approx(one.objective[-1], rel=1e-4)


@pytest.mark.parametrize("updates", UPDATES)
def test_a_graph_in_double_precision_leaves_single_precision_alone(updates, monkeypatch):
    X, seen = random_data(20, 8).astype(np.float32), []
    original = module.spmm
    monkeypatch.setattr(module, "spmm", lambda L, S: seen.append((L.dtype, S.dtype)) or original(L, S))
    found = solve_gnmf(X, laplacian_of(X.astype(float)), 2, gamma=3, updates=updates, max_iter=5)
    assert found.scores.dtype == found.components.dtype == np.float32
    assert set(seen) == {(np.dtype(np.float32), np.dtype(np.float32))}


@pytest.mark.parametrize("to", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("init", ["nndsvda", "random"])
def test_zero_matrix(to, init):
    found = solve_gnmf(to(np.zeros((6, 4))), path_graph(6).unit_laplacian(), 2, gamma=1, init=init, random_state=0)
    assert (found.n_iter, found.converged, found.objective) == (0, True, [])
    assert not found.scores.any()
    assert_allclose(np.linalg.norm(found.components, axis=1), 1)
    found.warn_unless_converged("it", "do")


def test_rows_and_columns_of_zeros():
    X = random_data(20, 10)
    X[3], X[:, 4] = 0, 0
    for updates in UPDATES:
        found = solve_gnmf(X, None, 3, gamma=0, updates=updates, max_iter=300, tol=1e-6)
        assert np.isfinite(found.scores).all()
        assert_allclose(found.scores[3] @ found.components, 0, atol=1e-6)
        assert_allclose(found.components[:, 4], 0, atol=1e-6)


def test_a_component_that_vanished_can_return():
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    useless = np.array([[1.0, 0.0], [0.0, 1e-9]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    useless[0][1, 1] = 0  # the second component has no scores to begin with
    found = solve_gnmf(X, None, 2, gamma=0, init=useless, tol=1e-10, max_iter=200)
    assert_allclose(found.scores @ found.components, X, atol=1e-4)
    assert_allclose(np.linalg.norm(found.components, axis=1), 1)


@pytest.mark.parametrize("init", ["nndsvda", "random"])
def test_seeds_decide(init):
    X = sp.csr_array(np.where(random_data(40, 20) > 0.6, 1.0, 0))
    one, same, other = (
        solve_gnmf(X, None, 3, gamma=0, init=init, max_iter=3, random_state=s).scores for s in (0, 0, 1)
    )
    assert_array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("to", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_memory_is_that_of_the_thin_factors(to):
    X = np.zeros((2000, 1600))
    X[np.arange(2000), np.arange(2000) % 1600] = 1
    X[:, 0] = 1
    data, L = to(X), path_graph(2000).unit_laplacian()
    solve_gnmf(data[:50, :50], None, 3, gamma=0, max_iter=2)  # what is loaded once does not count
    tracemalloc.start()
    solve_gnmf(data, L, 3, gamma=1, init="random", max_iter=3, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * 3 * 3600 * 8  # twenty thin arrays; X has 25 MB


# --- the run -------------------------------------------------------------------------------------------------


def test_stopping_rule_callback_and_warning():
    X, seen = DIGITS[:100], []
    found = solve_gnmf(X, None, 4, gamma=0, tol=1e-3, callback=lambda *call: seen.append(call))
    assert found.converged
    assert len(found.objective) == found.n_iter == len(seen)
    assert [n_iter for n_iter, _ in seen] == list(range(1, found.n_iter + 1))
    falls = [(a - b) / a for a, b in zip(found.objective, found.objective[10:], strict=False)]
    assert seen[-1][1] == found.residual == pytest.approx(falls[-1])
    assert falls[-1] <= 1e-3 < min(falls[:-1])
    assert found.warn_unless_converged("it", "do") is found
    short = solve_gnmf(X, None, 4, gamma=0, tol=1e-9, max_iter=12)
    assert (short.n_iter, short.converged) == (12, False)
    with pytest.warns(ConvergenceWarning, match="it did not converge in 12 iterations .* do"):
        short.warn_unless_converged("it", "do")


@pytest.mark.parametrize("rank", [1, 3])
def test_a_perfect_fit_ends(rank):
    X = random_data(40, 20, rank)
    found = solve_gnmf(X, None, rank, gamma=0)
    assert found.converged
    assert found.objective[-1] < 1e-4 * np.sum(X**2)
