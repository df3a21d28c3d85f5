"""The ideal decoder: least squares on eigenvectors."""

import numpy as np
import pytest
from decoder_helpers import Problem
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from graphlowrank.decoders import (
    decode_ideal,
    fit_bandlimited,
)
from graphlowrank.graphs import knn_graph, lowest_eigenpairs, path_graph
from graphlowrank.sampling import SampledNodes, draw
from helpers import disjoint, random_graph


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


def test_an_eigenvector_that_vanishes_on_the_kept_nodes_is_left_out():
    """The last eigenvector sits on two nodes that were not drawn: fitting it would fit noise."""
    core, pair = random_graph(40, 0.3, spread=0.2), path_graph(2)
    W = disjoint(core, pair).weights.tolil()
    W[0, 40] = W[40, 0] = 1e-3
    graph = type(core)(W.tocsr())
    samples, features = SampledNodes(graph, np.arange(0, 30)), SampledNodes(None, np.arange(8))
    rng = np.random.default_rng(0)
    X = np.outer(np.ones(42), rng.standard_normal(8))
    X_small = X[:30] + 0.01 * rng.standard_normal((30, 8))
    by_default = decode_ideal(X_small, samples, features, n_components=1).low_rank.to_array()
    fixed = decode_ideal(X_small, samples, features, n_components=1, k_samples=2).low_rank.to_array()
    assert np.linalg.norm(by_default - X) < 0.05 * np.linalg.norm(X) < np.linalg.norm(fixed - X)


def test_later_eigenvectors_stay_if_one_is_left_out():
    """The second of six eigenvectors sits on an undrawn pair; the four after it must still be fitted."""
    rng = np.random.default_rng(0)
    W = disjoint(knn_graph(rng.random((300, 2)), 8), path_graph(2)).weights.tolil()
    W[0, 300] = W[300, 0] = 1e-4
    graph = type(path_graph(2))(W.tocsr())
    vectors = lowest_eigenpairs(graph, 6)[1]
    X = vectors[:, [0, 2, 3, 4, 5]] @ rng.standard_normal((5, 20))
    keep = np.sort(rng.choice(300, 100, replace=False))
    M = decode_ideal(
        X[keep], SampledNodes(graph, keep), SampledNodes(None, np.arange(20)), n_components=5
    ).low_rank.to_array()
    assert np.linalg.norm(M[:300] - X[:300]) < 0.02 * np.linalg.norm(X)


def test_every_connected_component_has_an_eigenvector():
    graph = disjoint(*[random_graph(12, 0.5, seed=i, spread=0.2) for i in range(8)])
    X = np.repeat(np.random.default_rng(0).standard_normal((8, 2)), 12, axis=0) @ np.random.default_rng(1).random(
        (2, 9)
    )
    keep = draw(graph, 40, random_state=0)
    M = decode_ideal(
        X[keep], SampledNodes(graph, keep), SampledNodes(None, np.arange(9)), n_components=2
    ).low_rank.to_array()
    assert_allclose(M, X, atol=1e-8)


def test_basis_and_kept_nodes_must_fit():
    problem = Problem()
    with pytest.raises(ValueError, match="the basis has 7 rows, but the graph 40"):
        fit_bandlimited(problem.samples, np.ones((20, 1)), basis=np.eye(7))
    with pytest.raises(ValueError, match="cannot determine 40 coefficients"):
        fit_bandlimited(problem.samples, np.ones((20, 1)), basis=np.eye(40))
    blind = np.zeros((40, 2))
    blind[0, 0] = blind[np.setdiff1d(np.arange(40), problem.samples.indices)[0], 1] = 1  # the second is never seen
    with pytest.warns(RuntimeWarning, match="hardly determine 2 smooth signals"):
        fit_bandlimited(problem.samples, np.ones((20, 1)), basis=blind)
