import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import graphlowrank.estimators.embeddings as estimator_module
from graphlowrank.estimators import GraphNMF
from graphlowrank.graphs import knn_graph, path_graph
from graphlowrank.metrics import clustering_error
from graphlowrank.models.gnmf import nonnegative_scores, solve_gnmf

DIGITS = load_digits().data


def random_data(n, p, rank=None, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, p)) if rank is None else rng.random((n, rank)) @ rng.random((rank, p))


# --- the estimator -------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:n_neighbors=10 is lowered")
@parametrize_with_checks([GraphNMF(), GraphNMF(2, init="random", tol=1e-3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_every_parameter_arrives(monkeypatch):
    seen = {}

    class ReachedError(Exception):
        pass

    def spy(X, L, n_components, **options):
        seen.update(options, n_components=n_components, L=L)
        raise ReachedError

    monkeypatch.setattr(estimator_module, "solve_gnmf", spy)
    X = DIGITS[:60]
    model = GraphNMF(
        4, gamma=1.5, init="random", n_neighbors=6, neighbors="exact", tol=0.017, max_iter=77, random_state=0
    )
    with pytest.raises(ReachedError):
        model.fit(X)
    expected = {"n_components": 4, "gamma": 1.5, "init": "random", "tol": 0.017, "max_iter": 77}
    assert seen.items() >= expected.items()
    assert abs(seen["L"] - knn_graph(X, 6).unit_laplacian()).max() < 1e-12
    with pytest.raises(ReachedError):
        GraphNMF().fit(X)
    assert seen["n_components"] == 10
    with pytest.raises(ReachedError):
        GraphNMF().fit(X[:, :7])
    assert seen["n_components"] == 7


def test_attributes_are_those_of_the_solver():
    X = DIGITS[:150]
    graph = knn_graph(X, 6)
    model = GraphNMF(5, gamma=10, sample_graph=graph, random_state=0).fit(X)
    found = solve_gnmf(X, graph.unit_laplacian(), 5, gamma=10)
    assert model.sample_graph_ is graph
    assert_array_equal(model.components_, found.components)
    assert_array_equal(model.embedding_, found.scores)
    assert (model.n_iter_, model.converged_, model.objective_) == (found.n_iter, True, found.objective)
    assert model.n_components_ == 5
    assert list(model.stage_seconds_) == ["sample graph", "gnmf"]
    assert list(model.get_feature_names_out()) == [f"graphnmf{j}" for j in range(5)]
    scores = model.transform(X)
    assert_array_equal(scores, nonnegative_scores(X, model.components_))
    assert np.abs(scores - model.embedding_).max() > 0.1 * scores.max()
    assert_allclose(model.inverse_transform(scores), scores @ model.components_)
    assert graph_roughness(graph, model.embedding_) < 0.5 * graph_roughness(graph, scores)


def graph_roughness(graph, S):
    return np.sum(S * (graph.unit_laplacian() @ S)) / np.sum(S * S)


def test_the_graph_helps_to_find_clusters(blobs):
    X, y = blobs
    X = X - X.min()
    model = GraphNMF(3, gamma=100, random_state=0).fit(X)
    assert clustering_error(y, np.argmax(model.embedding_ / model.embedding_.max(axis=0), axis=1)) == 0


def test_no_graph_is_plain_nmf():
    X = DIGITS[:100]
    model = GraphNMF(4, sample_graph=None, random_state=0).fit(X)
    assert model.sample_graph_ is None
    assert_array_equal(model.embedding_, solve_gnmf(X, None, 4, gamma=0).scores)


@pytest.mark.parametrize("to", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_sparse_data_are_never_made_dense(to, monkeypatch):
    X = np.where(random_data(200, 120) > 0.9, random_data(200, 120, seed=1), 0)
    graph = knn_graph(X, 5)

    def refuse(*args, **kwargs):
        raise AssertionError

    for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    model = GraphNMF(4, n_neighbors=5, random_state=0).fit(to(X))
    assert model.sample_graph_.n_nodes == 200
    assert model.transform(to(X)).shape == (200, 4)
    given = GraphNMF(4, sample_graph=graph, init="random", random_state=0)
    assert_allclose(given.fit(to(X)).embedding_, clone(given).fit(X).embedding_, rtol=1e-5, atol=1e-8)


def test_sparse_samples_get_nearly_the_graph_of_dense_ones():
    X = DIGITS[:300]
    dense, sparse = (GraphNMF(3, random_state=0, tol=0.1).fit(to(X)).sample_graph_ for to in (np.asarray, sp.csr_array))
    both = dense.weights.multiply(sparse.weights > 0)
    assert both.sum() > 0.98 * dense.weights.sum()


def test_float32_stays_float32():
    X = DIGITS[:120].astype(np.float32)
    for data in (X, sp.csr_array(X)):
        model = GraphNMF(4, random_state=0).fit(data)
        assert {model.components_.dtype, model.embedding_.dtype} == {np.dtype(np.float32)}
        assert model.transform(data).dtype == np.float32
        assert model.inverse_transform(model.transform(data)).dtype == np.float32


def test_parameters_and_inputs_are_never_rewritten():
    X = random_data(40, 6)
    W = knn_graph(X, 5).weights
    before, X_before = W.copy(), X.copy()
    X.setflags(write=False)
    W.data.setflags(write=False)
    model = GraphNMF(3, sample_graph=W, random_state=0)
    params = model.get_params()
    model.fit(X)
    assert all(model.get_params()[name] is value for name, value in params.items())
    assert_array_equal(X, X_before)
    assert abs(W - before).nnz == 0


def test_same_seed_same_answer():
    X = sp.csr_array(DIGITS[:200])
    one, same, other = (GraphNMF(4, init="random", random_state=seed).fit(X).embedding_ for seed in (0, 0, 1))
    assert_array_equal(one, same)
    assert not np.allclose(one, other)


def test_not_converging_warns():
    with pytest.warns(ConvergenceWarning, match="GraphNMF did not converge in 2 iterations .*raise max_iter"):
        GraphNMF(3, max_iter=2).fit(DIGITS[:50])


@pytest.mark.parametrize(
    ("options", "X", "match"),
    [
        ({}, -DIGITS[:30], "Negative values"),
        ({}, sp.csr_array(-DIGITS[:30]), "Negative values"),
        ({}, np.full((30, 4), np.nan), "NaN"),
        ({"n_components": 31}, DIGITS[:30], "n_components=31"),
        ({"n_components": 65}, DIGITS[:100], "n_components=65"),
        ({"n_components": 0}, DIGITS[:30], "n_components"),
        ({"n_components": 2.5}, DIGITS[:30], "n_components"),
        ({"gamma": -1}, DIGITS[:30], "gamma"),
        ({"gamma": "auto"}, DIGITS[:30], "gamma"),
        ({"gamma": np.inf}, DIGITS[:30], "gamma"),
        ({"init": "svd"}, DIGITS[:30], "init"),
        ({"init": None}, DIGITS[:30], "init"),
        ({"tol": -1}, DIGITS[:30], "tol"),
        ({"max_iter": 0}, DIGITS[:30], "max_iter"),
        ({"n_jobs": 0}, DIGITS[:30], "n_jobs"),
        ({"neighbors": "some"}, DIGITS[:30], "neighbors"),
        ({"sample_graph": "grid"}, DIGITS[:30], "sample_graph"),
        ({"sample_graph": path_graph(29)}, DIGITS[:30], "sample_graph has 29 nodes"),
    ],
)
def test_estimator_refuses_bad_input_before_work(options, X, match, monkeypatch):
    monkeypatch.setattr(estimator_module, "build_graph", None)
    with pytest.raises(ValueError, match=match):
        GraphNMF(**options).fit(X)


def test_transform_refuses_what_does_not_fit():
    model = GraphNMF(3, random_state=0).fit(DIGITS[:50])
    with pytest.raises(ValueError, match="features"):
        model.transform(DIGITS[:5, :60])
    with pytest.raises(ValueError, match="Negative values"):
        model.transform(-DIGITS[:5])
    with pytest.raises(ValueError, match="2 scores per sample"):
        model.inverse_transform(np.ones((4, 2)))


def test_a_sparse_matrix_is_left_as_it_was_given():
    """Unsorted, and read-only: sorting in place would change the caller's arrays, or fail."""
    X = sp.csr_matrix(random_data(40, 8))
    X.indices = X.indices.reshape(40, 8)[:, ::-1].ravel().copy()
    X.has_sorted_indices = False
    given = X.indices.copy()
    X.indices.setflags(write=False)
    X.data.setflags(write=False)
    GraphNMF(2, random_state=0).fit(X)
    assert_array_equal(X.indices, given)
