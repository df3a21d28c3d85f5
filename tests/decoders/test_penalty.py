"""Fits under a smoothness penalty, against dense twins."""

from functools import partial

import numpy as np
import pytest
from decoder_helpers import Problem, dense_interpolation
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from graphlowrank.decoders import (
    fit_smooth,
)
from graphlowrank.decoders import penalty as penalty_module
from graphlowrank.graphs import knn_graph, lowest_eigenpairs, path_graph
from graphlowrank.sampling import SampledNodes, draw
from graphlowrank.solvers.conjugate_gradients import solve_spd
from helpers import dense_fit, dense_laplacian


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
    G = np.linalg.matrix_power(dense_laplacian(problem.graphs[0]), power)
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
    spectrum, basis = np.linalg.eigh(dense_laplacian(problem.graphs[0]))
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
    side = SampledNodes(graph, np.arange(0, 400, 40))
    values = rng.standard_normal((10, 2))
    monkeypatch.setattr(penalty_module, "solve_spd", partial(solve_spd, stall_after=5))
    made = []
    original = penalty_module.multigrid
    monkeypatch.setattr(penalty_module, "multigrid", lambda A: made.append(A.shape) or original(A))
    found = fit_smooth(side, values, gamma=gamma, filter=power).X
    dense = (
        dense_fit(side, values, gamma, power)
        if gamma
        else dense_interpolation(side, values, np.linalg.matrix_power(dense_laplacian(graph), power))
    )
    assert_allclose(found, dense, atol=1e-3)
    assert made or (gamma == 0 and power == 1)  # plain upsampling builds its own


def test_unfinished_fits_warn():
    with pytest.warns(ConvergenceWarning, match="lower the power of the filter"):
        fit_smooth(SampledNodes(path_graph(200), np.array([0, 199])), np.ones((2, 1)), gamma=1e-6, filter=3, max_iter=3)


def test_a_higher_power_sharpens_the_spectral_gap():
    """On a curve the spectrum has no gap; interpolation with L^2 is then far better than with L."""
    angles = np.sort(np.random.default_rng(0).uniform(0, 2 * np.pi, 400))
    graph = knn_graph(np.column_stack([np.cos(angles), np.sin(angles)]), 6)
    truth = lowest_eigenpairs(graph, 5)[1]
    side = SampledNodes(graph, draw(graph, 80, random_state=0))
    errors = [
        np.linalg.norm(fit_smooth(side, truth[side.indices], gamma=0, filter=power).X - truth) for power in (1, 2)
    ]
    assert errors[1] < 0.1 * errors[0]


def test_a_filter_may_vanish_on_low_frequencies(rng):
    graph = knn_graph(rng.random((120, 2)), 8)
    side = SampledNodes(graph, draw(graph, 60, random_state=0))
    values = rng.standard_normal((60, 2))
    found = fit_smooth(side, values, gamma=0.1, filter=lambda x: np.maximum(x - 0.3, 0.0) ** 2)
    assert found.converged
    assert np.linalg.norm(found.X[side.indices] - values) < np.linalg.norm(values)


@pytest.mark.parametrize("bad", [lambda x: 1.0, lambda x: -x, lambda x: np.full_like(x, np.nan)])
def test_filters_that_are_no_penalty_are_refused(bad):
    with pytest.raises(ValueError, match="finite numbers >= 0"):
        fit_smooth(Problem().samples, np.ones((20, 1)), gamma=0.1, filter=bad)
