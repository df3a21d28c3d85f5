"""The number of clusters."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from graphlowrank import (
    CompressiveClustering,
    CompressivePCA,
)
from graphlowrank.auto.n_clusters import estimate_n_clusters


@pytest.mark.parametrize(("k", "factor"), [(2, 1.0), (3, 1000.0), (5, 1.0), (9, 1000.0)])
def test_clear_clusters_are_counted(k, factor):
    X = factor * make_blobs(600, 10, centers=k, cluster_std=1.5, random_state=k)[0]
    assert estimate_n_clusters(X, 10, np.random.RandomState(0)).value == k
    model = CompressiveClustering("auto", robust_graphs=False, random_state=0).fit(X)
    assert model.n_clusters_ == k
    assert model.soft_labels_.shape == (600, k)


def test_few_samples_are_no_error(rng):
    X = rng.standard_normal((40, 5))
    assert CompressiveClustering("auto", random_state=0).fit(X[:6]).n_clusters_ == 1
    assert CompressiveClustering("auto", n_neighbors=1, random_state=0).fit(X[:3]).n_clusters_ == 1
    kept = CompressiveClustering("auto", sampling=([0, 1, 2], None), random_state=0).fit(X)
    assert kept.n_clusters_ <= 3


def test_a_given_graph_is_used(rng):
    clique = sp.coo_array(np.ones((50, 50)) - np.eye(50))
    graph = sp.csr_array(sp.block_diag([clique, clique, clique]))
    model = CompressiveClustering("auto", sample_graph=graph, random_state=0).fit(rng.standard_normal((150, 8)))
    assert model.n_clusters_ == 3
    assert model.conductance_ == 0


def test_many_small_components():
    """What is drawn to choose gammas, or to count clusters, has some of each."""
    rng = np.random.default_rng(0)
    X = np.repeat(100 * rng.standard_normal((80, 20)), 15, axis=0) + rng.standard_normal((1200, 20))
    assert np.isfinite(CompressivePCA(robust_graphs=False, random_state=0).fit(X).low_rank_[:5]).all()
    apart = sp.csr_array(sp.block_diag([sp.coo_array(np.ones((3, 3)) - np.eye(3))] * 100))
    model = CompressiveClustering("auto", sample_graph=apart, random_state=0)
    assert model.fit(rng.standard_normal((300, 5))).n_clusters_ >= 1
