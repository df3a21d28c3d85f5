"""Huber regression, the decoder that rests on it, and the solvers of the compressed matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from decoder_helpers import Problem, as_data
from graphlowrank import CompressivePCA, RobustPCA
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.decoders import decode_robust, decode_subspace
from graphlowrank.decoders.robust import Errors
from graphlowrank.kernels.regression import huber_rows
from graphlowrank.metrics import recovery_error
from graphlowrank.models.losses import Huber
from graphlowrank.sampling import SampledNodes
from graphlowrank.solvers.irls import fit_rows, irls, products_of_rows

# --- regression ------------------------------------------------------------------------------------------------


def problem(seed, n=7, q=60, k=3, outliers=0.2, noise=0.1):
    rng = np.random.default_rng(seed)
    C, S = rng.standard_normal((k, q)), rng.standard_normal((n, k))
    Y = S @ C + noise * rng.standard_normal((n, q))
    Y[rng.random((n, q)) < outliers] += 20
    return Y, C, S


@given(seed=st.integers(0, 9999), corner=st.floats(0.05, 5), ridged=st.booleans(), weighted=st.booleans())
@settings(max_examples=50, deadline=None)
def test_the_gradient_vanishes_at_the_answer(seed, corner, ridged, weighted):
    Y, C, _ = problem(seed)
    rng = np.random.default_rng(seed)
    ridge = rng.uniform(0, 5, 3) if ridged else None
    importance = rng.uniform(0.2, 3, 60) if weighted else None
    found = irls(Y, C, Huber(corner), ridge=ridge, importance=importance, tol=1e-10, max_iter=3000)
    residual = Y - found.X @ C
    pull = np.clip(residual, -corner, corner) * (1 if importance is None else importance)
    gradient = -pull @ C.T + (0 if ridge is None else ridge * found.X)
    assert np.abs(gradient).max() < 2e-4 * np.abs(pull).sum()
    assert found.converged


@pytest.mark.parametrize("rows", [1, 30])  # of importance: one for all, or one each
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 4])
def test_the_kernel_agrees_with_its_twin(dtype, k, rows):
    Y, C, _ = problem(0, n=30, q=200, k=k)
    Y, C = Y.astype(dtype), C.astype(dtype)
    importance, ridge = np.linspace(0.5, 2, 200 * rows).astype(dtype).reshape(rows, 200), np.linspace(0, 1, k)
    answers = []
    for compiled in (True, False):
        scores, n_iter = np.zeros((30, k)), np.zeros(30, dtype=np.int64)
        if compiled:
            huber_rows(5, 30, Y, C, products_of_rows(C), importance, 0.3, ridge, 1e-6, 1e-4, 40, scores, n_iter)
        else:
            given = importance if rows == 1 else importance[5:]
            fit_rows(Y[5:], C, Huber(0.3), given, ridge, (1e-6, 0.0), 1e-4, 40, scores[5:], n_iter[5:])
        assert not scores[:5].any()
        assert n_iter[5:].min() > 1
        answers.append(scores)
    assert_allclose(*answers, atol=1e-4 if dtype is np.float32 else 1e-10)


def test_outliers_have_little_influence_and_rows_none_on_each_other():
    Y, C, S = problem(1, outliers=0.3, noise=0.01)
    found = irls(Y, C, Huber(0.03))
    assert np.abs(found.X - S).max() < 0.02
    assert np.abs(irls(Y, C, Huber(1e6)).X - S).max() > 0.5  # least squares
    alone = np.vstack([irls(row[None], C, Huber(0.03)).X for row in Y])
    assert_allclose(alone, found.X, rtol=1e-12)
    assert_allclose(irls(Y, C, Huber(0.03), compiled=True).X, found.X, atol=1e-8)


def test_no_regressors_no_rows_and_bad_input():
    Y = np.ones((3, 5))
    assert irls(Y, np.ones((0, 5)), Huber(1.0)).X.shape == (3, 0)
    assert irls(Y[:0], np.ones((2, 5)), Huber(1.0)).X.shape == (0, 2)
    assert_allclose(irls(Y, np.zeros((1, 5)), Huber(1.0)).X, 0)
    with pytest.raises(ValueError, match="as many columns"):
        irls(Y, np.ones((2, 4)), Huber(1.0))
    with pytest.raises(ValueError, match="must be positive"):
        irls(Y, np.ones((2, 5)), Huber(0.0))


def test_too_few_steps_are_reported():
    Y, C, _ = problem(2)
    found = irls(Y, C, Huber(0.01), tol=1e-12, max_iter=2)
    assert (found.converged, found.n_iter, found.residual) == (False, 2, 1.0)


# --- decoder ---------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 999), weighted=st.booleans())
@settings(max_examples=20, deadline=None)
def test_a_low_rank_matrix_is_recovered_under_gross_errors_without_graphs(seed, weighted):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 3)) @ rng.standard_normal((3, 90)) + rng.standard_normal(90)
    rows, columns = np.sort(rng.choice(120, 40, replace=False)), np.sort(rng.choice(90, 30, replace=False))
    sides = [SampledNodes(None, kept, rng.uniform(0.5, 2, len(kept)) if weighted else None) for kept in (rows, columns)]
    dirty = X.copy()
    dirty[rng.random(X.shape) < 0.1] += 30
    found = decode_robust(X[np.ix_(rows, columns)], *sides, data=as_data(dirty), n_components=3)
    assert found.converged
    assert recovery_error(X, found.low_rank.to_array()) < 0.02


def test_it_follows_what_neighbours_cannot_know():
    """Light of its own in every sample: nothing on the graph tells it of the samples left out, but the data do."""
    case = Problem(n=60, p=40, seed=3)
    light = np.random.default_rng(0).standard_normal(60)
    X = 10 * (case.X + np.outer(light, case.P[:, 0]))
    X_small = X[case.block]
    robust = decode_robust(X_small, *case.sides, data=as_data(X), n_components=3).low_rank.to_array()
    spread = decode_subspace(X_small, *case.sides, n_components=3).low_rank.to_array()
    assert recovery_error(X, robust) < 0.02
    assert recovery_error(X, spread) > 0.3


def test_a_factor_below_the_noise_is_not_fitted_to_it():
    """Rank 1 and small noise, but four factors are asked for: the three others must not blow up elsewhere."""
    rng = np.random.default_rng(0)
    X = np.outer(rng.standard_normal(200), rng.standard_normal(80)) + 5
    dirty = X + 0.05 * rng.standard_normal(X.shape)
    rows, columns = np.arange(0, 200, 4), np.arange(0, 80, 2)
    sides = SampledNodes(None, rows), SampledNodes(None, columns)
    small = X[np.ix_(rows, columns)] + 1e-6 * rng.standard_normal((50, 40))  # as clean as a solver makes it
    found = decode_robust(small, *sides, data=as_data(dirty), n_components=4).low_rank
    assert recovery_error(X, found.to_array()) < 0.02
    assert Errors(0.05).penalty(np.full((3, 1), 1e-6)) > 1e6 * Errors(0.05).penalty(np.ones((3, 1)))


def test_the_decoder_warns_when_it_stops_too_soon():
    case = Problem(noise=0.3)
    with pytest.warns(UserWarning, match="the robust decoder on the .* did not converge in 1 iterations"):
        decode_robust(case.X_small, *case.sides, data=as_data(1e3 * case.X), n_components=2, corner=1e-3, max_iter=1)


# --- solvers ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corrupted():
    return make_low_rank_on_graphs(300, 100, rank=4, outliers=0.1, random_state=0)


@pytest.mark.parametrize("solver", ["rpca", "rpcag", "frpcag"])
def test_every_solver_recovers(corrupted, solver):
    model = CompressivePCA(
        4, solver=solver, decoder="robust", downsampling=(3, 2), sample_graph=corrupted.sample_graph,
        feature_graph=corrupted.feature_graph, gamma_samples=2.0, gamma_features=2.0, random_state=0,
    ).fit(corrupted.X)  # fmt: skip
    assert recovery_error(corrupted.X_true, model.low_rank_.to_array()) < 0.05
    assert model.converged_
    assert solver in model.stage_seconds_


def test_rpca_without_compression_is_robust_pca(corrupted):
    ours = CompressivePCA(4, solver="rpca", decoder="robust", downsampling=(1, 1), tol=1e-5).fit(corrupted.X)
    theirs = RobustPCA(4).fit(corrupted.X)
    assert recovery_error(theirs.low_rank_, ours.low_rank_.to_array()) < 0.02


def test_graphs_that_nobody_looks_at_are_not_built(corrupted):
    def graphs(**options):
        model = CompressivePCA(2, downsampling=(3, 2), random_state=0, **options).fit(corrupted.X)
        return model.sample_graph_ is not None, model.feature_graph_ is not None

    assert graphs(solver="rpca", decoder="robust") == (False, False)
    assert graphs(solver="rpcag", decoder="robust") == (True, False)
    assert graphs(solver="frpcag", decoder="robust") == (True, True)
    assert graphs(solver="rpca", decoder="subspace") == (True, True)
    assert graphs(solver="rpca", decoder="approximate2") == (False, True)


def test_the_robust_decoder_needs_no_graph_and_compresses_all_the_same():
    X = make_low_rank_on_graphs(2500, 900, rank=3, random_state=0).X
    model = CompressivePCA(3, sample_graph=None, feature_graph=None, solver="rpca", decoder="robust").fit(X)
    assert (len(model.sample_indices_), len(model.feature_indices_)) == (1000, 500)
    assert recovery_error(X, model.low_rank_.to_array()) < 0.02


def test_a_solver_without_weights_refuses_optimal_sampling(corrupted):
    with pytest.raises(ValueError, match="solver='rpca' has no importance weights"):
        CompressivePCA(2, solver="rpca", sampling="optimal").fit(corrupted.X)
    with pytest.raises(ValueError, match="solver must be one of 'frpcag', 'rpca', 'rpcag'"):
        CompressivePCA(2, solver="pca").fit(corrupted.X)


def test_the_answer_does_not_depend_on_threads(corrupted, monkeypatch):
    monkeypatch.setattr("graphlowrank.solvers.irls.COMPILED_FROM", 0)
    a, b = (
        CompressivePCA(3, solver="rpca", decoder="robust", downsampling=(3, 2), n_jobs=n, random_state=0)
        .fit(corrupted.X).low_rank_.to_array() for n in (1, 2)
    )  # fmt: skip
    assert_array_equal(a, b)
