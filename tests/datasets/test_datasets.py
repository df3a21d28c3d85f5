import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.graphs import lowest_eigenpairs


@pytest.mark.parametrize("shape", ["clusters", "rings"])
def test_synthetic_matrix_is_low_rank_on_its_graphs(shape):
    data = make_low_rank_on_graphs(300, 80, rank=4, shape=shape, random_state=0)
    Q, P = (lowest_eigenpairs(graph, 4)[1] for graph in (data.sample_graph, data.feature_graph))
    assert np.linalg.matrix_rank(data.X_true) == 4
    assert_allclose(Q @ (Q.T @ data.X_true) @ P @ P.T, data.X_true, atol=1e-8)
    assert_array_equal(data.X, data.X_true)
    assert data.sample_graph.n_components == (4 if shape == "clusters" else 1)


def test_outliers_hit_the_share_asked_for():
    data = make_low_rank_on_graphs(500, 100, outliers=0.1, random_state=1)
    hit = data.X_true != data.X
    assert hit.mean() == pytest.approx(0.1, abs=0.01)
    assert data.X[hit].std() == pytest.approx(10 * data.X_true.std(), rel=0.05)
