"""What all decoders share: factors, dtype, exactness on complete data."""

import numpy as np
import pytest
from decoder_helpers import Problem, as_data
from numpy.testing import assert_allclose

from graphlowrank.decoders import (
    DECODERS,
)
from graphlowrank.decoders.factors import factorize
from graphlowrank.graphs import path_graph
from graphlowrank.sampling import SampledNodes
from helpers import disjoint, random_graph


@pytest.mark.parametrize("weighted", [False, True])
def test_factors_multiply_back_to_the_matrix(weighted):
    problem = Problem(weighted=weighted)
    factors = factorize(problem.X_small, *problem.sides, n_components=3)
    assert_allclose(factors.samples @ factors.features.T + factors.center, problem.X_small, atol=1e-8)


def test_weighted_factors_are_the_best_weighted_approximation(rng):
    rows, columns = rng.uniform(0.2, 4, 12), rng.uniform(0.2, 4, 9)
    X = rng.standard_normal((12, 9))
    factors = factorize(
        X, SampledNodes(None, np.arange(12), rows), SampledNodes(None, np.arange(9), columns), n_components=2
    )
    assert_allclose(factors.center, rows @ X / rows.sum())
    left = X - factors.center - factors.samples @ factors.features.T
    loss = np.sum(rows[:, None] * columns * left**2)
    singular = np.linalg.svd(np.sqrt(rows)[:, None] * (X - factors.center) * np.sqrt(columns), compute_uv=False)
    assert loss == pytest.approx(np.sum(singular[2:] ** 2))


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_decoder_keeps_the_dtype_and_its_factors_orthonormal(name, dtype):
    problem = Problem(noise=0.05)
    X = problem.X.astype(dtype)
    options = {"data": as_data(X)} if DECODERS[name].takes_data else {}
    decoded = DECODERS[name].decode(problem.X_small.astype(dtype), *problem.sides, n_components=2, **options)
    M = decoded.low_rank
    assert M.shape == (40, 30)
    assert M.rank == 2
    assert M.dtype == M.right.dtype == M.singular_values.dtype == M.offset.dtype == dtype
    assert_allclose(M.left.T @ M.left, np.eye(2), atol=1e-4)
    assert_allclose(M.right.T @ M.right, np.eye(2), atol=1e-4)
    assert decoded.converged


@pytest.mark.parametrize("name", DECODERS)
def test_every_decoder_returns_complete_data(name, rng):
    """On complete data of exact rank all return the data (some after shrinking or smoothing them a little)."""
    graphs = random_graph(20, spread=0.5), random_graph(15, seed=1, spread=0.5)
    sides = [SampledNodes(graph, np.arange(graph.n_nodes)) for graph in graphs]
    X = rng.standard_normal((20, 3)) @ rng.standard_normal((3, 15)) + 1
    data = {"data": as_data(X)} if DECODERS[name].takes_data else {}
    options = {
        "ideal": {"k_samples": 20, "k_features": 15},
        "alternate": {"gamma_samples": 1e-9, "gamma_features": 1e-9},
        "approximate": {"gamma_samples": 1e-9, "gamma_features": 1e-9},
    }.get(name, {})  # fmt: skip
    atol = 1e-3 if name == "robust" else 1e-5
    assert_allclose(
        DECODERS[name].decode(X, *sides, n_components=3, **data, **options).low_rank.to_array(), X, atol=atol
    )


@pytest.mark.parametrize("name", ["subspace", "alternate", "approximate", "orthonormal"])
def test_every_decoder_refuses_a_component_without_a_kept_node(name):
    graph = disjoint(path_graph(6), path_graph(6))
    with pytest.raises(ValueError, match="without a kept node"):
        DECODERS[name].decode(
            np.eye(3), SampledNodes(graph, np.arange(3)), SampledNodes(None, np.arange(3)), n_components=1
        )
