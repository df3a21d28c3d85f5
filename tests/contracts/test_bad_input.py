"""Each kind of bad input has one clear message, before work starts."""

import numpy as np
import pytest
import scipy.sparse as sp

from graphlowrank import CompressiveClustering, CompressivePCA, FastRobustPCAOnGraphs, datasets
from graphlowrank.graphs import Graph, as_graph, grid_graph, knn_graph, path_graph
from graphlowrank.models import solve_frpcag
from graphlowrank.models.losses import make_loss

ESTIMATORS = [CompressivePCA, CompressiveClustering, FastRobustPCAOnGraphs]

X = np.random.default_rng(0).standard_normal((40, 6))


def with_entry(value):
    bad = X.copy()
    bad[3, 2] = value
    return bad


@pytest.mark.parametrize("Estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("data", "text"),
    [
        (np.full((40, 6), np.nan), "sample 0 has only missing values"),
        (np.where(np.arange(6) == 2, np.nan, X), "feature 2 has only missing values"),
        (with_entry(np.inf), "contains infinity"),
        (X[:, 0], "Expected 2D array"),
        (X[None], "dim 3"),
        (X[:0], "0 sample"),
        (X[:1], "minimum of 2"),
        (X[:, :0], r"0 feature\(s\)"),
        (np.ones((40, 6)), "every feature is constant"),
        (np.tile(np.arange(6.0), (40, 1)), "every feature is constant"),
        (X.astype(complex), "Complex data not supported"),
        (np.array([["a", "b"]] * 20), "could not convert string"),
    ],
)
def test_data(Estimator, data, text):
    with pytest.raises(ValueError, match=text):
        Estimator(2).fit(data)


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_fewer_samples_than_neighbors(Estimator):
    """The graph is complete: every other sample is a neighbor."""
    with pytest.warns(UserWarning, match="n_neighbors=10 is lowered to 5: there are only 6 samples"):
        model = Estimator(2, n_neighbors=10, random_state=0).fit(X[:6])
    assert model.sample_graph_.n_edges == 15


def test_sparse_data():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        FastRobustPCAOnGraphs(2).fit(sp.csr_matrix(X))


@pytest.mark.parametrize("Estimator", [CompressivePCA, CompressiveClustering])
def test_sparse_data_with_missing_values(Estimator):
    with pytest.raises(ValueError, match="contains NaN"):
        Estimator(2).fit(sp.csr_matrix(with_entry(np.nan)))
    with pytest.raises(ValueError, match="mask needs dense data"):
        Estimator(2).fit(sp.csr_matrix(X), mask=np.ones(X.shape, dtype=bool))


@pytest.mark.parametrize("Estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"loss": "l0"}, "loss must be one of 'l1', 'l2', 'huber'; got 'l0'"),
        ({"neighbors": "fast"}, "neighbors must be one of"),
        ({"laplacian": "signed"}, "laplacian must be one of"),
        ({"gamma_samples": -1}, "gamma_samples must be 'auto' or a number >= 0; got -1"),
        ({"gamma_features": np.nan}, "gamma_features must be"),
        ({"gamma_features": "big"}, "gamma_features must be"),
        ({"tol": 0}, "tol must be a positive number"),
        ({"huber_delta": -2}, "huber_delta must be a number above 1e-30"),
        ({"max_iter": 0}, "max_iter must be a positive integer"),
        ({"n_neighbors": 2.5}, "n_neighbors must be a positive integer"),
        ({"n_jobs": 0}, "n_jobs must be None for all cores, or an integer other than 0; got 0"),
        ({"n_jobs": 1.5}, "n_jobs must be None"),
        ({"sample_graph": "ring"}, "sample_graph must be 'knn', None, a Graph or a weight matrix"),
    ],
)
def test_options(Estimator, options, text):
    with pytest.raises(ValueError, match=text):
        Estimator(2, **options).fit(X)


@pytest.mark.parametrize("Estimator", [CompressivePCA, CompressiveClustering])
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"downsampling": (0.5, 1)}, r"downsampling must be 'auto' or a pair \(a, b\)"),
        ({"downsampling": 10}, "downsampling must be"),
        ({"downsampling": "half"}, "downsampling must be"),
        ({"sampling": "best"}, "sampling must be 'uniform', 'optimal' or a pair"),
        ({"sampling": np.arange(5)}, "sampling must be 'uniform', 'optimal' or a pair"),
        ({"sampling": ([0, 99], None)}, "sample_indices must lie between 0 and 39"),
        ({"reduction": "magic"}, "reduction must be one of"),
        ({"sample_graph": None, "downsampling": (2, 1)}, "leaves no way to decode the samples"),
    ],
)
def test_options_of_compression(Estimator, options, text):
    with pytest.raises(ValueError, match=text):
        Estimator(2, **options).fit(X)


def test_features_cannot_be_decoded_without_a_graph():
    with pytest.raises(ValueError, match="leaves no way to decode the features"):
        CompressivePCA(2, feature_graph=None, downsampling=(1, 2)).fit(X)
    CompressiveClustering(2, feature_graph=None, downsampling=(1, 2)).fit(X)  # labels need no feature


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (CompressivePCA(0), "n_components must be a positive integer; got 0"),
        (CompressivePCA(7), "n_components=7 is more than the 6 kept samples or features"),
        (CompressivePCA(5, downsampling=(10, 1)), "n_components=5 is more than the 4 kept"),
        (FastRobustPCAOnGraphs(1.5), "n_components must be a positive integer"),
        (CompressivePCA(True), "n_components must be a positive integer; got True"),
        (CompressiveClustering(0), "n_clusters must be a positive integer"),
        (CompressiveClustering(41), "n_clusters=41 is more than the 40 samples"),
        (
            CompressiveClustering(9, downsampling=(5, 1)),
            r"n_clusters=9 is more than the 8 kept samples \(see downsampling\)",
        ),
        (CompressiveClustering(9, sampling=(np.arange(40) < 8, None)), "n_clusters=9 is more than the 8 kept samples"),
        (CompressivePCA(3, sampling=(None, [0, 5])), "n_components=3 is more than the 2 kept"),
        (CompressivePCA(2, sampling=(np.arange(40) < 8, None), sample_graph=None), "no way to decode the samples"),
        (CompressiveClustering(2, scores="raw"), "scores must be one of 'auto', 'whitened', 'scaled'"),
        (CompressivePCA(decoder="ideal?"), "decoder must be one of"),
    ],
    ids=str,
)
def test_counts_and_names(model, text):
    with pytest.raises(ValueError, match=text):
        model.fit(X)


def test_keeping_very_few_samples_warns():
    with pytest.warns(UserWarning, match="keeps only 4 of 40 samples; expect a coarse answer"):
        CompressivePCA(2, downsampling=(10, 1)).fit(X)


W = knn_graph(X, 5).weights.toarray()


def changed(i, j, value):
    bad = W.copy()
    bad[i, j] = value
    return bad


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (W[:30, :30], "sample_graph has 30 nodes, but the data need 40"),
        (W[:30], "sample_graph must be square"),
        (changed(0, 1, 5.0), "sample_graph is not symmetric"),
        (changed(0, 1, -1.0), "sample_graph has negative weights"),
        (changed(0, 1, np.nan), "sample_graph has NaN or infinite weights"),
    ],
)
def test_graphs_given_by_the_user(weights, text):
    for given in (weights, sp.csr_matrix(weights), sp.coo_array(weights)):
        with pytest.raises(ValueError, match=text):
            CompressivePCA(2, sample_graph=given).fit(X)


def test_given_graphs_and_indices_are_checked_before_any_graph_is_built(monkeypatch):
    monkeypatch.setattr("graphlowrank.pipeline.knn_graph", lambda *args, **kwargs: pytest.fail("work had started"))
    with pytest.raises(ValueError, match="feature_graph has 40 nodes, but the data need 6"):
        CompressivePCA(2, feature_graph=W).fit(X)
    with pytest.raises(ValueError, match="feature_indices must lie between 0 and 5"):
        CompressivePCA(2, sampling=(None, [0, 1, 6])).fit(X)


TRIANGLE = np.array([[0, 2, 1], [2, 0, 3], [1, 3, 0]], dtype=float)


@pytest.mark.parametrize(
    ("weights", "order", "text"),
    [
        (np.triu(TRIANGLE), None, "must be symmetric"),
        (np.roll(np.eye(3), 1, axis=1), None, "must be symmetric"),
        (TRIANGLE * [1, 2, 1], None, "must be symmetric"),
        (-TRIANGLE, None, "between 0 and inf, got -3 to"),
        (TRIANGLE * np.nan, None, "NaN or infinite"),
        (np.where(TRIANGLE > 2, np.inf, TRIANGLE), None, "NaN or infinite"),
        (TRIANGLE + np.eye(3), None, "zeros or a diagonal"),
        (TRIANGLE[:2], None, "square"),
        (TRIANGLE[:0, :0], None, "not empty"),
        (TRIANGLE * 1e160, None, r"largest weight is 3e\+160: divide"),
        (TRIANGLE * 1e-310, None, "largest weight is 3e-310: divide"),
        (TRIANGLE.astype(int), None, "float32 or float64, got csr_array of int64"),
        (TRIANGLE, [0, 1, 1], "order must be a permutation"),
        (TRIANGLE, [1, 2, 3], "order must be a permutation"),
        (TRIANGLE, [-1, 0, 1], "order must be a permutation"),
        (TRIANGLE, [0.0, 1.0, 2.0], "order must be a permutation"),
        (TRIANGLE, [0, 1], "order must be a permutation"),
    ],
)
def test_a_graph_checks_its_parts(weights, order, text):
    with pytest.raises(ValueError, match=text):
        Graph(sp.csr_array(weights), None if order is None else np.array(order))


def test_the_storage_of_a_graph_is_checked():
    for broken, text in (
        (sp.csr_matrix(TRIANGLE), "csr_array .*got csr_matrix"),
        (TRIANGLE, "csr_array .*got ndarray"),
    ):
        with pytest.raises(ValueError, match=text):
            Graph(broken)
    parts = {"zeros": ([1.0, 0, 0], [1, 2, 0], [0, 2, 3, 3]), "symmetric": ([1.0] * 3, [1, 1, 0], [0, 2, 3, 3])}
    for text, (data, indices, starts) in parts.items():
        with pytest.raises(ValueError, match=text):
            Graph(sp.csr_array((data, indices, starts), shape=(3, 3)))
    rounded = TRIANGLE + 1e-7 * np.triu(TRIANGLE)  # symmetric up to single precision
    assert Graph(sp.csr_array(rounded), np.array([2, 0, 1])).n_edges == 3
    with pytest.raises(ValueError, match="divide all by it, as only their ratios matter"):
        as_graph(TRIANGLE * 1e160)


@pytest.mark.parametrize("value", ["knn", 3, object()])
def test_objects_that_are_no_graph(value):
    with pytest.raises(TypeError, match="must be a Graph or a matrix of weights"):
        as_graph(value)


def test_complex_weights():
    with pytest.raises(TypeError, match="real numbers"):
        as_graph(W.astype(complex))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: knn_graph(X, 40), "n_neighbors=40 needs at least 41 points, got 40"),
        (lambda: knn_graph(X, 0), "n_neighbors=0"),
        (lambda: knn_graph(X, 3, neighbors="psychic"), "neighbors must be"),
        (lambda: knn_graph(X, 3, bandwidth=0), "bandwidth must be positive"),
        (lambda: knn_graph(with_entry(np.inf), 3), "contains infinity"),
        (lambda: knn_graph(sp.csr_array(with_entry(np.nan)), 3), "contains NaN"),
        (lambda: grid_graph((0, 3)), "positive"),
        (lambda: path_graph(0), "positive"),
        (lambda: path_graph(3).laplacian("magic"), "laplacian must be"),
        (lambda: make_loss("l3"), "loss must be"),
        (lambda: make_loss("huber", -1), "huber_delta must be positive"),
        (lambda: solve_frpcag(X, None, None, gamma_samples=-1, gamma_features=0), "gammas must be >= 0"),
        (lambda: datasets.make_low_rank_on_graphs(shape="knots"), "shape must be"),
    ],
)
def test_functions(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.parametrize("Estimator", [CompressivePCA, FastRobustPCAOnGraphs])
def test_wrong_shapes_after_fitting(Estimator):
    model = Estimator(2).fit(X)
    with pytest.raises(ValueError, match="expecting 6 features"):
        model.transform(X[:, :5])
    with pytest.raises(ValueError, match="X has 3 scores per sample, but the model has 2 components"):
        model.inverse_transform(X[:, :3])
