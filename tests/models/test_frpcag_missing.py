"""FRPCAG with entries of X missing (NaN): the loss runs on what is observed, the graphs say the rest."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import graphlowrank.models.frpcag as module
from graphlowrank.graphs import path_graph
from graphlowrank.models import CompressedProblem, solve_frpcag
from graphlowrank.models.losses import DataFit, make_loss
from graphlowrank.models.smoothness import TwoGraphSmoothness
from helpers import random_graph

DELTA = 0.7
LOSSES = ["l1", "l2", "huber"]
EXACT = {"huber_delta": DELTA, "tol": 1e-13, "max_iter": 200_000}


def problem(n=12, p=9, *, missing=0.3, seed=0):
    """Data with gaps, and two Laplacians."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[rng.random(X.shape) < missing] = np.nan
    return X, *(random_graph(size, seed=seed + i, spread=1.0).unit_laplacian() for i, size in enumerate((n, p)))


def assert_optimal(U, X, L_s, L_f, gammas, loss, weights=1.0, atol=1e-5):
    """Minus the gradient of the smooth term is zero where X is missing, and a subgradient of the loss elsewhere."""
    pull = -TwoGraphSmoothness(L_s, L_f, *gammas).grad(U)
    seen = ~np.isnan(X)
    weights = np.broadcast_to(weights, X.shape)[seen]
    assert np.isfinite(U).all()
    assert_allclose(pull[~seen], 0, atol=atol)
    residual = (U - X)[seen]
    if loss == "l1":
        moved = np.abs(residual) > 1e-6
        assert np.all(np.abs(pull[seen]) <= weights + atol)
        assert_allclose(pull[seen][moved], (weights * np.sign(residual))[moved], atol=atol)
    else:
        slope = 2 * residual if loss == "l2" else np.clip(residual / DELTA, -1, 1)
        assert_allclose(pull[seen], weights * slope, atol=atol)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_optimality(loss, weighted, compiled):
    X, L_s, L_f = problem()
    v, w = (np.linspace(0.3, 2, 12), np.linspace(2, 0.5, 9)) if weighted else (None, None)
    U = solve_frpcag(
        X, L_s, L_f, gamma_samples=0.5, gamma_features=0.2, loss=loss, sample_weights=v, feature_weights=w,
        compiled=compiled, **EXACT,
    ).X  # fmt: skip
    assert_optimal(U, X, L_s, L_f, (0.5, 0.2), loss, np.outer(v, w) if weighted else 1.0)


@given(
    seed=st.integers(0, 10_000), missing=st.floats(0, 0.9), gamma_s=st.floats(0.05, 2), gamma_f=st.floats(0, 2),
    loss=st.sampled_from(LOSSES),
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_optimality_for_any_gaps(seed, missing, gamma_s, gamma_f, loss):
    X, L_s, L_f = problem(7, 5, missing=missing, seed=seed)
    X[0, 0] = 1.0  # something is observed
    U = solve_frpcag(X, L_s, L_f, gamma_samples=gamma_s, gamma_features=gamma_f, loss=loss, **EXACT).X
    assert_optimal(U, X, L_s, L_f, (gamma_s, gamma_f), loss, atol=1e-4)


def test_l2_with_gaps_solves_the_sparse_system():
    X, L_s, L_f = problem(10, 6)
    U = solve_frpcag(X, L_s, L_f, gamma_samples=0.5, gamma_features=0.3, loss="l2", **EXACT).X
    seen = ~np.isnan(X)
    system = sp.diags_array(seen.ravel().astype(float)) + sp.kronsum(0.3 * L_f, 0.5 * L_s, format="csc")
    exact = sp.linalg.spsolve(sp.csc_array(system), np.where(seen, X, 0).ravel())
    assert_allclose(U.ravel(), exact, atol=1e-8)


def test_a_gap_between_two_known_ends_is_bridged():
    X = np.array([[0.0], [np.nan], [np.nan], [3.0]])
    U = solve_frpcag(X, path_graph(4).laplacian(), None, gamma_samples=1e-3, gamma_features=0, **EXACT).X
    assert_allclose(U.ravel(), [0, 1, 2, 3], atol=1e-3)


def test_what_stands_in_a_gap_at_the_start_does_not_matter():
    X, L_s, L_f = problem()
    options = {"gamma_samples": 0.5, "gamma_features": 0.2, **EXACT}
    plain = solve_frpcag(X, L_s, L_f, **options).X
    far = solve_frpcag(X, L_s, L_f, X0=np.where(np.isnan(X), 50.0, X), **options).X
    assert_allclose(far, plain, atol=1e-6)


# --- twins -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(40, 17), (17, 40)])
@pytest.mark.parametrize("renumbered", [False, True])
def test_compiled_step_agrees_with_the_plain_one(loss, dtype, shape, renumbered):
    given_ = CompressedProblem(
        *(A.astype(dtype) for A in problem(*shape)), (1.0, 0.5), loss, 0.3, max_iter=12, tol=1e-300,
        sample_weights=np.linspace(0.3, 3, shape[0]), feature_weights=np.linspace(2, 0.5, shape[1]),
    )  # fmt: skip
    plain = module.minimize_frpcag(given_)
    fused = module.minimize_frpcag(given_, compiled=True, renumbered_above=0 if renumbered else 100)
    assert fused.X.dtype == plain.X.dtype == dtype
    assert_allclose(fused.X, plain.X, atol=500 * np.finfo(dtype).eps)


@pytest.mark.parametrize("compiled", [False, True])
def test_zero_weights_and_gaps_are_the_same(compiled):
    # A sample of weight (almost) zero is a sample that is missing.
    X, L_s, L_f = problem(20, 8, missing=0)
    gaps, weights = X.copy(), np.ones(20)
    gaps[[2, 11]], weights[[2, 11]] = np.nan, 1e-12
    options = {"gamma_samples": 0.5, "gamma_features": 0.2, "compiled": compiled, **EXACT}
    one = solve_frpcag(gaps, L_s, L_f, **options).X
    assert_allclose(solve_frpcag(X, L_s, L_f, sample_weights=weights, **options).X, one, atol=1e-6)


def test_complete_data_pass_through_untouched(monkeypatch):
    X, L_s, L_f = problem(missing=0)
    seen = {}

    def spy(problem, **options):
        seen["problem"] = problem
        return minimize(problem, **options)

    minimize = module._run_fista
    monkeypatch.setattr(module, "_run_fista", spy)
    solve_frpcag(X, L_s, L_f, gamma_samples=0.5, gamma_features=0.2)
    assert seen["problem"].X is seen["problem"].X0 is X
    assert seen["problem"].observed() is None


@pytest.mark.parametrize("loss", LOSSES)
def test_the_recorded_objective_is_the_one_minimized(loss):
    X, L_s, L_f = problem()
    run = solve_frpcag(X, L_s, L_f, gamma_samples=0.5, gamma_features=0.2, loss=loss, trace=True, **EXACT)
    seen = ~np.isnan(X)
    fit = DataFit(make_loss(loss, DELTA), X[seen]).value(run.X[seen])
    assert run.objective[-1] == pytest.approx(fit + TwoGraphSmoothness(L_s, L_f, 0.5, 0.2).value(run.X))


# --- edges -------------------------------------------------------------------------------------------------


def test_without_gammas_the_filling_stays():
    X, L_s, L_f = problem()
    X = X.astype(np.float32)
    U = solve_frpcag(X, L_s, L_f, gamma_samples=0, gamma_features=0).X
    missing = np.isnan(X)
    assert U.dtype == np.float32
    assert_array_equal(U[~missing], X[~missing])
    assert_array_equal(U[missing], np.broadcast_to(np.nanmedian(X, axis=0), X.shape)[missing])
    start = np.where(missing, np.float32(5), X)
    start[0] = np.nan
    expected = np.where(missing, 5, X)
    expected[0] = U[0]
    assert_array_equal(solve_frpcag(X, L_s, L_f, gamma_samples=0, gamma_features=0, X0=start).X, expected)


def test_a_feature_without_entries_is_filled_by_its_graph():
    X, L_s, L_f = problem()
    X[:, 4] = np.nan
    U = solve_frpcag(X, L_s, L_f, gamma_samples=0.5, gamma_features=0.2, **EXACT).X
    assert_optimal(U, X, L_s, L_f, (0.5, 0.2), "l1")


def test_no_entry_at_all_is_said():
    X, L_s, L_f = problem()
    with pytest.raises(ValueError, match="every entry of X is missing"):
        solve_frpcag(np.full_like(X, np.nan), L_s, L_f, gamma_samples=1, gamma_features=1)


def test_inputs_are_left_alone():
    X, L_s, L_f = problem()
    before, start = X.copy(), np.zeros_like(X)
    start[0, 0] = np.nan
    for array in (X, start):
        array.setflags(write=False)
    solve_frpcag(X, L_s, L_f, X0=start, gamma_samples=1, gamma_features=1)
    assert_array_equal(X, before)
