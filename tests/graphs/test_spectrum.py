"""Polynomial filters, eigenpairs and the estimated spectrum, against dense eigenvectors."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank._threads import limit_threads
from graphlowrank.graphs import (
    Graph,
    as_graph,
    estimate_spectrum,
    grid_graph,
    knn_graph,
    lowest_eigenpairs,
    path_graph,
)
from graphlowrank.graphs import spectrum as spectrum_module
from graphlowrank.graphs.spectrum import NotConvergedError, null_space
from graphlowrank.linalg.chebyshev import (
    Recurrence,
    apply_polynomial,
    chebyshev_moments,
    fit_coefficients,
    step_coefficients,
)
from graphlowrank.linalg.eigen import largest_eigenvalue
from helpers import disjoint, random_graph

KINDS = ["combinatorial", "normalized"]


def dense_spectrum(graph, kind="combinatorial"):
    return np.linalg.eigh(graph.laplacian(kind).toarray().astype(np.float64))


# --- polynomials -----------------------------------------------------------------------------------------------


@given(order=st.integers(1, 60), cut=st.floats(0, 3), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_a_filter_acts_on_eigenvalues(order, cut, seed):
    graph = random_graph(15, seed=seed, spread=0.5)
    values, vectors = dense_spectrum(graph)
    upper = largest_eigenvalue(graph.laplacian())
    coefficients = step_coefficients(cut, order, upper)
    X = np.random.default_rng(seed).standard_normal((15, 3))
    response = np.polynomial.chebyshev.chebval(2 * values / upper - 1, coefficients)
    expected = vectors @ (response[:, None] * (vectors.T @ X))
    assert_allclose(apply_polynomial(graph.laplacian(), X, coefficients, upper), expected, atol=1e-9)
    assert np.all(response >= -1e-9)  # Jackson's damping: no overshoot
    assert np.all(response <= 1 + 1e-9)


def test_the_step_sharpens_with_its_order_and_grows_with_its_cut():
    at = np.linspace(-1, 1, 200)
    for order in (10, 100):
        low, high = (np.polynomial.chebyshev.chebval(at, step_coefficients(cut, order, 2.0)) for cut in (0.6, 0.9))
        assert np.all(high >= low - 1e-12)
    sharp = np.polynomial.chebyshev.chebval(at, step_coefficients(1.0, 400, 2.0))
    assert np.all(sharp[at < -0.05] > 0.99)
    assert np.all(sharp[at > 0.05] < 0.01)


def test_a_smooth_function_is_fitted():
    graph = random_graph(20, spread=0.5)
    values, vectors = dense_spectrum(graph)
    upper = largest_eigenvalue(graph.laplacian())
    X = np.eye(20)
    found = apply_polynomial(graph.laplacian(), X, fit_coefficients(lambda x: np.exp(-x), 60, upper), upper)
    assert_allclose(found, (vectors * np.exp(-values)) @ vectors.T, atol=1e-9)


def test_moments_are_traces_of_chebyshev_polynomials():
    graph = random_graph(14, spread=0.5)
    values, vectors = dense_spectrum(graph)
    upper = largest_eigenvalue(graph.laplacian())
    X = np.random.default_rng(0).standard_normal((14, 4))
    energy = np.sum((vectors.T @ X) ** 2, axis=1)
    moments = next(m for m in chebyshev_moments(graph.laplacian(), X, upper) if len(m) >= 12)
    expected = [np.polynomial.chebyshev.chebval(2 * values / upper - 1, np.eye(12)[j]) @ energy for j in range(12)]
    assert_allclose(moments, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_compiled_recurrence_is_its_plain_twin(dtype):
    graph = random_graph(60, density=0.1, spread=0.5)
    L = graph.laplacian().astype(dtype)
    X = np.random.default_rng(0).standard_normal((60, 5)).astype(dtype)
    upper = largest_eigenvalue(L)

    def first_steps(**options):
        total, recurrence, found = np.zeros_like(X), Recurrence(L, X, upper, **options), []
        for step in range(8):
            dots = recurrence.advance(total, 0.3 * step)
            found.append((recurrence.current.copy(), total.copy(), dots))
        return found

    pairs = zip(first_steps(), first_steps(compiled_above=0), strict=True)
    for (a, a_total, a_dots), (b, b_total, b_dots) in pairs:
        assert b.dtype == b_total.dtype == dtype
        assert_allclose(b, a, atol=1e-5 if dtype == np.float32 else 1e-12)
        assert_allclose(b_total, a_total, atol=1e-4 if dtype == np.float32 else 1e-12)
        assert_allclose(b_dots, a_dots, rtol=1e-4 if dtype == np.float32 else 1e-10)


# --- eigenpairs ------------------------------------------------------------------------------------------------


def lanczos_that_fails(*args):
    raise NotConvergedError


@pytest.mark.parametrize("engine", ["dense", "factorized", "lanczos"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pieces", [1, 3])
def test_every_engine_finds_the_lowest_eigenpairs(monkeypatch, engine, kind, pieces):
    graph = disjoint(*(random_graph(40 + 9 * i, density=0.15, seed=i, spread=0.5) for i in range(pieces)))
    if engine == "factorized":
        monkeypatch.setattr(spectrum_module, "_lanczos", lanczos_that_fails)
    values, vectors = lowest_eigenpairs(graph, 7, kind=kind, dense_up_to=1500 if engine == "dense" else 0)
    expected, basis = dense_spectrum(graph, kind)
    assert_allclose(values, expected[:7], atol=1e-6)
    assert_allclose(vectors.T @ vectors, np.eye(7), atol=1e-6)
    assert_allclose(graph.laplacian(kind) @ vectors, vectors * values, atol=1e-4)
    assert_allclose(vectors @ vectors.T, basis[:, :7] @ basis[:, :7].T, atol=1e-3)


def test_eigenvectors_do_not_depend_on_threads():
    graph = disjoint(*[random_graph(30, seed=i, spread=0.5) for i in range(4)])
    with limit_threads(1):
        one = lowest_eigenpairs(graph, 6)[1]
    with limit_threads(2):
        two = lowest_eigenpairs(graph, 6)[1]
    assert_allclose(one, two, atol=1e-9)  # four of them share the eigenvalue 0: any mixture would be one too


@pytest.mark.parametrize("kind", KINDS)
def test_multiple_eigenvalues_are_all_found(kind):
    nodes = np.arange(300)
    W = sp.csr_array((np.ones(300), (nodes, (nodes + 1) % 300)), shape=(300, 300))
    ring = Graph((W + W.T).tocsr())
    values = lowest_eigenpairs(ring, 7, kind=kind, dense_up_to=0)[0]
    scale = 1 if kind == "combinatorial" else 2
    assert_allclose(values * scale, 2 - 2 * np.cos(2 * np.pi * np.array([0, 1, 1, 2, 2, 3, 3]) / 300), atol=1e-7)


def test_eigenvectors_of_a_complete_graph_are_orthonormal():
    """All eigenvalues but the first are the largest, to which vectors that are known must not be shifted."""
    complete = as_graph(np.ones((40, 40)) - np.eye(40))
    values, vectors = lowest_eigenpairs(complete, 6, dense_up_to=0, factorized_up_to=0)
    assert_allclose(values, [0, 40, 40, 40, 40, 40], atol=1e-9)
    assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-9)


def test_more_pieces_than_eigenvectors_asked_for():
    values, vectors = lowest_eigenpairs(disjoint(*[random_graph(12, seed=i) for i in range(5)]), 3, dense_up_to=0)
    assert_array_equal(values, np.zeros(3))
    assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_null_vectors_are_null_and_orthonormal(kind):
    graph = disjoint(random_graph(10), Graph(sp.csr_array((1, 1))), random_graph(7, seed=1))
    null = null_space(graph, kind)
    assert null.shape == (18, 3)
    assert abs(graph.laplacian(kind) @ null).max() < 1e-10
    assert_allclose((null.T @ null).toarray(), np.eye(3), atol=1e-12)


@pytest.mark.parametrize("k", [0, 13])
@pytest.mark.parametrize("function", [lowest_eigenpairs, estimate_spectrum])
def test_impossible_numbers_of_eigenvalues(function, k):
    with pytest.raises(ValueError, match="between 1 and 12"):
        function(random_graph(12), k)


# --- the estimated spectrum ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_within_their_standard_error(kind):
    graph = knn_graph(np.random.default_rng(0).standard_normal((600, 3)), 8)
    values = dense_spectrum(graph, kind)[0]
    spectrum = estimate_spectrum(graph, 60, kind=kind, n_vectors=200, random_state=0)
    for k in (60, 150, 300):
        # The filter's edge smears counts over a few eigenvalues on top of the noise.
        assert spectrum.count((values[k - 1] + values[k]) / 2) == pytest.approx(
            k, abs=4 * np.sqrt(2 * k / 200) + 0.04 * k
        )
    assert spectrum.count(spectrum.upper) == pytest.approx(600, rel=0.02)


def test_eigenvalue_is_found_by_bisection():
    graph = grid_graph((30, 31))
    values = dense_spectrum(graph)[0]
    spectrum = estimate_spectrum(graph, 50, n_vectors=400, random_state=0)
    assert spectrum.eigenvalue(50) == pytest.approx(values[49], rel=0.1)
    assert spectrum.count(spectrum.eigenvalue(50)) == pytest.approx(49.5, abs=0.2)
    found = [spectrum.eigenvalue(k) for k in range(1, 200, 10)]
    assert_array_equal(found, np.sort(found))


def test_zero_eigenvalues_are_counted_exactly():
    graph = disjoint(*[random_graph(20, seed=i, spread=0.5) for i in range(6)])
    spectrum = estimate_spectrum(graph, 6, random_state=0)
    assert spectrum.eigenvalue(6) == 0.0
    assert spectrum.n_null == 6
    assert spectrum.count(0.0) == pytest.approx(6, abs=1)
    assert spectrum.eigenvalue(7) > 0


def test_estimates_do_not_depend_on_threads_or_runs():
    graph = knn_graph(np.random.default_rng(0).standard_normal((500, 3)).astype(np.float32), 6)
    found = []
    for threads in (1, 2, 2):
        with limit_threads(threads):
            found.append(estimate_spectrum(graph, 20, random_state=3).moments)
    assert_array_equal(found[1], found[2])
    assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-3)


def test_an_unresolved_eigenvalue_warns():
    with pytest.warns(RuntimeWarning, match="do not separate eigenvalue 2 from 0"):
        estimate_spectrum(path_graph(3000), 2, max_products=10, n_vectors=2, random_state=0)


def test_bad_numbers_of_vectors():
    with pytest.raises(ValueError, match="must be positive"):
        estimate_spectrum(random_graph(12), 2, n_vectors=0)
