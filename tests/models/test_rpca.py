import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import graphlowrank.models.rpca as module
from graphlowrank.linalg import shrinkage
from graphlowrank.models import solve_rpca
from graphlowrank.solvers.inexact_alm import InexactALM

SHAPES = [(120, 150), (150, 120), (300, 250)]  # Gram matrix of rows, of columns, sketch
SLOW = 1.03  # growth at which the answer is the optimum to several digits


def low_rank_and_sparse(n, p, rank=None, share=0.05, seed=0):
    """X = L + S with rank and support a twentieth of what there is; and L and S."""
    rng = np.random.default_rng(seed)
    rank = round(0.05 * min(n, p)) if rank is None else rank
    L = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p))
    S = np.where(rng.random((n, p)) < share, rng.uniform(-1, 1, (n, p)) * 10 * np.sqrt(rank), 0)
    return L + S, L, S


def gaussian(n, p, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p))


def objective(L, S, weight):
    return np.linalg.norm(L, "nuc") + weight * np.abs(S).sum()


def relative(A, B):
    return np.linalg.norm(A - B) / np.linalg.norm(B)


def shrunk(M, threshold):
    """Slow twin of the shrinkage."""
    left, values, right = np.linalg.svd(M, full_matrices=False)
    return left * np.maximum(values - threshold, 0) @ right


# --- the answer --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_low_rank_and_sparse_parts_are_recovered_exactly(shape):
    X, L, S = low_rank_and_sparse(*shape)
    answer = solve_rpca(X)
    assert answer.converged
    assert relative(answer.low_rank, L) < 1e-5
    assert relative(answer.sparse, S) < 1e-5
    assert answer.rank == np.linalg.matrix_rank(L) == np.linalg.matrix_rank(answer.low_rank, tol=1e-5)
    assert np.mean((answer.sparse != 0) == (S != 0)) > 0.999


@pytest.mark.parametrize("make", [lambda *s: low_rank_and_sparse(*s)[0], gaussian], ids=["recoverable", "gaussian"])
@pytest.mark.parametrize("shape", [(40, 60), (60, 40)], ids=str)
def test_dual_certifies_the_optimum(make, shape):
    X, weight = make(*shape), 1 / np.sqrt(60)
    answer = solve_rpca(X, growth=SLOW, tol=1e-9, max_iter=3000)
    assert answer.converged
    Y, S, L = answer.dual, answer.sparse, answer.low_rank
    assert_allclose(L + S, X, atol=1e-7 * np.abs(X).max())
    assert 0 < np.count_nonzero(S) < S.size
    assert np.abs(Y).max() <= weight * (1 + 1e-9)  # Y / weight is a subgradient of ||S||_1
    assert_allclose(Y[S != 0], weight * np.sign(S[S != 0]), rtol=1e-9)
    assert np.linalg.norm(Y, 2) <= 1 + 1e-3  # and Y one of ||L||_*
    left, values, right = np.linalg.svd(L)
    assert 0 < answer.rank < 40
    assert values[answer.rank] < 1e-7 * values[0]
    assert_allclose(left[:, : answer.rank].T @ Y @ right[: answer.rank].T, np.eye(answer.rank), atol=1e-3)


@pytest.mark.parametrize(("shape", "weight"), [((8, 6), None), ((6, 9), 0.3), ((7, 7), 0.5)])
def test_tiny_instances_agree_with_cvxpy(shape, weight):
    X = gaussian(*shape) + 2 * np.outer(np.ones(shape[0]), np.ones(shape[1]))
    price = weight or 1 / np.sqrt(max(shape))
    L = cp.Variable(shape)
    problem = cp.Problem(cp.Minimize(cp.normNuc(L) + price * cp.sum(cp.abs(X - L))))
    problem.solve(solver=cp.CLARABEL)
    answer = solve_rpca(X, weight=weight, growth=1.01, max_iter=5000)
    assert answer.converged
    assert objective(answer.low_rank, answer.sparse, price) == pytest.approx(problem.value, rel=1e-5)
    assert_allclose(answer.low_rank, L.value, atol=5e-3)


def test_default_growth_is_close_to_the_optimum():
    X, weight = gaussian(30, 40), 1 / np.sqrt(40)
    fast, slow = solve_rpca(X), solve_rpca(X, growth=SLOW)
    best = objective(slow.low_rank, slow.sparse, weight)
    assert best <= objective(fast.low_rank, fast.sparse, weight) <= 1.01 * best


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_single_precision_stays_single_and_close(shape):
    X, L, _ = low_rank_and_sparse(*shape)
    answer = solve_rpca(X.astype(np.float32))
    assert {part.dtype for part in (answer.low_rank, answer.sparse, answer.dual)} == {np.dtype(np.float32)}
    assert answer.converged
    assert relative(answer.low_rank, L) < 1e-5


def test_iterates_stay_in_single_precision():
    X = low_rank_and_sparse(40, 50)[0].astype(np.float32)
    state = InexactALM(X, None, 0.1, float(np.abs(X).max()), 1.5)
    state.advance()
    assert {part.dtype for part in (state.E, state.M, state.low)} == {np.dtype(np.float32)}


# --- entries that are not observed -------------------------------------------------------------------------


@pytest.mark.parametrize("observed", [0.9, 0.6, 0.35])
@pytest.mark.parametrize("shape", [(200, 220), (220, 200)], ids=str)
def test_unseen_entries_are_recovered_too(observed, shape):
    X, L, S = low_rank_and_sparse(*shape, rank=4)
    mask = np.random.default_rng(1).random(shape) < observed
    answer = solve_rpca(np.where(mask, X, np.nan), mask=mask)
    assert answer.converged
    assert answer.rank == 4
    assert relative(answer.low_rank, L) < 1e-5
    assert relative(answer.sparse, np.where(mask, S, 0)) < 1e-5


@pytest.mark.parametrize("shape", [(30, 40), (40, 30)], ids=str)
def test_dual_certifies_the_optimum_on_the_observed_entries(shape):
    X, mask = gaussian(*shape), np.random.default_rng(1).random(shape) < 0.7
    weight = 1 / np.sqrt(0.7 * 40)
    answer = solve_rpca(X, mask=mask, weight=weight, growth=SLOW, tol=1e-9, max_iter=3000)
    Y, S, L = answer.dual, answer.sparse, answer.low_rank
    assert_allclose((L + S)[mask], X[mask], atol=1e-7)
    assert (S[~mask] == 0).all()
    assert (Y[~mask] == 0).all()
    assert np.abs(Y).max() <= weight * (1 + 1e-9)
    assert_allclose(Y[S != 0], weight * np.sign(S[S != 0]), rtol=1e-9)
    assert np.linalg.norm(Y, 2) <= 1 + 1e-3
    assert np.sum(Y * L) == pytest.approx(np.linalg.norm(L, "nuc"), rel=1e-3)


def test_values_that_are_not_observed_do_not_matter(rng):
    X, mask = gaussian(30, 40), rng.random((30, 40)) < 0.8
    other = np.where(mask, X, 1e6)
    assert_array_equal(solve_rpca(X, mask=mask).low_rank, solve_rpca(other, mask=mask).low_rank)
    assert_array_equal(solve_rpca(X, mask=np.ones_like(mask)).low_rank, solve_rpca(X).low_rank)


# --- symmetries and limits ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_transposed_data_have_the_transposed_answer(shape):
    X = low_rank_and_sparse(*shape)[0]
    one, other = solve_rpca(X), solve_rpca(X.T)
    assert_allclose(other.low_rank.T, one.low_rank, atol=1e-5 * np.abs(X).max())
    assert_allclose(other.sparse.T, one.sparse, atol=1e-5 * np.abs(X).max())


@pytest.mark.parametrize(("factor", "dtype"), [(-3.7, float), (1e-150, float), (1e30, np.float32), (1e-30, np.float32)])
def test_answer_scales_with_the_data(factor, dtype):
    X = low_rank_and_sparse(60, 80)[0].astype(dtype)
    one, other = solve_rpca(X), solve_rpca(X * dtype(factor))
    assert one.converged
    assert other.converged
    assert other.low_rank.dtype == dtype
    assert_allclose(other.low_rank / factor, one.low_rank, atol=3e-5 * np.abs(X).max())
    assert_allclose(other.sparse / factor, one.sparse, atol=3e-5 * np.abs(X).max())
    assert_allclose(other.dual * np.sign(factor), one.dual, atol=1e-3)


def test_order_and_signs_of_rows_and_columns_do_not_matter(rng):
    X = low_rank_and_sparse(60, 80)[0]
    rows, columns, signs = rng.permutation(60), rng.permutation(80), rng.choice([-1, 1], 80)
    moved = solve_rpca(X[rows][:, columns] * signs)
    assert_allclose(moved.low_rank * signs, solve_rpca(X).low_rank[rows][:, columns], atol=1e-5 * np.abs(X).max())


def test_cheap_errors_leave_nothing_low_rank():
    X = gaussian(20, 30)
    weight = 0.9 / np.linalg.norm(np.sign(X), 2)  # weight sign(X) certifies L = 0
    answer = solve_rpca(X, weight=weight, growth=1.1)
    assert answer.rank == 0
    assert not answer.low_rank.any()
    assert_allclose(answer.sparse, X, atol=1e-6)


def test_dear_errors_leave_nothing_sparse():
    X = gaussian(20, 30)
    left, _, right = np.linalg.svd(X, full_matrices=False)
    answer = solve_rpca(X, weight=1.1 * np.abs(left @ right).max(), growth=1.1)  # U V^T certifies S = 0
    assert not answer.sparse.any()
    assert answer.rank == 20
    assert_allclose(answer.low_rank, X, atol=1e-6)


@pytest.mark.parametrize("shape", [(5, 7), (1, 4), (4, 1), (1, 1)])
def test_zero_matrix(shape):
    answer = solve_rpca(np.zeros(shape, dtype=np.float32))
    assert (answer.rank, answer.converged, answer.residual) == (0, True, 0.0)
    assert_array_equal(answer.low_rank, np.zeros(shape, dtype=np.float32))
    assert_array_equal(answer.sparse, answer.low_rank)


@pytest.mark.parametrize("X", [np.array([[3.0]]), np.arange(1.0, 6)[None], np.arange(1, 6)[:, None]], ids=str)
def test_rows_columns_and_numbers_are_matrices_too(X):
    answer = solve_rpca(X)
    assert answer.converged
    assert_allclose(answer.low_rank + answer.sparse, X, atol=1e-5)


# --- parts of the solver -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(30, 50), (50, 30), (240, 260), (260, 240)], ids=str)
@pytest.mark.parametrize("share", [0.9, 0.3, 0.02, 1e-9, 1.1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shrinkage_is_that_of_the_full_decomposition(shape, share, dtype):
    left, right = (np.linalg.qr(gaussian(size, min(shape), seed))[0] for seed, size in enumerate(shape))
    values = np.geomspace(1, 1e-4, min(shape))
    M = (left * values @ right.T).astype(dtype)
    nuclear = shrinkage.NuclearNorm(min(shape), 1.0)
    for _ in range(20):
        out = nuclear.prox(M, share)
    assert not nuclear.truncated
    assert_allclose(out, shrunk(M.astype(float), share), atol=20 * np.finfo(dtype).eps ** (0.5 if share == 0.02 else 1))
    assert nuclear.rank == np.sum(values > share) or (dtype == np.float32 and share == 1e-9)


def test_a_sketch_says_when_it_may_have_missed_some():
    M = np.linalg.qr(gaussian(300, 300))[0] * np.r_[np.ones(25), np.full(275, 1e-3)]
    nuclear = shrinkage.NuclearNorm(300, 1.0)
    nuclear.prox(M, 0.5)
    assert nuclear.truncated
    for _ in range(2):
        nuclear.prox(M, 0.5)
    assert (nuclear.rank, nuclear.truncated) == (25, False)


def test_an_answer_that_may_lack_singular_values_is_not_final(monkeypatch):
    def limited(self, M, step, out):
        self.rank, self.truncated = shrinkage._shrink_by_gram(M, step, self.spectral, 10, out), True

    monkeypatch.setattr(shrinkage.NuclearNorm, "prox", limited)
    answer = solve_rpca(low_rank_and_sparse(40, 50)[0], max_iter=60)
    assert answer.residual < 1e-7
    assert (answer.n_iter, answer.converged) == (60, False)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_tolerance_below_rounding_is_read_as_rounding(dtype):
    X, L, _ = low_rank_and_sparse(120, 150)
    answer = solve_rpca(X.astype(dtype), tol=0)
    assert answer.converged
    assert answer.residual < 8 * np.finfo(dtype).eps
    assert relative(answer.low_rank, L) < 100 * np.finfo(dtype).eps


def test_penalty_stops_growing():
    X = gaussian(10, 12)
    state = InexactALM(X, None, 0.3, float(np.abs(X).max()), 1.5)
    first = state.mu
    for _ in range(80):
        state.advance()
    assert state.mu == pytest.approx(1e7 * first)


def test_residual_and_callback_tell_the_truth():
    X = low_rank_and_sparse(50, 60)[0]
    seen = []
    answer = solve_rpca(X, max_iter=7, callback=lambda *call: seen.append(call))
    assert not answer.converged
    assert [n_iter for n_iter, _ in seen] == list(range(1, 8)) == list(range(1, answer.n_iter + 1))
    assert answer.residual == seen[-1][1] == pytest.approx(relative(answer.low_rank + answer.sparse, X), rel=1e-6)


def test_data_are_left_alone_and_whole_numbers_are_welcome():
    X = np.round(low_rank_and_sparse(30, 40)[0]).astype(int)
    X.setflags(write=False)
    real = X.astype(float)
    real.setflags(write=False)
    assert_array_equal(solve_rpca(X).low_rank, solve_rpca(real).low_rank)


@pytest.mark.parametrize(
    ("X", "given", "match"),
    [
        (np.full((3, 3), np.nan), {}, "NaN"),
        (np.array([[1.0, -np.inf]]), {}, "infinity"),
        (np.ones(3), {}, "shape"),
        (np.ones((2, 2, 2)), {}, "shape"),
        (np.ones((0, 3)), {}, "shape"),
        (np.ones((2, 2), dtype=complex), {}, "real"),
        (np.array([["a"]]), {}, "real"),
        (np.ones((2, 2)), {"weight": 0}, "weight"),
        (np.ones((2, 2)), {"weight": -1.0}, "weight"),
        (np.ones((2, 2)), {"weight": np.nan}, "weight"),
        (np.ones((2, 2)), {"tol": -1e-3}, "tol"),
        (np.ones((2, 2)), {"max_iter": 0}, "max_iter"),
        (np.ones((2, 2)), {"growth": 1.0}, "growth"),
        (np.ones((2, 2)), {"mask": np.ones((2, 3), dtype=bool)}, "mask"),
        (np.ones((2, 2)), {"mask": np.ones((2, 2))}, "booleans"),
        (np.ones((2, 2)), {"mask": np.zeros((2, 2), dtype=bool)}, "nothing is observed"),
        (np.array([[1.0, np.nan]]), {"mask": np.array([[False, True]])}, "NaN"),
    ],
)
def test_bad_input_is_refused_before_work(X, given, match, monkeypatch):
    monkeypatch.setattr(module, "inexact_alm", None)
    with pytest.raises(ValueError, match=match):
        solve_rpca(X, **given)
