"""Whether data have clusters at all."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_blobs, make_circles, make_moons

from graphlowrank import CompressiveClustering
from graphlowrank.auto.structure import find_structure
from graphlowrank.exceptions import WeakClustersWarning
from graphlowrank.preprocessing import Scaling
from graphlowrank.preprocessing.sparse import as_shifted_sparse

NOISE = {
    "normal": lambda rng: rng.standard_normal((600, 20)),
    "plane": lambda rng: rng.standard_normal((300, 2)),
    "more features than samples": lambda rng: rng.standard_normal((150, 300)),
    "correlated": lambda rng: rng.standard_normal((600, 20)) @ rng.standard_normal((20, 20)),
    "low rank": lambda rng: rng.standard_normal((500, 5)) @ rng.standard_normal((5, 60)) + 1,
    "square": lambda rng: rng.random((1000, 2)),
    "cube": lambda rng: rng.random((600, 10)),
    "Laplace": lambda rng: rng.laplace(size=(600, 5)),
    "Student t": lambda rng: rng.standard_t(5, size=(600, 20)),
    "counts": lambda rng: rng.poisson(1, size=(600, 30)),
    "rare counts": lambda rng: rng.poisson(0.3, size=(500, 100)),
    "counts in a plane": lambda rng: rng.poisson(5, size=(1000, 2)),  # a grid of equal samples
    "binary": lambda rng: rng.random((500, 10)) < 0.5,  # ties between distances
    "mostly zero": lambda rng: sp.random(1000, 300, 0.05, random_state=0).toarray(),
}


def standardized(X):
    return Scaling.fit(X, "features").apply(X)


CLUSTERS = {
    "blobs": lambda: make_blobs(500, 10, centers=4, cluster_std=3.0, random_state=0)[0],
    "corners of a square": lambda: make_blobs(400, centers=[[0, 0], [0, 8], [8, 0], [8, 8]], random_state=0)[0],
    "circles": lambda: make_circles(600, noise=0.05, factor=0.4, random_state=0)[0],
    "moons": lambda: make_moons(600, noise=0.08, random_state=0)[0],
    "digits": lambda: load_digits().data,
    "iris": lambda: load_iris().data,
    "breast cancer": lambda: standardized(load_breast_cancer().data),
}


@pytest.mark.parametrize("kind", NOISE)
def test_noise_has_no_structure(kind):
    X = NOISE[kind](np.random.default_rng(1)).astype(np.float32)
    found = find_structure(X)
    assert found.value is False, found.reason


@pytest.mark.parametrize("kind", CLUSTERS)
def test_clusters_are_structure(kind):
    found = find_structure(CLUSTERS[kind]())
    assert found.value is True
    assert "of the conductance of those of uniform data" in found.reason


def test_the_decision_depends_on_the_data_alone(rng):
    X = 1e3 * rng.standard_normal((1500, 5)) + 1e4
    assert find_structure(X) == find_structure(X)
    sparse = as_shifted_sparse(sp.random(400, 80, 0.1, random_state=0, format="csr"))
    assert find_structure(sparse) == find_structure(sparse.to_array())


def test_few_different_samples_are_not_judged(rng):
    few = rng.standard_normal((49, 3))
    for X in (few, np.repeat(few, 10, axis=0), np.zeros((100, 4))):
        found = find_structure(X)
        assert found.value is True
        assert found.reason == "not checked: fewer than 50 different samples"
    assert find_structure(rng.standard_normal((200, 1))).reason == "not checked: one principal axis"


def test_noise_is_one_cluster_or_a_warning(rng):
    X = rng.standard_normal((300, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakClustersWarning)
        auto = CompressiveClustering("auto", random_state=0).fit(X)
        one = CompressiveClustering(1, random_state=0).fit(X)
    assert auto.n_clusters_ == one.n_clusters_ == 1
    assert "no clusters" in str(auto.report_)
    with pytest.warns(WeakClustersWarning, match="the data look no more clustered than data without clusters"):
        given = CompressiveClustering(3, random_state=0).fit(X)
    assert given.n_clusters_ == len(np.unique(given.labels_)) == 3
    assert "structure" in str(given.report_)


def test_algorithm_3_with_a_given_number_is_not_checked(rng):
    X = rng.standard_normal((300, 20))
    given, auto = (CompressiveClustering(k, partition="k-means", random_state=0).fit(X) for k in (3, "auto"))
    assert "Algorithm 3 with a given number" in str(given.report_)
    assert auto.n_clusters_ == 1


def test_clusters_are_not_warned_about():
    X = make_blobs(300, 5, centers=3, random_state=0)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakClustersWarning)
        CompressiveClustering(3, random_state=0).fit(X)


def test_a_given_graph_is_not_judged_by_the_data(rng):
    clique = sp.coo_array(np.ones((50, 50)) - np.eye(50))
    model = CompressiveClustering(2, sample_graph=sp.csr_array(sp.block_diag([clique, clique])), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakClustersWarning)
        model.fit(rng.standard_normal((100, 8)))
