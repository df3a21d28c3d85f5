import array_api_strict as strict
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank._threads import limit_threads
from graphlowrank.graphs import path_graph
from graphlowrank.linalg.products import GroundedLaplacian
from graphlowrank.solvers.conjugate_gradients import block_pcg
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
def test_compiled_conjugate_gradients_agree_with_the_plain_ones(rng, dtype, n, warm):
    A = sp.csr_array(path_graph(n, reach=2).laplacian() + sp.diags_array(rng.uniform(0.1, 10, n)), dtype=dtype)
    B = rng.standard_normal((n, 4)).astype(dtype)
    B[:, 2] *= warm
    options = {
        "diagonal": A.diagonal(), "tol": 1e-4, "X0": rng.standard_normal((n, 4)).astype(dtype) if warm else None
    }  # fmt: skip
    plain = block_pcg(A, B, compiled=False, **options)
    options["compiled"] = True
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


@pytest.mark.parametrize("compiled", [True, False])
def test_grounded_laplacian_is_solved_on_the_free_nodes(rng, compiled):
    graph, grounded = random_graph(40, 0.2), np.array([3, 17, 31])
    A, free = GroundedLaplacian.of(graph.weights, grounded), np.setdiff1d(np.arange(40), grounded)
    L = graph.laplacian().toarray()
    X = np.zeros((40, 3))
    X[free] = rng.standard_normal((37, 3))
    assert_allclose((A @ X)[free], (L @ X)[free], rtol=1e-10, atol=1e-10)
    assert not (A @ X)[grounded].any()
    assert_allclose(A.matrix().toarray(), L[np.ix_(free, free)], rtol=1e-12)
    B = A @ X
    found = block_pcg(A, B, diagonal=np.where(A.free, A.degrees, np.inf), tol=1e-12, compiled=compiled)
    assert found.converged
    assert not found.X[grounded].any()
    assert_allclose(found.X, X, atol=1e-6)


@pytest.mark.parametrize("compiled", [True, False])
def test_nan_is_not_solved(compiled):
    A, B = sp.csr_array(np.diag([1.0, 2.0])), np.array([[1.0], [np.nan]])
    assert not block_pcg(A, B, diagonal=A.diagonal(), max_iter=3, compiled=compiled).converged


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("power", [-60, 70])
def test_columns_whose_squares_leave_single_precision(rng, power, compiled):
    """A constant feature, centred, is a column of rounding errors: it must not keep the others waiting."""
    M = sp.random_array((60, 60), density=0.1, rng=rng, dtype=np.float64)
    A = sp.csr_array((M @ M.T + 3 * sp.eye_array(60)).astype(np.float32))
    b = rng.standard_normal(60).astype(np.float32)
    B = np.column_stack([b, b * np.float32(2.0**power), np.zeros_like(b)])
    found = block_pcg(A, B, diagonal=A.diagonal(), tol=1e-6, X0=np.zeros_like(B), compiled=compiled)
    assert found.converged
    assert found.n_iter < 60
    assert_allclose(found.X[:, 1], found.X[:, 0] * np.float32(2.0**power), rtol=1e-6)
    assert not found.X[:, 2].any()
