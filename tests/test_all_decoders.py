"""Every decoder of the paper against a dense twin, an optimality condition or a known limit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from decoder_helpers import Problem, as_data, unit, weakly_joined
from graphlowrank.decoders import (
    DECODERS,
    Side,
    alternate_matrix,
    decode_alternate,
    decode_approximate2,
    decode_approximate3,
    decode_ideal,
    decode_orthonormal,
    decode_subspace,
    fit_bandlimited,
    fit_orthonormal,
    fit_smooth,
    upsample,
)
from graphlowrank.decoders.factors import factorise
from graphlowrank.graphs import knn_graph, lowest_eigenpairs, path_graph
from graphlowrank.sampling import draw
from helpers import disjoint, random_graph

# --- factors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_factors_multiply_back_to_the_matrix(weighted):
    problem = Problem(weighted=weighted)
    factors = factorise(problem.X_small, *problem.sides, n_components=3)
    assert_allclose(factors.samples @ factors.features.T + factors.centre, problem.X_small, atol=1e-8)


def test_weighted_factors_are_the_best_weighted_approximation(rng):
    rows, columns = rng.uniform(0.2, 4, 12), rng.uniform(0.2, 4, 9)
    X = rng.standard_normal((12, 9))
    factors = factorise(X, Side(None, np.arange(12), rows), Side(None, np.arange(9), columns), n_components=2)
    assert_allclose(factors.centre, rows @ X / rows.sum())
    left = X - factors.centre - factors.samples @ factors.features.T
    loss = np.sum(rows[:, None] * columns * left**2)
    singular = np.linalg.svd(np.sqrt(rows)[:, None] * (X - factors.centre) * np.sqrt(columns), compute_uv=False)
    assert loss == pytest.approx(np.sum(singular[2:] ** 2))


# --- ideal -----------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 999), weighted=st.booleans())
@settings(max_examples=25, deadline=None)
def test_the_ideal_decoder_is_exact_without_noise(seed, weighted):
    problem = Problem(seed=seed, weighted=weighted)
    M = decode_ideal(problem.X_small, *problem.sides, n_components=problem.k, k_samples=3, k_features=3).low_rank
    assert_allclose(M.to_array(), problem.X, atol=1e-6 * max(1, np.linalg.cond(problem.Q[problem.samples.indices])))


def test_the_ideal_decoder_is_least_squares_on_the_basis():
    problem = Problem(noise=0.3, weighted=True)
    M = decode_ideal(
        problem.X_small, *problem.sides, n_components=15, sample_basis=problem.Q, feature_basis=problem.P
    ).low_rank.to_array()
    w, v = problem.samples.weights, problem.features.weights
    # Normal equations: the weighted residual is orthogonal to everything in LR(P_k, Q_k).
    residual = w[:, None] * (M[problem.block] - problem.X_small) * v
    gradient = problem.Q[problem.samples.indices].T @ residual @ problem.P[problem.features.indices]
    assert np.abs(gradient).max() < 1e-8
    assert_allclose(problem.Q @ problem.Q.T @ M @ problem.P @ problem.P.T, M, atol=1e-8)


def test_an_eigenvector_that_the_draw_hardly_sees_is_left_out():
    """The last eigenvector sits on two nodes that were not drawn: fitting it would fit noise."""
    core, pair = random_graph(40, 0.3, spread=0.2), path_graph(2)
    W = disjoint(core, pair).weights.tolil()
    W[0, 40] = W[40, 0] = 1e-3
    graph = type(core)(W.tocsr())
    samples, features = Side(graph, np.arange(0, 30)), Side(None, np.arange(8))
    rng = np.random.default_rng(0)
    X = np.outer(np.ones(42), rng.standard_normal(8))
    X_small = X[:30] + 0.01 * rng.standard_normal((30, 8))
    by_default = decode_ideal(X_small, samples, features, n_components=1).low_rank.to_array()
    fixed = decode_ideal(X_small, samples, features, n_components=1, k_samples=2).low_rank.to_array()
    assert np.linalg.norm(by_default - X) < 0.05 * np.linalg.norm(X) < np.linalg.norm(fixed - X)


def test_a_badly_seen_eigenvector_does_not_take_the_others_with_it():
    """The second of six eigenvectors sits on an undrawn pair; the four after it must still be fitted."""
    rng = np.random.default_rng(0)
    W = disjoint(knn_graph(rng.random((300, 2)), 8), path_graph(2)).weights.tolil()
    W[0, 300] = W[300, 0] = 1e-4
    graph = type(path_graph(2))(W.tocsr())
    vectors = lowest_eigenpairs(graph, 6)[1]
    X = vectors[:, [0, 2, 3, 4, 5]] @ rng.standard_normal((5, 20))
    keep = np.sort(rng.choice(300, 100, replace=False))
    M = decode_ideal(X[keep], Side(graph, keep), Side(None, np.arange(20)), n_components=5).low_rank.to_array()
    assert np.linalg.norm(M[:300] - X[:300]) < 0.02 * np.linalg.norm(X)


def test_the_ideal_decoder_sees_every_component():
    graph = disjoint(*[random_graph(12, 0.5, seed=i, spread=0.2) for i in range(8)])
    X = np.repeat(np.random.default_rng(0).standard_normal((8, 2)), 12, axis=0) @ np.random.default_rng(1).random(
        (2, 9)
    )
    keep = draw(graph, 40, random_state=0)
    M = decode_ideal(X[keep], Side(graph, keep), Side(None, np.arange(9)), n_components=2).low_rank.to_array()
    assert_allclose(M, X, atol=1e-8)


def test_a_filter_may_vanish_on_low_frequencies(rng):
    graph = knn_graph(rng.random((120, 2)), 8)
    side = Side(graph, draw(graph, 60, random_state=0))
    values = rng.standard_normal((60, 2))
    found = fit_smooth(side, values, gamma=0.1, filter=lambda x: np.maximum(x - 0.3, 0.0) ** 2)
    assert found.converged
    assert np.linalg.norm(found.X[side.indices] - values) < np.linalg.norm(values)


@pytest.mark.parametrize("bad", [lambda x: 1.0, lambda x: -x, lambda x: np.full_like(x, np.nan)])
def test_filters_that_are_no_penalty_are_refused(bad):
    with pytest.raises(ValueError, match="finite numbers >= 0"):
        fit_smooth(Problem().samples, np.ones((20, 1)), gamma=0.1, filter=bad)


def test_normalisation_counts_delta_once_whichever_side_is_compressed():
    problem = Problem()
    complete = Side(None, np.arange(40)), Side(None, np.arange(30))
    rows, columns = problem.samples.indices, problem.features.indices
    for X_small, sides in (
        (problem.X_small, problem.sides),
        (problem.X[rows], (problem.samples, complete[1])),
        (problem.X[:, columns], (complete[0], problem.features)),
    ):
        plain, quarter = (
            decode_subspace(X_small, *sides, n_components=2, normalise=True, delta=delta).low_rank.singular_values
            for delta in (0.0, 0.75)
        )
        assert_allclose(quarter, 2 * plain, rtol=1e-8)


def test_projections_ignore_factors_that_are_not_there(rng):
    problem = Problem()
    X = np.outer(problem.Q[:, 1], problem.P[:, 1]) * 30
    noisy = X + rng.standard_normal(X.shape)
    for decode in (decode_approximate2, decode_approximate3):
        M = decode(X[problem.block], *problem.sides, data=noisy, n_components=8).low_rank
        assert M.rank <= 2


def test_basis_and_sample_must_fit():
    problem = Problem()
    with pytest.raises(ValueError, match="the basis has 7 rows, but the graph 40"):
        fit_bandlimited(problem.samples, np.ones((20, 1)), basis=np.eye(7))
    with pytest.raises(ValueError, match="cannot determine 40 coefficients"):
        fit_bandlimited(problem.samples, np.ones((20, 1)), basis=np.eye(40))
    blind = np.zeros((40, 2))
    blind[0, 0] = blind[np.setdiff1d(np.arange(40), problem.samples.indices)[0], 1] = 1  # the second is never seen
    with pytest.warns(RuntimeWarning, match="hardly determine 2 smooth signals"):
        fit_bandlimited(problem.samples, np.ones((20, 1)), basis=blind)


# --- alternate -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("power", [1, 2])
def test_the_alternate_decoder_is_a_stationary_point(weighted, power):
    problem = Problem(noise=0.2, weighted=weighted)
    X = alternate_matrix(
        problem.X_small, *problem.sides, gamma_samples=0.7, gamma_features=0.2, filter=power, tol=1e-10
    ).X
    w, v = (np.ones(len(s.indices)) if s.weights is None else s.weights for s in problem.sides)
    gradient = np.zeros_like(X)
    gradient[problem.block] = w[:, None] * (X[problem.block] - problem.X_small) * v
    L_samples, L_features = (np.linalg.matrix_power(unit(graph), power) for graph in problem.graphs)
    gradient += 0.7 * L_samples @ X + 0.2 * X @ L_features
    assert np.abs(gradient).max() < 1e-6


def test_the_alternate_decoder_keeps_the_leading_factors():
    problem = Problem(noise=0.01)
    full = alternate_matrix(problem.X_small, *problem.sides).X
    M = decode_alternate(problem.X_small, *problem.sides, n_components=2).low_rank
    u, s, vt = np.linalg.svd(full - full.mean(axis=0), full_matrices=False)
    assert M.rank == 2
    assert_allclose(M.to_array(), (u[:, :2] * s[:2]) @ vt[:2] + full.mean(axis=0), atol=1e-6)


def test_alternate_needs_positive_gammas():
    with pytest.raises(ValueError, match="gammas must be positive"):
        alternate_matrix(Problem().X_small, *Problem().sides, gamma_samples=0.0)


def test_alternate_tends_to_ideal_as_the_gap_closes():
    errors = []
    for tie in (1.0, 1e-2, 1e-4):
        graphs = weakly_joined(40, 4, tie, 0), weakly_joined(32, 4, tie, 9)
        Q, P = (lowest_eigenpairs(graph, 4)[1] for graph in graphs)
        X = Q @ np.random.default_rng(0).standard_normal((4, 4)) @ P.T
        sides = [Side(graph, draw(graph, graph.n_nodes // 2, random_state=1)) for graph in graphs]
        X_small = X[np.ix_(*(side.indices for side in sides))]
        ideal = decode_ideal(X_small, *sides, n_components=3, k_samples=4, k_features=4).low_rank.to_array()
        assert_allclose(ideal, X, atol=1e-7)
        alternate = alternate_matrix(X_small, *sides, gamma_samples=1e-2, gamma_features=1e-2, tol=1e-9).X
        errors.append(np.linalg.norm(alternate - X) / np.linalg.norm(X))
    assert errors[0] > 5 * errors[1] > 25 * errors[2]
    assert errors[2] < 1e-3


# --- orthonormal -----------------------------------------------------------------------------------------------


def test_the_orthonormal_fit_descends_and_stays_orthonormal():
    problem = Problem(k=4)
    values = np.linalg.qr(problem.Q[problem.samples.indices])[0]
    weights = np.random.default_rng(0).uniform(0.05, 5, 20)
    side = Side(problem.graphs[0], problem.samples.indices, weights)
    solution = fit_orthonormal(side, values, radius=0.1, tol=1e-9, max_iter=5000)
    assert_allclose(solution.X.T @ solution.X, np.eye(4), atol=1e-10)
    assert np.all(np.diff(solution.objective) <= 1e-12)
    assert solution.converged


def test_the_orthonormal_fit_follows_its_data_or_its_graph(rng):
    problem = Problem(k=3)
    values = np.linalg.qr(rng.standard_normal((20, 3)))[0]
    target = np.sqrt(20 / 40) * values

    def off(**options):
        U = fit_orthonormal(problem.samples, values, radius=0.0, tol=1e-8, max_iter=5000, **options).X
        return np.linalg.norm(U[problem.samples.indices] - target), np.trace(U.T @ unit(problem.graphs[0]) @ U)

    (near, rough), (far, smooth) = off(coupling=100.0), off(coupling=1e-3)
    assert near < 0.5 * far
    assert smooth < 0.5 * rough


def test_the_orthonormal_decoder_is_close_on_clusters():
    graphs = weakly_joined(60, 3, 1e-3, 0), weakly_joined(48, 3, 1e-3, 9)
    Q, P = (lowest_eigenpairs(graph, 3)[1] for graph in graphs)
    X = Q @ np.diag([3.0, 2.0, 1.5]) @ P.T
    sides = [Side(graph, draw(graph, graph.n_nodes // 2, random_state=1)) for graph in graphs]
    M = decode_orthonormal(X[np.ix_(*(side.indices for side in sides))], *sides, n_components=2).low_rank
    assert np.linalg.norm(M.to_array() - X) < 0.25 * np.linalg.norm(X)
    assert M.rank == 2


@pytest.mark.parametrize("options", [{"radius": 1.0}, {"radius": -0.1}, {"coupling": 0.0}])
def test_bad_orthonormal_options(options):
    with pytest.raises(ValueError, match="radius must be"):
        fit_orthonormal(Problem().samples, np.eye(20, 2), **options)


# --- projections -----------------------------------------------------------------------------------------------


def test_projections_reproduce_data_in_their_subspace():
    graphs = weakly_joined(40, 4, 1e-9, 0), weakly_joined(32, 4, 1e-9, 9)
    Q, P = (lowest_eigenpairs(graph, 4)[1] for graph in graphs)
    X = Q @ np.random.default_rng(0).standard_normal((4, 4)) @ P.T
    sides = [Side(graph, draw(graph, graph.n_nodes // 2, random_state=1)) for graph in graphs]
    X_small = X[np.ix_(*(side.indices for side in sides))]
    for decode in (decode_approximate2, decode_approximate3):
        assert_allclose(decode(X_small, *sides, data=X, n_components=3).low_rank.to_array(), X, atol=1e-5)


def test_projections_are_projections(rng):
    problem = Problem(noise=0.2)
    data = problem.X + 0.2 * rng.standard_normal(problem.X.shape)
    by_features = decode_approximate2(problem.X_small, *problem.sides, data=data, n_components=10).low_rank.to_array()
    factors = factorise(problem.X_small, *problem.sides, n_components=10)
    V = upsample(problem.graphs[1], problem.features.indices, factors.features_and_centre).X
    V = np.linalg.qr(V)[0]
    assert_allclose(by_features @ V @ V.T, by_features, atol=1e-8)
    mean = (data @ V @ V.T).mean(axis=0)
    u, s, vt = np.linalg.svd(data @ V @ V.T - mean, full_matrices=False)
    assert_allclose(by_features, (u[:, :10] * s[:10]) @ vt[:10] + mean, atol=1e-8)
    by_samples = decode_approximate3(problem.X_small, *problem.sides, data=data, n_components=10).low_rank.to_array()
    U = upsample(problem.graphs[0], problem.samples.indices, factors.samples).X
    U = np.linalg.qr(np.column_stack([np.ones(40), U]))[0]
    assert_allclose(by_samples, U @ U.T @ data, atol=1e-8)


# --- what they share -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_decoder_keeps_the_dtype_and_its_factors_orthonormal(name, dtype):
    problem = Problem(noise=0.05)
    X = problem.X.astype(dtype)
    options = {"approximate2": {"data": X}, "approximate3": {"data": X}, "robust": {"data": as_data(X)}}.get(name, {})
    decoded = DECODERS[name](problem.X_small.astype(dtype), *problem.sides, n_components=2, **options)
    M = decoded.low_rank
    assert M.shape == (40, 30)
    assert M.rank == 2
    assert M.dtype == M.right.dtype == M.singular_values.dtype == M.offset.dtype == dtype
    assert_allclose(M.left.T @ M.left, np.eye(2), atol=1e-4)
    assert_allclose(M.right.T @ M.right, np.eye(2), atol=1e-4)
    assert decoded.converged


@pytest.mark.parametrize("name", DECODERS)
def test_every_decoder_does_nothing_where_everything_was_kept(name, rng):
    """On complete data of exact rank all return the data (some after shrinking or smoothing them a little)."""
    graphs = random_graph(20, spread=0.5), random_graph(15, seed=1, spread=0.5)
    sides = [Side(graph, np.arange(graph.n_nodes)) for graph in graphs]
    X = rng.standard_normal((20, 3)) @ rng.standard_normal((3, 15)) + 1
    options = {
        "approximate2": {"data": X}, "approximate3": {"data": X}, "robust": {"data": as_data(X)},
        "ideal": {"k_samples": 20, "k_features": 15},
        "alternate": {"gamma_samples": 1e-9, "gamma_features": 1e-9},
        "approximate": {"gamma_samples": 1e-9, "gamma_features": 1e-9},
    }.get(name, {})  # fmt: skip
    atol = 1e-3 if name == "robust" else 1e-5
    assert_allclose(DECODERS[name](X, *sides, n_components=3, **options).low_rank.to_array(), X, atol=atol)


@pytest.mark.parametrize("name", ["subspace", "alternate", "approximate", "orthonormal"])
def test_a_component_without_a_sample_is_refused_by_every_decoder(name):
    graph = disjoint(path_graph(6), path_graph(6))
    with pytest.raises(ValueError, match="without a kept node"):
        DECODERS[name](np.eye(3), Side(graph, np.arange(3)), Side(None, np.arange(3)), n_components=1)
