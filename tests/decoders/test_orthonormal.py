"""The orthonormal decoder."""

import numpy as np
import pytest
from decoder_helpers import Problem, weakly_joined
from numpy.testing import assert_allclose

from graphlowrank.decoders import (
    decode_orthonormal,
    fit_orthonormal,
)
from graphlowrank.graphs import lowest_eigenpairs
from graphlowrank.sampling import SampledNodes, draw
from helpers import dense_laplacian


def test_the_orthonormal_fit_descends_and_stays_orthonormal():
    problem = Problem(k=4)
    values = np.linalg.qr(problem.Q[problem.samples.indices])[0]
    weights = np.random.default_rng(0).uniform(0.05, 5, 20)
    side = SampledNodes(problem.graphs[0], problem.samples.indices, weights)
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
        return np.linalg.norm(U[problem.samples.indices] - target), np.trace(
            U.T @ dense_laplacian(problem.graphs[0]) @ U
        )

    (near, rough), (far, smooth) = off(coupling=100.0), off(coupling=1e-3)
    assert near < 0.5 * far
    assert smooth < 0.5 * rough


def test_the_orthonormal_decoder_is_close_on_clusters():
    graphs = weakly_joined(60, 3, 1e-3, 0), weakly_joined(48, 3, 1e-3, 9)
    Q, P = (lowest_eigenpairs(graph, 3)[1] for graph in graphs)
    X = Q @ np.diag([3.0, 2.0, 1.5]) @ P.T
    sides = [SampledNodes(graph, draw(graph, graph.n_nodes // 2, random_state=1)) for graph in graphs]
    M = decode_orthonormal(X[np.ix_(*(side.indices for side in sides))], *sides, n_components=2).low_rank
    assert np.linalg.norm(M.to_array() - X) < 0.25 * np.linalg.norm(X)
    assert M.rank == 2


@pytest.mark.parametrize("options", [{"radius": 1.0}, {"radius": -0.1}, {"coupling": 0.0}])
def test_bad_orthonormal_options(options):
    with pytest.raises(ValueError, match="radius must be"):
        fit_orthonormal(Problem().samples, np.eye(20, 2), **options)
