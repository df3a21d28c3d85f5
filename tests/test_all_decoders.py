"""Every decoder of the paper against a dense twin, an optimality condition or a known limit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from graphlowrank.decoders import (
    DECODERS,
    Side,
    alternate_matrix,
    decode_alternate,
    decode_approximate,
    decode_approximate2,
    decode_approximate3,
    decode_ideal,
    decode_labels,
    decode_orthonormal,
    decode_subspace,
    fit_bandlimited,
    fit_orthonormal,
    fit_smooth,
    upsample,
)
from graphlowrank.decoders import penalty as penalty_module
from graphlowrank.decoders.factors import factorise
from graphlowrank.graphs import chain_graph, knn_graph, lowest_eigenpairs
from graphlowrank.linalg import spd
from graphlowrank.sampling import draw
from helpers import disjoint, random_graph


class Problem:
    """A matrix that is exactly low-rank on two graphs, and its compressed version."""

    def __init__(self, n=40, p=30, k=3, m_rows=20, m_columns=15, seed=0, noise=0.0, *, weighted=False):
        rng = np.random.default_rng(seed)
        self.graphs = random_graph(n, 0.2, seed, spread=0.5), random_graph(p, 0.2, seed + 1, spread=0.5)
        self.Q, self.P = (lowest_eigenpairs(graph, k)[1] for graph in self.graphs)
        self.X = self.Q @ rng.standard_normal((k, k)) @ self.P.T
        rows, columns = (
            draw(graph, m, random_state=seed) for graph, m in zip(self.graphs, (m_rows, m_columns), strict=True)
        )
        weights = [rng.uniform(0.3, 3, len(i)) if weighted else None for i in (rows, columns)]
        self.samples, self.features = Side(self.graphs[0], rows, weights[0]), Side(self.graphs[1], columns, weights[1])
        self.block = np.ix_(rows, columns)
        self.noise = noise * rng.standard_normal((len(rows), len(columns)))
        self.X_small = self.X[self.block] + self.noise
        self.k = k

    @property
    def sides(self):
        return self.samples, self.features


def unit(graph):
    return graph.unit_laplacian().toarray()


def dense_fit(side, values, gamma, power=1):
    n = side.graph.n_nodes
    w = np.zeros(n)
    w[side.indices] = 1 if side.weights is None else side.weights
    right = np.zeros((n, values.shape[1]))
    right[side.indices] = w[side.indices, None] * values
    return np.linalg.solve(np.diag(w) + gamma * np.linalg.matrix_power(unit(side.graph), power), right)


def dense_interpolation(side, values, G):
    n = len(G)
    dropped = np.setdiff1d(np.arange(n), side.indices)
    out = np.empty((n, values.shape[1]))
    out[side.indices] = values
    out[dropped] = np.linalg.solve(G[np.ix_(dropped, dropped)], -G[np.ix_(dropped, side.indices)] @ values)
    return out


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
    core, pair = random_graph(40, 0.3, spread=0.2), chain_graph(2)
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
    W = disjoint(knn_graph(rng.random((300, 2)), 8), chain_graph(2)).weights.tolil()
    W[0, 300] = W[300, 0] = 1e-4
    graph = type(chain_graph(2))(W.tocsr())
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
    graph = chain_graph(400)
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
        fit_smooth(Side(chain_graph(200), np.array([0, 199])), np.ones((2, 1)), gamma=1e-6, filter=3, max_iter=3)


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


def weakly_joined(n, k, tie, seed):
    """k groups of n / k nodes, joined in a ring by single edges of weight ``tie``."""
    groups = disjoint(*(random_graph(n // k, 0.5, seed + i, spread=0.2) for i in range(k)))
    W = groups.weights.tolil()
    starts = np.arange(k) * (n // k)
    for a, b in zip(starts, np.roll(starts, 1), strict=True):
        W[a, b] = W[b, a] = tie
    return type(groups)(W.tocsr())


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
    options = {"data": problem.X.astype(dtype)} if name in ("approximate2", "approximate3") else {}
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
    """On complete data of exact rank all of them return the data (the alternate one smooths them a little)."""
    graphs = random_graph(20, spread=0.5), random_graph(15, seed=1, spread=0.5)
    sides = [Side(graph, np.arange(graph.n_nodes)) for graph in graphs]
    X = rng.standard_normal((20, 3)) @ rng.standard_normal((3, 15)) + 1
    options = {
        "approximate2": {"data": X}, "approximate3": {"data": X},
        "ideal": {"k_samples": 20, "k_features": 15},
        "alternate": {"gamma_samples": 1e-9, "gamma_features": 1e-9},
        "approximate": {"gamma_samples": 1e-9, "gamma_features": 1e-9},
    }.get(name, {})  # fmt: skip
    assert_allclose(DECODERS[name](X, *sides, n_components=3, **options).low_rank.to_array(), X, atol=1e-5)


@pytest.mark.parametrize("name", ["subspace", "alternate", "approximate", "orthonormal"])
def test_a_component_without_a_sample_is_refused_by_every_decoder(name):
    graph = disjoint(chain_graph(6), chain_graph(6))
    with pytest.raises(ValueError, match="without a kept node"):
        DECODERS[name](np.eye(3), Side(graph, np.arange(3)), Side(None, np.arange(3)), n_components=1)


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
