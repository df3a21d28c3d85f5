"""Parameters arrive where they are used, inputs are not modified, float32 stays float32."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from graphlowrank import CompressiveClustering, CompressivePCA, FastRobustPCAOnGraphs, ManifoldMF, pipeline
from graphlowrank.graphs import Graph, knn_graph
from graphlowrank.models import SOLVERS
from graphlowrank.options import Options

ESTIMATORS = [CompressivePCA, CompressiveClustering, FastRobustPCAOnGraphs]


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_every_parameter_arrives(monkeypatch, Estimator):
    """Give each shared option an unusual value and see it reach the pipeline."""
    monkeypatch.setitem(SOLVERS, "rpcag", replace(SOLVERS["rpcag"], takes_loss=True))
    monkeypatch.setattr(Options, "_check_variant", lambda self: None)  # it would refuse this solver
    unusual = {
        "downsampling": (3.0, 1.0), "gamma_samples": 0.123, "gamma_features": 0.456, "loss": "huber",
        "huber_delta": 0.9,
        "n_neighbors": 4, "sample_graph": Graph(knn_graph(np.arange(30.0)[:, None], 3).weights), "feature_graph": None,
        "neighbors": "exact", "robust_graphs": True,
        "laplacian": "normalized", "sampling": (np.arange(0, 30, 2), None), "reduction": "exact",
        "solver": "rpcag", "decoder": "approximate",
        "decoder_options": {"gamma_samples": 0.5}, "tol": 0.017, "max_iter": 77, "n_jobs": 1,
        "n_components": 2, "n_clusters": 3, "scaling": "features", "partition": "k-means", "scores": "scaled",
        "gamma_labels": 0.7, "n_draws": 2, "variant": "published",
    }  # fmt: skip
    known = set(inspect.signature(Estimator).parameters)
    given = {name: value for name, value in unusual.items() if name in known}
    shared = {field for field in Options.__dataclass_fields__ if field in known}
    assert shared == set(given), "an option has no unusual value in this test"

    class ReachedError(Exception):
        pass

    def spy(X, axes, laplacian, weights, rank, run):
        raise ReachedError(run.options, laplacian)

    monkeypatch.setattr(pipeline, "compress", spy)
    with pytest.raises(ReachedError) as caught:
        Estimator(**given).fit(np.random.default_rng(0).standard_normal((30, 5)))
    options, laplacian = caught.value.args
    for name, value in given.items():
        assert getattr(options, name) is value or getattr(options, name) == value, name
    assert laplacian == "normalized"


def test_options_reach_the_functions_they_are_for(monkeypatch):
    seen = {}

    def watch(name):
        original = getattr(pipeline, name)

        def watched(*args, **kwargs):
            seen.setdefault(name, []).append((args, kwargs))
            return original(*args, **kwargs)

        monkeypatch.setattr(pipeline, name, watched)

    for name in ("knn_graph", "sample_nodes", "reduce_graph"):
        watch(name)
    problems = []
    frpcag = SOLVERS["frpcag"]
    spy = replace(frpcag, minimize=lambda problem, update: problems.append(problem) or frpcag.minimize(problem, update))
    monkeypatch.setitem(SOLVERS, "frpcag", spy)
    X = np.random.default_rng(0).standard_normal((60, 20))
    CompressivePCA(
        2, downsampling=(3, 2), gamma_samples=0.123, gamma_features=0.456, loss="huber", huber_delta=0.9, n_neighbors=4,
        neighbors="exact", reduction="rebuild", tol=0.017, max_iter=77,
    ).fit(X)  # fmt: skip
    for args, kwargs in seen["knn_graph"]:
        assert args[1] == 4
        assert kwargs["neighbors"] == "exact"
    assert [args[1:3] for args, _ in seen["sample_nodes"]] == [(60, 20), (20, 10)]
    assert [args[3:5] for args, _ in seen["reduce_graph"]] == [("rebuild", 4)] * 2
    expected = {"gammas": (0.123, 0.456), "loss": "huber", "huber_delta": 0.9, "tol": 0.017, "max_iter": 77}
    assert vars(problems[0]).items() >= expected.items()  # test_small_solver.py follows them to solve_frpcag


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_parameters_and_inputs_are_not_modified(Estimator):
    X = np.random.default_rng(0).standard_normal((40, 6))
    W = knn_graph(X, 5).weights
    before, X_before = W.copy(), X.copy()
    X.setflags(write=False)
    W.data.setflags(write=False)
    model = Estimator(3, sample_graph=W, random_state=0)
    params = model.get_params()
    model.fit(X)
    assert all(model.get_params()[name] is value for name, value in params.items())
    assert_array_equal(X, X_before)
    assert abs(W - before).nnz == 0
    clone(model)


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_float32_stays_float32(Estimator):
    X = load_digits().data[:120].astype(np.float32)
    model = Estimator(4, random_state=0).fit(X)
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert value.dtype == np.float32, name
    if hasattr(model, "low_rank_"):
        assert model.low_rank_.dtype == np.float32
        assert model.transform(X).dtype == np.float32
        assert model.inverse_transform(model.transform(X)).dtype == np.float32


def test_given_graphs_and_indices_are_used():
    X = np.random.default_rng(0).standard_normal((40, 8))
    graph = knn_graph(X, 6)
    model = CompressivePCA(2, sample_graph=graph, sampling=(np.arange(0, 40, 2), [0, 3, 5, 7]), random_state=0).fit(X)
    assert model.sample_graph_ is graph
    assert_array_equal(model.sample_indices_, np.arange(0, 40, 2))
    assert_array_equal(model.feature_indices_, [0, 3, 5, 7])


def test_a_given_graph_has_at_least_the_precision_of_the_data():
    """Rounding of a Laplacian in single precision grows with gamma."""
    X = np.random.default_rng(0).standard_normal((40, 8))
    single = knn_graph(X.astype(np.float32), 6)
    double = Graph(single.weights.astype(np.float64))
    options = {"gamma": 1e6, "random_state": 0}
    one, other = (ManifoldMF(2, sample_graph=graph, **options).fit(X) for graph in (single, double))
    assert_array_equal(one.embedding_, other.embedding_)
    kept = CompressivePCA(2, sample_graph=double, random_state=0).fit(X.astype(np.float32))
    assert kept.sample_graph_ is double


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_terms_can_be_switched_off(Estimator):
    X = load_digits().data[:100]
    model = Estimator(3, sample_graph=None, feature_graph=None, random_state=0).fit(X)
    assert model.sample_graph_ is None
    assert model.n_iter_ == 0  # no term, nothing to solve


@pytest.mark.parametrize("Estimator", ESTIMATORS)
@pytest.mark.parametrize("shape", [(40, 200), (200, 3), (60, 2), (11, 30)])
def test_all_shapes(Estimator, shape):
    X = np.random.default_rng(0).standard_normal(shape)
    model = Estimator(2, random_state=0).fit(X)
    assert model.converged_


def test_not_converging_warns():
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        CompressivePCA(max_iter=1, tol=1e-9).fit(load_digits().data[:100])


def test_progress_is_silent_unless_asked(capfd):
    X = load_digits().data[:100]
    CompressivePCA(solver="frpcag").fit(X)
    assert capfd.readouterr().err == ""
    CompressivePCA(solver="frpcag", verbose=1).fit(X)
    out, err = capfd.readouterr()
    assert out == ""
    assert "sample graph" in err


def test_stages_are_timed():
    X = load_digits().data[:100]
    assert list(CompressivePCA().fit(X).stage_seconds_) == ["scaling", "outliers", "model", "denoising"]
    model = CompressivePCA(solver="frpcag").fit(X)
    assert list(model.stage_seconds_) == [
        "scaling",
        "outliers",
        "sample graph",
        "feature graph",
        "sampling",
        "reduction",
        "gammas",
        "frpcag",
        "decoding",
    ]


def test_stages_that_have_nothing_to_do_are_not_listed():
    given = {"n_components": 2, "gamma_samples": 1.0, "gamma_features": 0.3, "robust_graphs": False}
    model = CompressivePCA(**given).fit(load_digits().data[:100])
    assert not {"outliers", "imputation", "gammas"} & set(model.stage_seconds_)


def test_no_square_dense_array_is_formed(monkeypatch):
    """Neither n x n nor p x p: dense copies of sparse matrices stay under the size of the data."""
    largest = []
    original = sp.csr_array.toarray

    def watched(self, *args, **kwargs):
        largest.append(np.prod(self.shape))
        return original(self, *args, **kwargs)

    monkeypatch.setattr(sp.csr_array, "toarray", watched)
    X = np.random.default_rng(0).standard_normal((1000, 900)).astype(np.float32)
    CompressivePCA(3, downsampling=(3, 3), random_state=0).fit(X)
    assert max(largest, default=0) <= 334 * 334
