"""The alternate decoder: one convex problem on both graphs."""

import numpy as np
import pytest
from decoder_helpers import Problem, weakly_joined
from numpy.testing import assert_allclose

from graphlowrank.decoders import (
    alternate_matrix,
    decode_alternate,
    decode_ideal,
)
from graphlowrank.graphs import lowest_eigenpairs
from graphlowrank.sampling import SampledNodes, draw
from helpers import dense_laplacian


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
    L_samples, L_features = (np.linalg.matrix_power(dense_laplacian(graph), power) for graph in problem.graphs)
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


def test_alternate_tends_to_ideal_as_the_spectral_gap_grows():
    errors = []
    for tie in (1.0, 1e-2, 1e-4):
        graphs = weakly_joined(40, 4, tie, 0), weakly_joined(32, 4, tie, 9)
        Q, P = (lowest_eigenpairs(graph, 4)[1] for graph in graphs)
        X = Q @ np.random.default_rng(0).standard_normal((4, 4)) @ P.T
        sides = [SampledNodes(graph, draw(graph, graph.n_nodes // 2, random_state=1)) for graph in graphs]
        X_small = X[np.ix_(*(side.indices for side in sides))]
        ideal = decode_ideal(X_small, *sides, n_components=3, k_samples=4, k_features=4).low_rank.to_array()
        assert_allclose(ideal, X, atol=1e-7)
        alternate = alternate_matrix(X_small, *sides, gamma_samples=1e-2, gamma_features=1e-2, tol=1e-9).X
        errors.append(np.linalg.norm(alternate - X) / np.linalg.norm(X))
    assert errors[0] > 5 * errors[1] > 25 * errors[2]
    assert errors[2] < 1e-3
