"""Multigrid as a preconditioner, and the solver that switches to it when Jacobi stalls."""

import sys
from functools import partial

import array_api_strict as strict
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.linalg import spsolve
from sklearn.exceptions import ConvergenceWarning

from graphlowrank.decoders import upsample
from graphlowrank.graphs import grid_graph, knn_graph, path_graph
from graphlowrank.linalg.multigrid import COARSEST, hierarchy, multigrid
from graphlowrank.solvers.conjugate_gradients import STALL_AFTER, block_pcg, solve_spd
from helpers import disjoint, random_graph

PRECONDITIONERS = ["auto", "jacobi", "multigrid"]


def solve_on_levels(A, B, **options):
    """Solve by multigrid, with levels even for small matrices."""
    strong = partial(multigrid, A, coarsest=4)
    return solve_spd(A, B, strong=strong, preconditioner="multigrid", **options)


@pytest.fixture
def no_pyamg(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyamg", None)


def dropped_block(graph, n_kept, seed=0, k=2):
    """Laplacian of the nodes that are not kept, and right-hand sides of a size that depends on the column."""
    rng = np.random.default_rng(seed)
    dropped = np.sort(rng.permutation(graph.n_nodes)[n_kept:])
    A = sp.csr_array(graph.laplacian().astype(np.float64)[dropped][:, dropped])
    return A, rng.standard_normal((len(dropped), k)) * 10.0 ** np.arange(k)


GRAPHS = {
    "chain": path_graph(90, reach=2),
    "grid": grid_graph((9, 11)),
    "random": random_graph(80, density=0.1, spread=1.0),
    "neighbours": knn_graph(np.random.default_rng(0).random((150, 2)), 5),
}


# --- the cycle ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GRAPHS)
def test_cycle_is_a_symmetric_matrix_near_the_inverse(name):
    A, _ = dropped_block(GRAPHS[name], 5)
    M = multigrid(A, coarsest=4)(np.eye(A.shape[0]))
    assert_allclose(M, M.T, atol=1e-12 * np.abs(M).max())
    eigenvalues = np.linalg.eigvals(M @ A.toarray()).real
    # Positive definite; an SPD cycle never overshoots: its error shrinks in the norm of A, one factor for all n.
    assert eigenvalues.min() > 0.1
    assert eigenvalues.max() < 1 + 1e-10


def test_small_matrices_are_inverted():
    A, B = dropped_block(GRAPHS["grid"], 5)
    assert_allclose(A @ multigrid(A)(B), B, atol=1e-8 * np.abs(B).max())


def test_unknowns_that_touch_nothing_are_no_trouble():
    A = sp.csr_array(sp.diags_array(np.arange(1.0, 21.0)))
    M = multigrid(A, coarsest=4)(np.eye(20))
    assert np.all(np.linalg.eigvalsh(M) > 0)
    solution = solve_on_levels(A, np.ones((20, 1)), tol=1e-12)
    assert_allclose(solution.X.ravel(), 1 / np.arange(1.0, 21.0))


def test_coarse_unknowns_without_a_matrix_are_no_trouble():
    # Smoothing multiplies the prolongation by 1 - 4/3 * 6/8 = 0 here, to the last bit: all coarse matrices vanish.
    A = sp.csr_array(sp.block_diag([sp.coo_array(49 * np.array([[7.0, -1.0], [-1.0, 7.0]]))] * 10))
    levels, _ = hierarchy(A, 4)
    assert_array_equal(levels[1].A.toarray(), 0)
    solution = solve_on_levels(A, np.ones((20, 1)), tol=1e-12)
    assert_allclose(solution.X, 1 / (49 * 6))


def test_levels_are_small_and_sparse():
    A, _ = dropped_block(knn_graph(np.random.default_rng(0).random((3000, 2)), 10), 5)
    levels, coarsest = hierarchy(A)
    assert len(coarsest) <= COARSEST
    assert sum(level.A.nnz for level in levels) < 2 * A.nnz


def test_high_degrees_still_find_their_aggregates():
    # Every tie is 1/60 of the diagonal: weak, if strength were measured against that.
    A, B = dropped_block(path_graph(2000, reach=60), 2)
    assert solve_on_levels(A, B).n_iter < 30


def test_numpys_random_state_is_not_touched():
    A, B = dropped_block(path_graph(1000), 5)
    before = np.random.get_state()  # noqa: NPY002
    first = multigrid(A)(B)
    after = np.random.get_state()  # noqa: NPY002
    assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]
    np.random.seed(1)  # noqa: NPY002
    second = multigrid(A)(B)
    np.random.set_state(before)  # noqa: NPY002
    assert_array_equal(first, second)


def test_the_matrix_is_not_touched():
    A, _ = dropped_block(path_graph(1000), 5)
    A = A[::-1][:, ::-1].tocsr()  # columns of a row run backwards: pyamg would sort them in place
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    parts = [A.data, A.indices, A.indptr]
    copies = [part.copy() for part in parts]
    for part in parts:
        part.flags.writeable = False
    multigrid(A)
    assert A.data is parts[0]
    for part, copy in zip(parts, copies, strict=True):
        assert_array_equal(part, copy)
    assert not hasattr(A, "symmetry")


@pytest.mark.parametrize("of_matrix", [np.float32, np.float64])
@pytest.mark.parametrize("of_block", [np.float32, np.float64])
def test_blocks_keep_their_dtype(of_matrix, of_block):
    A, B = dropped_block(grid_graph((20, 20)), 5)
    Z = multigrid(A.astype(of_matrix))(B.astype(of_block))
    assert Z.dtype == of_block
    assert_allclose(Z, multigrid(A)(B), rtol=1e-3, atol=1e-4 * np.abs(Z).max())


def test_the_extra_is_named_where_pyamg_is_missing(no_pyamg):
    A, B = dropped_block(path_graph(30), 2)
    with pytest.raises(ImportError, match=r"pip install graphlowrank\[amg\]"):
        solve_spd(A, B, preconditioner="multigrid")


# --- the solver ---------------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 999),
    kind=st.sampled_from(["chain", "grid", "random", "pieces"]),
    preconditioner=st.sampled_from(PRECONDITIONERS),
    n_kept=st.integers(1, 5),
)
@settings(max_examples=60, deadline=None)
def test_all_ways_solve_the_system(seed, kind, preconditioner, n_kept):
    n = 10 + seed % 90
    graph = {
        "chain": lambda: path_graph(20 * n),
        "grid": lambda: grid_graph((n // 3, 20)),
        "random": lambda: random_graph(n, density=0.1, seed=seed, spread=1.0),
        "pieces": lambda: disjoint(*(path_graph(3) for _ in range(n)), random_graph(n, seed=seed)),
    }[kind]()
    A, B = dropped_block(graph, n_kept, seed)
    A = A + sp.diags_array(np.full(A.shape[0], 1e-3), format="csr")  # pieces may hold no kept node
    solution = solve_spd(A, B, preconditioner=preconditioner, tol=1e-10, max_iter=10_000)
    assert solution.converged
    exact = spsolve(A.tocsc(), B)
    assert_allclose(solution.X, exact, atol=1e-5 * np.abs(exact).max())


def test_the_stopping_rule_does_not_depend_on_the_preconditioner():
    A, B = dropped_block(path_graph(3000), 10)
    d = A.diagonal()[:, None]
    for preconditioner in ("jacobi", "multigrid"):
        solution = solve_spd(A, B, preconditioner=preconditioner, tol=1e-6, max_iter=10_000)
        relative = np.abs((A @ solution.X - B) / d).max(axis=0) / np.abs(B / d).max(axis=0)
        assert solution.converged
        assert_allclose(solution.residual, relative.max(), rtol=1e-2)
        assert 1e-8 < relative.max() <= 1e-6


@pytest.mark.parametrize("factor", [2.0**-10, 2.0**10])
def test_the_size_of_the_preconditioner_does_not_matter(factor):
    A, B = dropped_block(GRAPHS["grid"], 5)
    d = A.diagonal()
    jacobi = block_pcg(A, B, diagonal=d)
    scaled = block_pcg(A, B, diagonal=d, precondition=lambda R: factor * ((1 / d)[:, None] * R))
    assert jacobi.n_iter == scaled.n_iter
    assert_array_equal(jacobi.X, scaled.X)  # a power of two is exact


def test_multigrid_is_for_long_chains():
    A, B = dropped_block(path_graph(20_000), 20, k=1)
    multi = solve_spd(A, B, preconditioner="multigrid")
    assert multi.converged
    assert multi.n_iter < 30
    assert not solve_spd(A, B, preconditioner="jacobi", max_iter=20 * multi.n_iter).converged


def test_iterations_do_not_grow_with_the_grid():
    iterations = []
    for side in (20, 40, 80):
        A, B = dropped_block(grid_graph((side, side)), 2, k=1)
        iterations.append(solve_spd(A, B, preconditioner="multigrid").n_iter)
    assert max(iterations) < 25


def test_auto_turns_to_multigrid_when_jacobi_stalls():
    A, B = dropped_block(path_graph(5000), 5)
    auto = solve_spd(A, B)
    multi = solve_spd(A, B, preconditioner="multigrid")
    assert auto.converged
    assert STALL_AFTER < auto.n_iter <= STALL_AFTER + 2 * multi.n_iter
    assert_allclose(auto.X, multi.X, atol=1e-4 * np.abs(multi.X).max())
    assert_array_equal(auto.X, solve_spd(A, B).X)


def test_what_jacobi_has_done_is_not_lost():
    A, B = dropped_block(grid_graph((40, 40)), 5)
    jacobi, multi = (solve_spd(A, B, preconditioner=name) for name in ("jacobi", "multigrid"))
    assert solve_spd(A, B, stall_after=jacobi.n_iter - 1).n_iter - jacobi.n_iter < multi.n_iter / 2


def test_auto_stays_with_jacobi_where_that_is_enough(monkeypatch):
    A, B = dropped_block(GRAPHS["neighbours"], 50)
    jacobi = solve_spd(A, B, preconditioner="jacobi")
    assert jacobi.n_iter < STALL_AFTER
    monkeypatch.setattr("graphlowrank.solvers.conjugate_gradients.multigrid", None)
    assert_array_equal(solve_spd(A, B).X, jacobi.X)


def test_auto_stays_with_jacobi_without_pyamg(no_pyamg):
    A, B = dropped_block(path_graph(2000), 5)
    auto = solve_spd(A, B, max_iter=300)
    assert (auto.n_iter, auto.converged) == (300, False)
    assert_array_equal(auto.X, solve_spd(A, B, preconditioner="jacobi", max_iter=300).X)


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
@pytest.mark.parametrize("max_iter", [0, 2, STALL_AFTER, STALL_AFTER + 2])
def test_iterations_are_never_exceeded(preconditioner, max_iter):
    A, B = dropped_block(path_graph(5000), 5)
    solution = solve_spd(A, B, preconditioner=preconditioner, tol=1e-14, max_iter=max_iter)
    assert solution.n_iter <= max_iter
    assert solution.X.shape == B.shape
    assert solution.converged or solution.n_iter == max_iter


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
def test_a_first_guess_is_used(preconditioner):
    A, B = dropped_block(path_graph(1000), 5)
    X = spsolve(A.tocsc(), B)
    assert solve_spd(A, B, X0=X, preconditioner=preconditioner).n_iter == 0


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
def test_the_given_diagonal_scales_the_residual(preconditioner):
    A, B = dropped_block(path_graph(1000), 5)
    d = np.linspace(1, 100, len(B))
    solution = solve_spd(A, B, diagonal=d, preconditioner=preconditioner, max_iter=STALL_AFTER + 1)
    R = np.abs((B - A @ solution.X) / d[:, None]).max(axis=0)
    assert_allclose(solution.residual, np.max(R / np.abs(B / d[:, None]).max(axis=0)), rtol=1e-3)


def test_unknown_preconditioner_is_refused():
    A, B = dropped_block(path_graph(30), 2)
    with pytest.raises(ValueError, match="preconditioner must be"):
        solve_spd(A, B, preconditioner="magic")


@pytest.mark.parametrize("xp", [np, strict])
def test_with_the_inverse_one_step_is_enough(xp, rng):
    A = random_graph(12).laplacian().toarray() + np.eye(12)
    B = xp.asarray(rng.standard_normal((12, 3)))
    inverse, diagonal = xp.asarray(np.linalg.inv(A)), xp.asarray(np.diag(A).copy())
    solution = block_pcg(xp.asarray(A), B, diagonal=diagonal, precondition=lambda R: inverse @ R, tol=1e-9)
    assert solution.converged
    assert solution.n_iter == 1


# --- upsampling with it -------------------------------------------------------------------------------------


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
def test_upsampling_passes_its_choice_on(monkeypatch, preconditioner):
    seen = []

    def spy(*args, **options):
        seen.append(options["preconditioner"])
        return solve_spd(*args, **options)

    # The package's attribute of that name is the function, hence by its path.
    monkeypatch.setattr("graphlowrank.decoders.penalty.solve_spd", spy)
    upsample(path_graph(9), np.array([0, 8]), np.array([[0.0], [1.0]]), preconditioner=preconditioner)
    assert seen == [preconditioner]


def test_upsampling_a_long_chain_is_linear_interpolation():
    keep = np.array([0, 700, 4999])
    values = np.array([[0.0], [1.0], [-1.0]])
    S = upsample(path_graph(5000), keep, values, tol=1e-12).X
    assert_allclose(S.ravel(), np.interp(np.arange(5000), keep, values.ravel()), atol=1e-5)


def test_the_remedy_names_the_extra_only_where_it_helps(monkeypatch):
    def message(**options):
        with pytest.warns(ConvergenceWarning) as caught:
            upsample(path_graph(300), np.array([0, 299]), np.array([[0.0], [1.0]]), max_iter=3, **options)
        return str(caught[0].message)

    assert "graphlowrank[amg]" not in message()
    monkeypatch.setitem(sys.modules, "pyamg", None)
    assert "graphlowrank[amg]" in message()
    assert "graphlowrank[amg]" not in message(preconditioner="jacobi")
