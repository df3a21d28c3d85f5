"""Fits under smoothness penalties, and the decoders made of them: approximate, subspace, regularised labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from decoder_helpers import Problem, dense_fit, dense_interpolation, unit
from graphlowrank.clustering.labels import decode_labels
from graphlowrank.decoders import (
    Side,
    decode_approximate,
    decode_subspace,
    fit_smooth,
    upsample,
)
from graphlowrank.decoders import penalty as penalty_module
from graphlowrank.decoders.factors import factorise
from graphlowrank.graphs import knn_graph, lowest_eigenpairs, path_graph
from graphlowrank.sampling import draw
from graphlowrank.solvers import spd

# --- penalties: approximate, subspace, filters ----------------------------------------------------------------------


@given(seed=st.integers(0, 99), gamma=st.floats(1e-3, 1e3), power=st.integers(1, 3), weighted=st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_smooth_fit_is_its_dense_twin(seed, gamma, power, weighted):
    problem = Problem(seed=seed, weighted=weighted)
    values = np.random.default_rng(seed).standard_normal((20, 2))
    found = fit_smooth(problem.samples, values, gamma=gamma, filter=power).X
    assert_allclose(found, dense_fit(problem.samples, values, gamma, power), atol=1e-4)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_without_gamma_the_fit_interpolates_with_the_least_energy(power, rng):
    problem = Problem()
    values = rng.standard_normal((20, 3))
    found = fit_smooth(problem.samples, values, gamma=0, filter=power).X
    G = np.linalg.matrix_power(unit(problem.graphs[0]), power)
    assert_allclose(found[problem.samples.indices], values)
    assert_allclose(found, dense_interpolation(problem.samples, values, G), atol=1e-4)


def test_a_small_gamma_tends_to_interpolation(rng):
    problem = Problem()
    values = rng.standard_normal((20, 2))
    for power in (1, 2):
        exact = fit_smooth(problem.samples, values, gamma=0, filter=power).X
        errors = [
            np.abs(fit_smooth(problem.samples, values, gamma=g, filter=power).X - exact).max() for g in (1e-1, 1e-4)
        ]
        assert errors[1] < 1e-2 * errors[0] + 1e-4


def test_a_filter_given_as_a_function_is_applied(rng):
    problem = Problem()
    values = rng.standard_normal((20, 2))
    by_function = fit_smooth(problem.samples, values, gamma=0.5, filter=lambda x: x**2).X
    assert_allclose(by_function, fit_smooth(problem.samples, values, gamma=0.5, filter=2).X, atol=1e-4)
    steep = fit_smooth(problem.samples, values, gamma=0.5, filter=lambda x: np.expm1(2 * x)).X
    spectrum, basis = np.linalg.eigh(unit(problem.graphs[0]))
    G = (basis * np.expm1(2 * np.maximum(spectrum, 0))) @ basis.T
    mask = np.zeros(40)
    mask[problem.samples.indices] = 1
    right = np.zeros((40, 2))
    right[problem.samples.indices] = values
    # The root of the filter is fitted by a polynomial, which is rough at 0.
    assert_allclose(steep, np.linalg.solve(np.diag(mask) + 0.5 * G, right), atol=2e-2)


@pytest.mark.parametrize("bad", [0, -1, 1.5, "L", True])
def test_bad_filters_are_named(bad):
    with pytest.raises(ValueError, match="filter must be"):
        fit_smooth(Problem().samples, np.ones((20, 1)), gamma=1, filter=bad)


def test_negative_gamma_is_refused():
    with pytest.raises(ValueError, match="gamma must be >= 0"):
        fit_smooth(Problem().samples, np.ones((20, 1)), gamma=-1)


@pytest.mark.parametrize("gamma", [0.0, 0.1])
@pytest.mark.parametrize("power", [1, 2])
def test_multigrid_takes_over_for_every_power(monkeypatch, gamma, power, rng):
    graph = path_graph(400)
    side = Side(graph, np.arange(0, 400, 40))
    values = rng.standard_normal((10, 2))
    monkeypatch.setattr(spd, "STALL_AFTER", 5)
    made = []
    original = penalty_module.multigrid
    monkeypatch.setattr(penalty_module, "multigrid", lambda A: made.append(A.shape) or original(A))
    found = fit_smooth(side, values, gamma=gamma, filter=power).X
    dense = (
        dense_fit(side, values, gamma, power)
        if gamma
        else dense_interpolation(side, values, np.linalg.matrix_power(unit(graph), power))
    )
    assert_allclose(found, dense, atol=1e-3)
    assert made or (gamma == 0 and power == 1)  # plain upsampling builds its own


def test_unfinished_fits_warn():
    with pytest.warns(ConvergenceWarning, match="lower the power of the filter"):
        fit_smooth(Side(path_graph(200), np.array([0, 199])), np.ones((2, 1)), gamma=1e-6, filter=3, max_iter=3)


def test_a_higher_power_sharpens_the_gap():
    """On a curve the spectrum has no gap; interpolation with L^2 is then far better than with L."""
    angles = np.sort(np.random.default_rng(0).uniform(0, 2 * np.pi, 400))
    graph = knn_graph(np.column_stack([np.cos(angles), np.sin(angles)]), 6)
    truth = lowest_eigenpairs(graph, 5)[1]
    side = Side(graph, draw(graph, 80, random_state=0))
    errors = [
        np.linalg.norm(fit_smooth(side, truth[side.indices], gamma=0, filter=power).X - truth) for power in (1, 2)
    ]
    assert errors[1] < 0.1 * errors[0]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_approximate_decoder_multiplies_two_smooth_fits(weighted):
    problem = Problem(noise=0.1, weighted=weighted)
    M = decode_approximate(
        problem.X_small, *problem.sides, n_components=15, gamma_samples=0.3, gamma_features=2.0
    ).low_rank.to_array()
    # All 15 factors and the centre: nothing was cut, and the fits are linear.
    w = problem.samples.weights
    centre = np.average(problem.X_small, axis=0, weights=w)
    rows = dense_fit(problem.samples, problem.X_small - centre, 0.3)
    expected = dense_fit(problem.features, rows.T, 2.0).T + dense_fit(problem.features, centre[:, None], 2.0).T
    assert_allclose(M, expected, atol=1e-4)


def test_without_gammas_the_approximate_decoder_is_subspace_upsampling():
    problem = Problem(noise=0.1)
    a = decode_approximate(problem.X_small, *problem.sides, n_components=3, gamma_samples=0, gamma_features=0)
    b = decode_subspace(problem.X_small, *problem.sides, n_components=3)
    assert_allclose(a.low_rank.to_array(), b.low_rank.to_array(), atol=1e-10)


def test_the_papers_normalisation():
    problem = Problem()
    plain = decode_subspace(problem.X_small, *problem.sides, n_components=2)
    paper = decode_subspace(problem.X_small, *problem.sides, n_components=2, normalise=True, delta=0.36)
    factors = factorise(problem.X_small, *problem.sides, n_components=2)
    U = upsample(problem.graphs[0], problem.samples.indices, factors.samples).X
    V = upsample(problem.graphs[1], problem.features.indices, factors.features).X
    values = np.linalg.norm(factors.samples, axis=0)
    scale = np.sqrt(40 * 30 / (20 * 15 * (1 - 0.36)))
    expected = scale * (U / np.linalg.norm(U, axis=0) * values) @ (V / np.linalg.norm(V, axis=0)).T
    assert_allclose(paper.low_rank.to_array() - paper.low_rank.offset, expected, atol=1e-6)
    assert_allclose(paper.low_rank.offset, plain.low_rank.offset)
    with pytest.raises(ValueError, match="delta must be"):
        decode_subspace(problem.X_small, *problem.sides, normalise=True, delta=1.0)


# --- labels ----------------------------------------------------------------------------------------------------


def test_regularised_labels_are_the_dense_fit_and_may_overrule_k_means(blobs):
    X, y = blobs
    graph = knn_graph(X, 8)
    keep = draw(graph, 40, random_state=0)
    small = X[keep] - X[keep].mean(axis=0)
    wrong = np.flatnonzero(y[keep] == 0)[0]
    small[wrong] = small[np.flatnonzero(y[keep] == 1)[0]]  # k-means must take this sample for the other group
    plain = decode_labels(small, Side(graph, keep), 3, scores="scaled", random_state=0)
    smoothed = decode_labels(small, Side(graph, keep), 3, scores="scaled", gamma=1.0, random_state=0)
    indicators = np.eye(3)[plain.labels[keep]]
    dense = np.clip(dense_fit(Side(graph, keep), indicators, 1.0), 0, None)
    assert_allclose(smoothed.soft_labels, dense / dense.sum(axis=1, keepdims=True), atol=1e-4)
    own = np.bincount(plain.labels[y == 0]).argmax()
    assert plain.labels[keep[wrong]] != own
    assert smoothed.labels[keep[wrong]] == own
