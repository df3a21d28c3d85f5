"""The subspace and the approximate decoder."""

import numpy as np
import pytest
from decoder_helpers import Problem
from numpy.testing import assert_allclose

from graphlowrank.decoders import (
    decode_approximate,
    decode_subspace,
    upsample,
)
from graphlowrank.decoders.factors import factorize
from graphlowrank.sampling import SampledNodes, draw
from helpers import dense_fit, dense_upsample, random_graph


def test_sampled_block_is_reproduced(rng):
    samples, features = random_graph(30, spread=0.5), random_graph(20, seed=1, spread=0.5)
    rows, columns = np.arange(0, 30, 2), np.arange(0, 20, 2)
    X_small = rng.standard_normal((15, 3)) @ rng.standard_normal((3, 10)) + 5
    M = decode_subspace(X_small, SampledNodes(samples, rows), SampledNodes(features, columns), n_components=3).low_rank
    M = M.rescaled(2.0, 1.0)
    assert M.shape == (30, 20)
    assert M.rank == 3
    assert_allclose(M[np.ix_(rows, columns)], 2 * X_small + 1, atol=1e-6)
    assert_allclose(M.left.T @ M.left, np.eye(3), atol=1e-10)
    assert_allclose(M.right.T @ M.right, np.eye(3), atol=1e-10)


def test_decoding_is_the_dense_twin(rng):
    samples, features = random_graph(25, spread=0.5), random_graph(16, seed=1, spread=0.5)
    rows, columns = draw(samples, 12, random_state=0), draw(features, 9, random_state=0)
    X_small = rng.standard_normal((12, 4)) @ rng.standard_normal((4, 9))
    M = decode_subspace(
        X_small, SampledNodes(samples, rows), SampledNodes(features, columns), n_components=4
    ).low_rank.to_array()
    half = dense_upsample(samples, rows, X_small)  # interpolation is linear, so factors need not be formed
    assert_allclose(M, dense_upsample(features, columns, half.T).T, atol=1e-6)


def test_without_compression_decoding_is_the_truncated_svd(rng):
    X = rng.standard_normal((20, 8))
    M = decode_subspace(X, SampledNodes(None, np.arange(20)), SampledNodes(None, np.arange(8)), n_components=2).low_rank
    mean = X.mean(axis=0)
    u, s, vt = np.linalg.svd(X - mean, full_matrices=False)
    assert_allclose(M.to_array(), (u[:, :2] * s[:2]) @ vt[:2] + mean, atol=1e-10)
    assert_allclose(M.singular_values, s[:2])


@pytest.mark.parametrize("weighted", [False, True])
def test_the_approximate_decoder_multiplies_two_smooth_fits(weighted):
    problem = Problem(noise=0.1, weighted=weighted)
    M = decode_approximate(
        problem.X_small, *problem.sides, n_components=15, gamma_samples=0.3, gamma_features=2.0
    ).low_rank.to_array()
    # All 15 factors and the center: nothing was truncated, and the fits are linear.
    w = problem.samples.weights
    center = np.average(problem.X_small, axis=0, weights=w)
    rows = dense_fit(problem.samples, problem.X_small - center, 0.3)
    expected = dense_fit(problem.features, rows.T, 2.0).T + dense_fit(problem.features, center[:, None], 2.0).T
    assert_allclose(M, expected, atol=1e-4)


def test_without_gammas_the_approximate_decoder_is_subspace_upsampling():
    problem = Problem(noise=0.1)
    a = decode_approximate(problem.X_small, *problem.sides, n_components=3, gamma_samples=0, gamma_features=0)
    b = decode_subspace(problem.X_small, *problem.sides, n_components=3)
    assert_allclose(a.low_rank.to_array(), b.low_rank.to_array(), atol=1e-10)


def test_the_papers_normalization():
    problem = Problem()
    plain = decode_subspace(problem.X_small, *problem.sides, n_components=2)
    paper = decode_subspace(problem.X_small, *problem.sides, n_components=2, normalize=True, delta=0.36)
    factors = factorize(problem.X_small, *problem.sides, n_components=2)
    U = upsample(problem.graphs[0], problem.samples.indices, factors.samples).X
    V = upsample(problem.graphs[1], problem.features.indices, factors.features).X
    values = np.linalg.norm(factors.samples, axis=0)
    scale = np.sqrt(40 * 30 / (20 * 15 * (1 - 0.36)))
    expected = scale * (U / np.linalg.norm(U, axis=0) * values) @ (V / np.linalg.norm(V, axis=0)).T
    assert_allclose(paper.low_rank.to_array() - paper.low_rank.offset, expected, atol=1e-6)
    assert_allclose(paper.low_rank.offset, plain.low_rank.offset)
    with pytest.raises(ValueError, match="delta must be"):
        decode_subspace(problem.X_small, *problem.sides, normalize=True, delta=1.0)


def test_normalization_counts_delta_once_whichever_axis_is_compressed():
    problem = Problem()
    complete = SampledNodes(None, np.arange(40)), SampledNodes(None, np.arange(30))
    rows, columns = problem.samples.indices, problem.features.indices
    for X_small, sides in (
        (problem.X_small, problem.sides),
        (problem.X[rows], (problem.samples, complete[1])),
        (problem.X[:, columns], (complete[0], problem.features)),
    ):
        plain, quarter = (
            decode_subspace(X_small, *sides, n_components=2, normalize=True, delta=delta).low_rank.singular_values
            for delta in (0.0, 0.75)
        )
        assert_allclose(quarter, 2 * plain, rtol=1e-8)
