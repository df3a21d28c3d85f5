import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.datasets.synthetic import smoothest_signals


@pytest.mark.parametrize("shape", ["clusters", "rings"])
def test_synthetic_matrix_is_low_rank_on_its_graphs(shape):
    data = make_low_rank_on_graphs(300, 80, rank=4, shape=shape, random_state=0)
    Q, P = smoothest_signals(data.sample_graph, 4), smoothest_signals(data.feature_graph, 4)
    assert np.linalg.matrix_rank(data.X_true) == 4
    assert_allclose(Q @ (Q.T @ data.X_true) @ P @ P.T, data.X_true, atol=1e-8)
    assert_array_equal(data.X, data.X_true)
    assert data.sample_graph.n_components == (4 if shape == "clusters" else 1)


def test_outliers_hit_the_share_asked_for():
    data = make_low_rank_on_graphs(500, 100, outliers=0.1, random_state=1)
    hit = data.X_true != data.X
    assert hit.mean() == pytest.approx(0.1, abs=0.01)
    assert data.X[hit].std() == pytest.approx(10 * data.X_true.std(), rel=0.05)


def test_smoothest_signals_are_the_lowest_eigenvectors():
    graph = make_low_rank_on_graphs(60, 40, rank=3, shape="rings", random_state=0).sample_graph
    L = graph.laplacian().toarray()
    Q = smoothest_signals(graph, 3)
    values, vectors = np.linalg.eigh(L)
    assert_allclose(np.sort(np.diag(Q.T @ L @ Q)), values[:3], atol=1e-8)
    assert_allclose(Q @ Q.T, vectors[:, :3] @ vectors[:, :3].T, atol=1e-6)
