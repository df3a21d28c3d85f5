import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.preprocessing import StandardScaler, normalize

from graphlowrank import CompressiveClustering
from graphlowrank.metrics import clustering_error
from graphlowrank.models import solve_rpca
from graphlowrank_benchmarks.data import prepare
from graphlowrank_benchmarks.systems import METHODS, cluster, fit, method_graph, parameter_grid
from graphlowrank_benchmarks.systems.textbook import robust_pca

PAPER = {"kmeans", "le", "lle", "pca", "glpca", "mmf", "nmf", "gnmf", "rpca", "rpcag", "frpcag", "cpca"}


@pytest.fixture(scope="module")
def clouds():
    """Five clouds far apart, non-negative as NMF needs them."""
    X, y = make_blobs(240, 12, centers=5, cluster_std=0.4, random_state=0)
    return X - X.min(), y


def test_the_paper_compares_twelve_methods():
    assert set(METHODS) == PAPER
    assert all(method.name == name for name, method in METHODS.items())


@pytest.mark.parametrize("name", METHODS)
def test_every_method_finds_clear_clusters(name, clouds):
    X, y = clouds
    found = cluster(name, X, 5, random_state=0)
    assert found.labels.shape == (240,)
    # NMF and GNMF see directions only; locally linear embedding folds clouds that have no edge between them
    assert clustering_error(y, found.labels) <= {"lle": 0.45, "nmf": 0.25, "gnmf": 0.25}.get(name, 0.01)
    assert set(found.seconds) == {"graph", "model", "k-means"}
    assert (found.seconds["graph"] > 0) == METHODS[name].needs_graph


@pytest.mark.parametrize("name", METHODS)
def test_seed_decides_and_data_are_left_alone(name, clouds):
    X = clouds[0].copy()
    X.setflags(write=False)
    first, again = (cluster(name, X, 5, random_state=3).labels for _ in range(2))
    assert_array_equal(first, again)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.needs_graph])
def test_a_graph_may_be_built_once_for_many_runs(name, clouds, monkeypatch):
    X, y = clouds
    graph = method_graph(name, X, random_state=0)
    monkeypatch.setattr("graphlowrank.graphs.knn_graph", None)  # no other graph is built
    found = cluster(name, X, 5, graph=graph, random_state=0)
    assert clustering_error(y, found.labels) <= (0.25 if name == "gnmf" else 0.01)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the ends of some ranges are senseless
@pytest.mark.parametrize("name", METHODS)
def test_the_whole_grid_can_be_run(name, clouds):
    """First and last combination of the paper's ranges."""
    X, _ = clouds
    grid = parameter_grid(name, *X.shape)
    for parameters in (grid[0], grid[-1]):
        found = cluster(name, X, 5, random_state=0, **parameters)
        assert found.parameters.items() >= parameters.items()


def test_parameter_ranges_are_the_papers():
    assert len(parameter_grid("kmeans", 1000, 784)) == 1
    assert [choice["n_components"] for choice in parameter_grid("pca", 1000, 784)] == [2**i for i in range(1, 10)]
    assert {choice["beta"] for choice in parameter_grid("glpca", 100, 50)} == {
        0.1,
        0.2,
        0.3,
        0.4,
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
    }
    gammas = sorted({choice["gamma"] for choice in parameter_grid("gnmf", 100, 50)})
    assert (gammas[0], gammas[-1], len(gammas)) == (2**-3, 2**10, 14)
    assert len(parameter_grid("rpcag", 100, 50)) == 7 * 14
    assert max(choice["gamma_samples"] for choice in parameter_grid("cpca", 100, 50)) == 30


def test_preparation_is_the_papers(clouds):
    X, _ = clouds
    assert_allclose(prepare(X, METHODS["rpca"].preparation), StandardScaler().fit_transform(X), atol=1e-10)
    assert_allclose(prepare(X, METHODS["gnmf"].preparation), normalize(X), atol=1e-10)
    assert_allclose(prepare(X, METHODS["mmf"].preparation), normalize(StandardScaler().fit_transform(X)), atol=1e-10)


def test_constant_features_and_empty_samples_become_zero():
    X = np.array([[1.0, 5.0, 0.1], [3.0, 5.0, 0.1], [2.0, 5.0, 0.1]], dtype=np.float32)
    prepared = prepare(X, ("standardize",))
    assert prepared.dtype == np.float32
    assert not prepared[:, 1:].any()
    assert not prepare(np.zeros((2, 3)), ("normalize",)).any()
    assert_allclose(prepare(X.T, ("standardize samples",)), prepared.T)
    assert_array_equal(prepare(X - 3, ("clip",)), np.maximum(X - 3, 0))


def test_kmeans_by_name_is_scikit_learns_on_the_original_data():
    X = load_digits().data[:300]
    expected = KMeans(10, n_init=10, random_state=np.random.RandomState(0)).fit(X)
    assert clustering_error(expected.labels_, cluster("kmeans", X, 10, random_state=0).labels) < 0.02


def test_pca_is_blind_to_the_strength_of_a_direction(rng):
    """The paper clusters V of X = U S V^T: a strong direction without clusters does not hide a weak one with them."""
    y = np.repeat([0, 1], 60)
    X = np.zeros((120, 4))
    X[:, 0] = 100 * rng.standard_normal(120)
    X[:, 1] = 3.0 * y + 0.1 * rng.standard_normal(120)
    found = cluster("pca", X, 2, preparation=(), n_components=2, random_state=0)
    assert clustering_error(y, found.labels) < 0.1
    assert clustering_error(y, cluster("kmeans", X, 2, random_state=0).labels) > 0.3


def test_a_fitted_method_gives_many_partitions(clouds):
    X, y = clouds
    for name in ("pca", "cpca"):
        fitted = fit(name, X, 5, random_state=0)
        assert clustering_error(y, fitted.partition(10, 0)) <= 0.01
        assert len({tuple(fitted.partition(1, seed)) for seed in range(5)}) > 1  # another start, other numbers


def test_cpca_by_name_is_algorithm_3_of_the_estimator(clouds):
    X, _ = clouds
    prepared = prepare(X, ("standardize",))
    graph = method_graph("cpca", X, random_state=0)
    given = {"sample_graph": graph, "downsampling": (2, 1), "n_neighbors": 10, "random_state": 0}
    model = CompressiveClustering(5, partition="k-means", **given).fit(prepared)
    found = cluster("cpca", X, 5, graph=graph, downsampling=(2, 1), random_state=0)
    assert_array_equal(found.labels, model.labels_)
    assert found.notes["rank"] == model.rank_


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if "n_components" in method.defaults])
def test_more_clusters_than_features(name, rng):
    X = np.abs(rng.standard_normal((90, 2)))
    most = 4 if name in ("le", "glpca") else 2
    for given in ({}, {"n_components": None}):
        assert cluster(name, X, 4, random_state=0, **given).parameters["n_components"] == most
    with pytest.raises(ValueError, match="n_components must be a whole number"):
        cluster(name, X, 4, n_components=90)


@pytest.mark.parametrize("name", METHODS)
def test_grids_of_a_single_feature_are_not_empty(name):
    assert parameter_grid(name, 50, 1)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda X: cluster("umap", X, 5), "'umap' is not a method"),
        (lambda X: cluster("pca", X, 5, gamma=1), "PCA has no parameter 'gamma'; it takes n_components"),
        (lambda X: cluster("pca", X, 0), "n_clusters"),
        (lambda X: cluster("pca", X, 241), "n_clusters"),
        (lambda X: cluster("le", X, 5, graph=np.eye(3)), "graph"),
        (lambda X: cluster("nmf", X - 100, 5), "[Nn]egative"),
        (lambda X: parameter_grid("umap", 10, 10), "not a method"),
        (lambda X: prepare(X, ("rotate",)), "standardize"),
        (lambda X: cluster("cpca", X, 30, downsampling=(10, 1)), "at most 24 .the kept samples"),
    ],
)
def test_bad_arguments_are_named(call, text, clouds):
    with pytest.raises(ValueError, match=text):
        call(clouds[0])


def test_textbook_robust_pca_agrees_with_ours(rng):
    low_rank = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 90))
    X = low_rank + np.where(rng.random((60, 90)) < 0.05, 10 * rng.standard_normal((60, 90)), 0)
    found, _, converged = robust_pca(X)
    assert converged
    assert_allclose(found, low_rank, atol=1e-3)
    assert_allclose(found, solve_rpca(X).low_rank, atol=1e-3)
