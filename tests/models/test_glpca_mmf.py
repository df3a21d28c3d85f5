"""Two models with a closed form, held to a dense eigensolver, to the limits they join, and to alternating descent."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from graphlowrank.graphs import knn_graph, lowest_eigenpairs, path_graph
from graphlowrank.linalg.eigen import lanczos_eigenpairs
from graphlowrank.models import glpca, solve_glpca, solve_mmf
from helpers import disjoint, random_graph


def problem(n, p, seed=0, rank=None):
    rng = np.random.default_rng(seed)
    rank = min(n, p) if rank is None else rank
    X = rng.standard_normal((n, rank)) * np.linspace(2, 0.5, rank) @ rng.standard_normal((rank, p))
    X -= X.mean(axis=0)
    return X, knn_graph(rng.standard_normal((n, 2)), min(5, n - 1))


def same_span(A, B):
    """Largest sine between two spans with orthonormal bases."""
    return np.linalg.norm(A - B @ (B.T @ A), 2)


def glpca_objective(X, L, Q, beta):
    a, b = np.linalg.norm(X, 2) ** 2, np.linalg.eigvalsh(L)[-1]
    return (1 - beta) * np.sum((X - Q @ (Q.T @ X)) ** 2) / a + beta * np.trace(Q.T @ L @ Q) / b


def mmf_objective(X, L, V, C, gamma):
    return np.sum((X - V @ C) ** 2) + gamma * np.trace(V.T @ L @ V)


# --- GLPCA -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["dense", "lanczos"])
@pytest.mark.parametrize("shape", [(80, 30), (60, 90), (70, 20)], ids=str)
@pytest.mark.parametrize("beta", [0.0, 0.3, 0.9, 1.0])
def test_scores_are_the_lowest_eigenvectors(way, shape, beta):
    X, graph = problem(*shape, rank=10 if shape[1] == 20 else None)
    L = graph.laplacian().toarray()
    found = solve_glpca(X, graph.laplacian(), 4, beta=beta, dense=way == "dense")
    n, a, b = len(X), np.linalg.norm(X, 2) ** 2, np.linalg.eigvalsh(L)[-1]
    G = (1 - beta) * (np.eye(n) - X @ X.T / a) + beta * (L / b + np.ones((n, n)) / n)
    values, vectors = np.linalg.eigh(G)
    assert same_span(found.scores, vectors[:, :4]) < 1e-4
    assert_allclose(1 - beta - found.values, values[:4], atol=1e-4)
    assert_allclose(found.scores.T @ found.scores, np.eye(4), atol=1e-8)
    assert_allclose(found.components, found.scores.T @ X)


@given(seed=st.integers(0, 500), n=st.integers(6, 40), p=st.integers(2, 40), beta=st.floats(0, 1))
@settings(max_examples=30, deadline=None)
def test_no_other_centred_scores_do_better(seed, n, p, beta):
    X, graph = problem(n, p, seed)
    L = graph.laplacian().toarray()
    best = glpca_objective(X, L, solve_glpca(X, graph.laplacian(), 2, beta=beta).scores, beta)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        other = rng.standard_normal((n, 2))
        other = np.linalg.qr(other - other.mean(axis=0))[0]
        assert best <= glpca_objective(X, L, other, beta) + 1e-8


def test_ends_of_beta_are_pca_and_laplacian_eigenmaps():
    X, graph = problem(90, 12)
    pca = solve_glpca(X, graph.laplacian(), 3, beta=0.0)
    assert same_span(pca.scores, np.linalg.svd(X, full_matrices=False)[0][:, :3]) < 1e-6
    maps = solve_glpca(X, graph.laplacian(), 3, beta=1.0)
    assert same_span(maps.scores, lowest_eigenpairs(graph, 4)[1][:, 1:]) < 1e-6


def test_more_weight_on_the_graph_makes_scores_smoother_and_the_fit_worse():
    X, graph = problem(120, 20)
    L = graph.laplacian()
    found = [solve_glpca(X, L, 3, beta=beta) for beta in (0.0, 0.2, 0.5, 0.8, 1.0)]
    rough = [np.sum(e.scores * (L @ e.scores)) for e in found]
    misfit = [np.sum((X - e.scores @ e.components) ** 2) for e in found]
    assert (np.diff(rough) <= 1e-9).all()
    assert (np.diff(misfit) >= -1e-9).all()


# --- MMF ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["dense", "lanczos"])
@pytest.mark.parametrize("shape", [(80, 30), (40, 90), (70, 20)], ids=str)
@pytest.mark.parametrize("gamma", [0.0, 0.3, 30.0])
def test_components_are_the_leading_eigenvectors(way, shape, gamma):
    X, graph = problem(*shape, rank=10 if shape[1] == 20 else None)
    L = graph.laplacian().toarray()
    found = solve_mmf(X, graph.laplacian(), 4, gamma=gamma, dense=way == "dense")
    A = np.eye(len(X)) + gamma * L
    values, vectors = np.linalg.eigh(X.T @ np.linalg.solve(A, X))
    assert same_span(found.components.T, vectors[:, ::-1][:, :4]) < 1e-5
    assert_allclose(found.values, values[::-1][:4], rtol=1e-6)
    assert_allclose(found.components @ found.components.T, np.eye(4), atol=1e-8)
    assert_allclose(found.scores, np.linalg.solve(A, X @ found.components.T), atol=1e-6)


@given(seed=st.integers(0, 500), n=st.integers(6, 40), p=st.integers(2, 40), gamma=st.floats(0, 100))
@settings(max_examples=30, deadline=None)
def test_alternating_descent_from_anywhere_does_no_better(seed, n, p, gamma):
    X, graph = problem(n, p, seed)
    L = graph.laplacian().toarray()
    found = solve_mmf(X, graph.laplacian(), 2, gamma=gamma)
    best = mmf_objective(X, L, found.scores, found.components, gamma)
    C = np.linalg.qr(np.random.default_rng(seed).standard_normal((p, 2)))[0].T
    for _ in range(30):
        V = np.linalg.solve(np.eye(n) + gamma * L, X @ C.T)
        left, _, right = np.linalg.svd(V.T @ X, full_matrices=False)
        C = left @ right
    assert best <= mmf_objective(X, L, V, C, gamma) + 1e-7 * np.sum(X**2)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gamma", [1e4, 1e7, 1e10, 1e30])
def test_a_strong_graph_leaves_the_means_of_its_parts(gamma, dtype, rng):
    """Exact scores, from the eigenvectors of the Laplacian; rounding of gamma L X was larger than they are."""
    graph = disjoint(random_graph(30, seed=1), random_graph(20, seed=2))
    X = (rng.standard_normal((50, 6)) + np.repeat([0, 2], [30, 20])[:, None]).astype(dtype)
    X -= X.mean(axis=0)
    found = solve_mmf(X, graph.laplacian(), 3, gamma=gamma)
    values, vectors = np.linalg.eigh(graph.laplacian().toarray())
    values[:2] = 0  # of two parts
    shrunk = (vectors.T @ X.astype(float) @ found.components.T.astype(float)) / (1 + gamma * values)[:, None]
    assert_allclose(found.scores, vectors @ shrunk, atol=1e-3 if gamma > 1e7 else 1e-5)
    assert_allclose(np.abs(found.scores[0] - found.scores[29]).max(), 0, atol=4 / min(gamma, 1e6))


def test_without_a_graph_it_is_pca():
    X, graph = problem(60, 15)
    found = solve_mmf(X, graph.laplacian(), 3, gamma=0.0)
    assert same_span(found.components.T, np.linalg.svd(X)[2][:3].T) < 1e-6
    assert_allclose(found.scores, X @ found.components.T)


# --- both --------------------------------------------------------------------------------------------------

SOLVERS = {
    "glpca": lambda X, L, k: solve_glpca(X, L, k, beta=0.4),
    "mmf": lambda X, L, k: solve_mmf(X, L, k, gamma=2.0),
}


@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
def test_single_precision_stays_single_and_close(solve):
    X, graph = problem(700, 30)  # so many that GLPCA goes by Lanczos
    double = solve(X, graph.laplacian(), 3)
    single = solve(X.astype(np.float32), graph.laplacian().astype(np.float32), 3)
    assert single.scores.dtype == single.components.dtype == np.float32
    assert_allclose(single.scores, double.scores, atol=2e-3 * np.abs(double.scores).max())


@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
def test_the_answer_repeats_and_data_are_left_alone(solve):
    X, graph = problem(600, 10)
    X.setflags(write=False)
    assert_array_equal(solve(X, graph.laplacian(), 2).scores, solve(X, graph.laplacian(), 2).scores)


@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
def test_a_constant_matrix_has_nothing_to_say(solve):
    _, graph = problem(20, 5)
    assert np.isfinite(solve(np.zeros((20, 5)), graph.laplacian(), 2).scores).all()


@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)
def test_whole_numbers_are_welcome_and_nan_is_not(solve):
    X, graph = problem(30, 8)
    whole, L = np.round(10 * X).astype(int), graph.laplacian()
    assert_array_equal(solve(whole, L, 2).scores, solve(whole.astype(float), L, 2).scores)
    with pytest.raises(ValueError, match="NaN"):
        solve(np.where(X > 2, np.nan, X), L, 2)


def test_as_many_components_as_features_beyond_the_dense_limit(rng):
    X = rng.standard_normal((400, 301))
    X -= X.mean(axis=0)
    found = solve_mmf(X, knn_graph(X, 5).laplacian(), 301, gamma=0.0)
    assert_allclose(found.scores @ found.components, X, atol=1e-8)


def test_repeated_rows_make_eigenvalues_that_coincide(rng):
    """Copies of a point are a component of their own, or nearly: eigenvalues near 0, of high multiplicity."""
    X = rng.standard_normal((150, 2))[rng.integers(0, 150, 600)]
    X -= X.mean(axis=0)
    L = knn_graph(X, 10).unit_laplacian("normalized")
    found, exact = solve_glpca(X, L, 10), solve_glpca(X, L, 10, dense=True)
    assert_allclose(found.values, exact.values, atol=1e-8)
    assert_allclose(found.scores.T @ found.scores, np.eye(10), atol=1e-8)
    quality = glpca._quality(X, L, 0.5, np.full(600, 600**-0.5))
    options = {"tol": 1e-12, "shift": 1.0, "ncv": 30, "maxiter": 300}
    with pytest.warns(ConvergenceWarning, match="accurate to 1e-05 only"):
        values, _ = lanczos_eigenpairs(quality, 600, 10, failure="", dense_up_to=0, **options)
    assert_allclose(values, exact.values, atol=1e-4)


def test_long_chains_do_not_hold_up_the_unit_of_the_graph():
    """The largest eigenvalue of a chain is one of very many; a few digits of it are enough."""
    products = []
    L = path_graph(4000).laplacian()
    value = glpca._largest_eigenvalue(lambda v: products.append(1) or L @ v, 4000, np.dtype(float))
    assert value == pytest.approx(4, rel=1e-3)
    assert len(products) < 5000


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda X, L: solve_glpca(X, L, 0), "n_components"),
        (lambda X, L: solve_glpca(X, L, 20), "n_components"),
        (lambda X, L: solve_glpca(X, L, 2, beta=1.5), "beta"),
        (lambda X, L: solve_glpca(X[:5], L, 2), "L_samples"),
        (lambda X, L: solve_mmf(X, L, 9, gamma=1.0), "n_components"),
        (lambda X, L: solve_mmf(X, L, 2, gamma=-1.0), "gamma"),
        (lambda X, L: solve_mmf(X[:5], L, 2, gamma=1.0), "L_samples"),
    ],
)
def test_bad_arguments_are_named(call, text):
    X, graph = problem(20, 8)
    with pytest.raises(ValueError, match=text):
        call(X, graph.laplacian())
