"""The decoders that project the data."""

import numpy as np
from decoder_helpers import Problem, weakly_joined
from numpy.testing import assert_allclose

from graphlowrank.decoders import (
    decode_approximate2,
    decode_approximate3,
    upsample,
)
from graphlowrank.decoders.factors import factorize
from graphlowrank.graphs import lowest_eigenpairs
from graphlowrank.sampling import SampledNodes, draw


def test_projections_ignore_factors_below_the_noise(rng):
    problem = Problem()
    X = np.outer(problem.Q[:, 1], problem.P[:, 1]) * 30
    noisy = X + rng.standard_normal(X.shape)
    for decode in (decode_approximate2, decode_approximate3):
        M = decode(X[problem.block], *problem.sides, data=noisy, n_components=8).low_rank
        assert M.rank <= 2


def test_projections_reproduce_data_in_their_subspace():
    graphs = weakly_joined(40, 4, 1e-9, 0), weakly_joined(32, 4, 1e-9, 9)
    Q, P = (lowest_eigenpairs(graph, 4)[1] for graph in graphs)
    X = Q @ np.random.default_rng(0).standard_normal((4, 4)) @ P.T
    sides = [SampledNodes(graph, draw(graph, graph.n_nodes // 2, random_state=1)) for graph in graphs]
    X_small = X[np.ix_(*(side.indices for side in sides))]
    for decode in (decode_approximate2, decode_approximate3):
        assert_allclose(decode(X_small, *sides, data=X, n_components=3).low_rank.to_array(), X, atol=1e-5)


def test_projections_are_projections(rng):
    problem = Problem(noise=0.2)
    data = problem.X + 0.2 * rng.standard_normal(problem.X.shape)
    by_features = decode_approximate2(problem.X_small, *problem.sides, data=data, n_components=10).low_rank.to_array()
    factors = factorize(problem.X_small, *problem.sides, n_components=10)
    V = upsample(problem.graphs[1], problem.features.indices, factors.features_and_center).X
    V = np.linalg.qr(V)[0]
    assert_allclose(by_features @ V @ V.T, by_features, atol=1e-8)
    mean = (data @ V @ V.T).mean(axis=0)
    u, s, vt = np.linalg.svd(data @ V @ V.T - mean, full_matrices=False)
    assert_allclose(by_features, (u[:, :10] * s[:10]) @ vt[:10] + mean, atol=1e-8)
    by_samples = decode_approximate3(problem.X_small, *problem.sides, data=data, n_components=10).low_rank.to_array()
    U = upsample(problem.graphs[0], problem.samples.indices, factors.samples).X
    U = np.linalg.qr(np.column_stack([np.ones(40), U]))[0]
    assert_allclose(by_samples, U @ U.T @ data, atol=1e-8)


def test_as_many_factors_as_features(rng):
    X = rng.standard_normal((30, 3))
    sides = SampledNodes(None, np.arange(30)), SampledNodes(None, np.arange(3))
    for decode in (decode_approximate2, decode_approximate3):
        assert_allclose(decode(X, *sides, data=X, n_components=3).low_rank.to_array(), X, atol=1e-10)
