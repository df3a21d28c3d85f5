import threading

import array_api_strict as strict
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info

import graphlowrank._backend as backend
import graphlowrank.linalg.svd as svd_module
from graphlowrank._backend import spmm
from graphlowrank._threads import current_threads, limit_threads, map_ranges, resolve_n_jobs
from graphlowrank.graphs import path_graph
from graphlowrank.linalg.grounded import GroundedLaplacian
from graphlowrank.linalg.svd import leading_svd, orthonormal_product, rank_of
from graphlowrank.solvers import pcg
from graphlowrank.solvers.pcg import block_pcg
from helpers import random_graph


@given(seed=st.integers(0, 999), n=st.integers(1, 20), k=st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_pcg_solves_each_column(seed, n, k):
    rng = np.random.default_rng(seed)
    A = random_graph(n, seed=seed).laplacian().toarray() + 0.1 * np.eye(n)
    B = rng.standard_normal((n, k)) * 10.0 ** rng.integers(-6, 6, k)
    solution = block_pcg(A, B, diagonal=np.diag(A), tol=1e-10, max_iter=5000)
    assert solution.converged
    inverse = 1 / np.diag(A)[:, None]
    largest = np.abs(inverse * B).max(axis=0)
    assert np.all(np.abs(inverse * (A @ solution.X - B)) <= 2e-10 * largest)


def test_pcg_handles_zero_columns_and_warm_starts(rng):
    A = random_graph(10).laplacian().toarray() + np.eye(10)
    B = np.column_stack([np.zeros(10), rng.standard_normal(10)])
    cold = block_pcg(A, B, diagonal=np.diag(A), tol=1e-10)
    assert_array_equal(cold.X[:, 0], 0)
    warm = block_pcg(A, B, diagonal=np.diag(A), X0=cold.X, tol=1e-8)
    assert warm.n_iter == 0


def test_pcg_does_not_mind_badly_scaled_unknowns(rng):
    # Jacobi preconditioning makes the iterations those of the same matrix with unit diagonal.
    M = random_graph(60, spread=0.5).laplacian().toarray() + np.eye(60)
    units = 10.0 ** rng.uniform(-3, 3, 60)
    A, B = units[:, None] * M * units, rng.standard_normal((60, 2))
    plain = block_pcg(M, B, diagonal=np.diag(M), tol=1e-8)
    scaled = block_pcg(A, units[:, None] * B, diagonal=np.diag(A), tol=1e-8)
    assert scaled.converged
    assert scaled.n_iter <= 2 * plain.n_iter


def test_pcg_says_when_it_fails(rng):
    A = random_graph(30).laplacian().toarray() + 1e-6 * np.eye(30)
    solution = block_pcg(A, rng.standard_normal((30, 2)), diagonal=np.diag(A), tol=1e-12, max_iter=2)
    assert not solution.converged
    assert solution.residual > 1e-12


def test_pcg_needs_only_the_array_standard(rng):
    A = random_graph(8).laplacian().toarray() + np.eye(8)
    B = rng.standard_normal((8, 3))
    X = block_pcg(strict.asarray(A), strict.asarray(B), diagonal=strict.asarray(np.diag(A).copy()), tol=1e-10).X
    assert_allclose(np.asarray(X), np.linalg.solve(A, B), atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [3, 512, 1300])
@pytest.mark.parametrize("warm", [False, True])
def test_compiled_conjugate_gradients_agree_with_the_plain_ones(monkeypatch, rng, dtype, n, warm):
    A = sp.csr_array(path_graph(n, reach=2).laplacian() + sp.diags_array(rng.uniform(0.1, 10, n)), dtype=dtype)
    B = rng.standard_normal((n, 4)).astype(dtype)
    B[:, 2] *= warm
    options = {
        "diagonal": A.diagonal(), "tol": 1e-4, "X0": rng.standard_normal((n, 4)).astype(dtype) if warm else None
    }  # fmt: skip
    plain = block_pcg(A, B, **options)
    monkeypatch.setattr(pcg, "COMPILED_ABOVE", 0)
    compiled = block_pcg(A, B, **options)
    assert compiled.converged
    assert compiled.n_iter == plain.n_iter
    assert compiled.X.dtype == dtype
    assert_allclose(compiled.X, plain.X, atol=300 * np.finfo(dtype).eps)
    assert compiled.residual == pytest.approx(plain.residual, rel=1e-2, abs=1e-6)
    with limit_threads(1):
        assert_array_equal(block_pcg(A, B, **options).X, compiled.X)
    short = block_pcg(A, B, **{**options, "tol": 1e-30, "max_iter": 1})
    assert (short.n_iter, short.converged) == (min(1, short.n_iter), False)


@pytest.mark.parametrize("compiled_above", [0, 10**9])
def test_grounded_laplacian_is_solved_on_the_free_nodes(monkeypatch, rng, compiled_above):
    monkeypatch.setattr(pcg, "COMPILED_ABOVE", compiled_above)
    graph, grounded = random_graph(40, 0.2), np.array([3, 17, 31])
    A, free = GroundedLaplacian.of(graph.weights, grounded), np.setdiff1d(np.arange(40), grounded)
    L = graph.laplacian().toarray()
    X = np.zeros((40, 3))
    X[free] = rng.standard_normal((37, 3))
    assert_allclose((A @ X)[free], (L @ X)[free], rtol=1e-10, atol=1e-10)
    assert not (A @ X)[grounded].any()
    assert_allclose(A.matrix().toarray(), L[np.ix_(free, free)], rtol=1e-12)
    B = A @ X
    found = block_pcg(A, B, diagonal=np.where(A.free, A.degrees, np.inf), tol=1e-12)
    assert found.converged
    assert not found.X[grounded].any()
    assert_allclose(found.X, X, atol=1e-6)


@pytest.mark.parametrize("compiled_above", [0, 10**9])
def test_what_is_not_a_number_is_not_solved(monkeypatch, compiled_above):
    monkeypatch.setattr(pcg, "COMPILED_ABOVE", compiled_above)
    A = sp.csr_array(np.diag([1.0, 2.0]))
    assert not block_pcg(A, np.array([[1.0], [np.nan]]), diagonal=A.diagonal(), max_iter=3).converged


@pytest.mark.parametrize("compiled_above", [0, np.inf])
@pytest.mark.parametrize("power", [-60, 70])
def test_columns_whose_squares_leave_single_precision(rng, monkeypatch, power, compiled_above):
    """A constant feature, centred, is a column of rounding errors: it must not keep the others waiting."""
    monkeypatch.setattr("graphlowrank.solvers.pcg.COMPILED_ABOVE", compiled_above)
    M = sp.random_array((60, 60), density=0.1, rng=rng, dtype=np.float64)
    A = sp.csr_array((M @ M.T + 3 * sp.eye_array(60)).astype(np.float32))
    b = rng.standard_normal(60).astype(np.float32)
    B = np.column_stack([b, b * np.float32(2.0**power), np.zeros_like(b)])
    found = block_pcg(A, B, diagonal=A.diagonal(), tol=1e-6, X0=np.zeros_like(B))
    assert found.converged
    assert found.n_iter < 60
    assert_allclose(found.X[:, 1], found.X[:, 0] * np.float32(2.0**power), rtol=1e-6)
    assert not found.X[:, 2].any()


@pytest.mark.parametrize("shape", [(30, 8), (8, 30), (10, 10), (7, 1), (1, 7)])
@pytest.mark.parametrize("path", ["gram", "sketch"])
def test_leading_svd_is_the_svd(monkeypatch, shape, path, rng):
    if path == "sketch":
        monkeypatch.setattr(svd_module, "GRAM_UP_TO", 0)
    X = rng.standard_normal(shape)
    k = min(3, *shape)
    left, values, right = leading_svd(X, k)
    u, s, vt = np.linalg.svd(X, full_matrices=False)
    assert_allclose(values, s[:k], rtol=1e-6)
    assert_allclose((left * values) @ right.T, (u[:, :k] * s[:k]) @ vt[:k], atol=1e-5)
    assert np.all(right[np.argmax(np.abs(right), axis=0), np.arange(k)] > 0)


@pytest.mark.parametrize("path", ["gram", "sketch"])
def test_rank_rule_decides_how_many(monkeypatch, path, rng):
    if path == "sketch":
        monkeypatch.setattr(svd_module, "GRAM_UP_TO", 0)
    u, v = np.linalg.qr(rng.standard_normal((200, 90)))[0], np.linalg.qr(rng.standard_normal((120, 90)))[0]
    s = np.r_[np.linspace(1, 0.11, 80), np.full(10, 0.09)]  # 80 values count: more than the first sketch looks at
    assert len(leading_svd((u * s) @ v.T)[1]) == 80


def test_rank_of_limits():
    assert rank_of(np.array([])) == 0
    assert rank_of(np.zeros(3)) == 0
    assert rank_of(np.array([1.0, 0.1, 0.0999])) == 2


def test_rank_deficient_and_float32(rng):
    X = (rng.standard_normal((40, 2)) @ rng.standard_normal((2, 9))).astype(np.float32)
    left, values, right = leading_svd(X, 5)
    assert left.dtype == values.dtype == right.dtype == np.float32
    assert np.all(np.isfinite(left))
    assert_allclose((left * values) @ right.T, X, atol=1e-4)


@given(seed=st.integers(0, 99), n=st.integers(3, 12), p=st.integers(3, 12), k=st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_orthonormal_product_refactors(seed, n, p, k):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((n, k)), rng.standard_normal((p, k))
    left, values, right = orthonormal_product(A, B)
    assert_allclose((left * values) @ right.T, A @ B.T, atol=1e-10)
    assert_allclose(left.T @ left, np.eye(k), atol=1e-10)
    assert_allclose(right.T @ right, np.eye(k), atol=1e-10)
    assert np.all(np.diff(values) <= 1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_product_agrees_with_scipy(monkeypatch, dtype, rng):
    L = random_graph(50, seed=2).laplacian().astype(dtype)
    X = rng.standard_normal((50, 13)).astype(dtype)
    plain = L @ X
    monkeypatch.setattr(backend, "COMPILED_ABOVE", 0)
    assert_allclose(spmm(L, X), plain, atol=100 * np.finfo(dtype).eps * np.abs(plain).max())


@given(n=st.integers(0, 100), n_jobs=st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_ranges_cover_everything_once(n, n_jobs):
    seen = np.zeros(n, dtype=int)

    def mark(start, stop):
        seen[start:stop] += 1

    with limit_threads(n_jobs):
        map_ranges(mark, n)
    assert np.all(seen == 1)


def test_errors_in_threads_come_out():
    with limit_threads(2), pytest.raises(ZeroDivisionError):
        map_ranges(lambda start, stop: 1 / 0, 10)


def test_an_inner_call_keeps_the_outer_limit():
    with limit_threads(1):
        with limit_threads(None):
            assert current_threads() == 1
        assert current_threads() == 1


def test_overlapping_limits_are_put_back():
    def blas_threads():
        return sorted(pool["num_threads"] for pool in threadpool_info())

    before = blas_threads()
    inside = threading.Barrier(3)

    def hold(n_jobs):
        with limit_threads(n_jobs):
            inside.wait()

    threads = [threading.Thread(target=hold, args=(n_jobs,)) for n_jobs in (1, 2, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blas_threads() == before


def test_n_jobs_counts():
    assert resolve_n_jobs(None) == resolve_n_jobs(-1) >= 1
    assert resolve_n_jobs(4) == 4
    assert resolve_n_jobs(-1000) == 1
    with pytest.raises(ValueError, match="n_jobs"):
        resolve_n_jobs(0)
