"""Fits of data that are not in memory: the answer of data in memory, whatever the chunks."""

import warnings

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

import graphlowrank as gl
from graphlowrank import large_data
from graphlowrank.graphs import blocks, knn_graph
from graphlowrank.outofcore import clustering, method, two_level

CHUNKS = [(3400, 12), (1000, 12), (777, 5), ((1, 2399, 1000), 12)]


@pytest.fixture(autouse=True)
def nothing_fits(monkeypatch):
    """No data are small, and the search for neighbors is that of data on disk."""
    monkeypatch.setattr(method, "FEW_ROWS", 0)
    monkeypatch.setattr(blocks, "IN_MEMORY_SHARE", 0.0)
    monkeypatch.setattr(clustering, "MAX_PREPARED", 1500)


def fitted(X, how, y=None, **parameters):
    with large_data(method=how), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gl.CompressiveClustering(6, random_state=0, **parameters).fit(X)


@pytest.mark.parametrize("how", ["whole", "out_of_core", "two_level"])
def test_labels_do_not_depend_on_the_chunks(blobs, how, monkeypatch):
    monkeypatch.setattr(method, "MAX_FITTED", 2000)
    X, y = blobs
    models = [fitted(da.from_array(X, chunks=chunks), how) for chunks in CHUNKS]
    labels = [model.labels_.compute() for model in models]
    for one, model, chunks in zip(labels, models, CHUNKS, strict=True):
        np.testing.assert_array_equal(one, labels[0])
        np.testing.assert_array_equal(model.soft_labels_.compute(), models[0].soft_labels_.compute())
        assert model.labels_.chunks[0] == da.from_array(X, chunks=chunks).chunks[0]
        assert model.labels_.dtype == np.int64
    truth = gl.CompressiveClustering(6, random_state=0).fit(X)
    assert adjusted_rand_score(y, labels[0]) > adjusted_rand_score(y, truth.labels_) - 0.02


def test_data_that_fit_give_the_answer_of_data_in_memory(blobs):
    X, _ = blobs
    expected = gl.CompressiveClustering(6, random_state=0).fit(X)
    with large_data(memory="4GB"):
        found = gl.CompressiveClustering(6, random_state=0).fit(da.from_array(X, chunks=(700, 12)))
    np.testing.assert_array_equal(found.labels_.compute(), expected.labels_)
    np.testing.assert_array_equal(found.predict(X[:99]), expected.predict(X[:99]))
    assert found.report_.choices[-1].value == "whole"


def test_answers_of_new_rows_are_lazy_and_the_same(blobs):
    X, _ = blobs
    model = fitted(da.from_array(X), "out_of_core")
    new = da.from_array(X[::-1] + np.float32(0.1), chunks=(999, 12))
    for name, width in {"predict": None, "transform": 6}.items():
        found = getattr(model, name)(new)
        assert found.chunks[0] == new.chunks[0]
        assert found.shape == ((3400,) if width is None else (3400, width))
        expected = getattr(model, name)(new.compute())
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.compute(), expected, atol=1e-5)


def test_fit_predict_is_lazy(blobs):
    X, _ = blobs
    with large_data(method="two_level"):
        labels = gl.CompressiveClustering(6, random_state=0).fit_predict(da.from_array(X, chunks=(1000, 12)))
    assert isinstance(labels, da.Array)
    assert labels.shape == (3400,)


@pytest.mark.parametrize("how", ["out_of_core", "two_level"])
def test_missing_values_and_outliers(blobs, how):
    X, y = blobs
    rng = np.random.default_rng(0)
    X = X.copy()
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.02] = 200
    X[np.isnan(X).all(axis=1), 0] = 0
    model = fitted(da.from_array(X, chunks=(900, 12)), how)
    assert adjusted_rand_score(y, model.labels_.compute()) > 0.6


def test_values_at_the_ends_of_the_range(blobs):
    X, y = blobs
    rng = np.random.default_rng(0)
    flat = np.clip(X, -10, 10)
    flat[rng.random(X.shape) < 0.1] = 10
    model = fitted(da.from_array(flat, chunks=(900, 12)), "out_of_core", robust_graphs="ends")
    assert adjusted_rand_score(y, model.labels_.compute()) > 0.7
    assert model.predict(flat[:50]).shape == (50,)


def test_values_missing_only_where_nothing_is_learned(blobs, monkeypatch):
    X, y = blobs
    monkeypatch.setattr(clustering, "draw", lambda n, size, random_state: np.arange(size))
    X = X.copy()
    X[3000:, 2] = np.nan  # among the last rows only
    model = fitted(da.from_array(X, chunks=(900, 12)), "out_of_core")
    assert adjusted_rand_score(y, model.labels_.compute()) > 0.8


def test_a_given_graph_is_used_out_of_core(blobs):
    X, y = blobs
    graph = knn_graph(X, 10)
    model = fitted(da.from_array(X, chunks=(900, 12)), "out_of_core", sample_graph=graph)
    assert adjusted_rand_score(y, model.labels_.compute()) > 0.8
    with large_data(method="two_level"), pytest.raises(ValueError, match="a graph of all samples is given"):
        clone(model).fit(da.from_array(X))


def test_loss_weights(blobs):
    X, y = blobs
    weights = np.where(y == 0, 0.1, 1)
    for how in ("out_of_core", "two_level", "whole"):
        with large_data(method=how):
            model = gl.CompressiveClustering(6, random_state=0)
            model.fit(da.from_array(X), sample_loss_weight=weights)
        assert adjusted_rand_score(y, model.labels_.compute()) > 0.8
    with pytest.raises(ValueError, match="sample_loss_weight must have shape"):
        gl.CompressiveClustering(6).fit(da.from_array(X), sample_loss_weight=weights[:5])
    with pytest.raises(ValueError, match="mask needs data in memory"):
        gl.CompressiveClustering(6).fit(da.from_array(X), mask=np.ones(X.shape, bool))


def test_rows_of_rare_groups_are_fitted(blobs, monkeypatch):
    X, _ = blobs
    X = X.copy()
    rare = np.array([5, 800, 1600, 2500, 3300])
    X[rare] += 300
    for seed in range(5):
        monkeypatch.setattr(method, "first_level", lambda *_: 100)
        with large_data(method="two_level"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = gl.CompressiveClustering(6, random_state=seed).fit(da.from_array(X, chunks=(900, 12)))
        assert np.isin(rare, model.fitted_rows_).any()
        assert len(model.fitted_rows_) <= 100 + two_level.MIN_RARE
        assert (np.diff(model.fitted_rows_) > 0).all()


def test_the_draw_is_uniform_and_without_replacement():
    X = da.from_array(np.arange(1200.0).reshape(600, 2), chunks=(100, 2))
    counts = np.zeros(600)
    for seed in range(300):
        part = two_level.draw_part(gl.outofcore.sources.Source(X, "X"), 60, np.random.RandomState(seed))
        np.testing.assert_array_equal(part.X[:, 0], 2 * part.indices)
        counts[part.indices] += 1
    assert counts.sum() == 300 * 60
    assert 10 <= counts.min() <= counts.max() <= 55  # mean 30, standard deviation 5.2


@pytest.mark.parametrize(
    "model",
    [
        gl.CompressivePCA(5, random_state=0),
        gl.FastRobustPCAOnGraphs(5, random_state=0),
        gl.RobustPCA(5),
        gl.RobustPCAOnGraphs(5, random_state=0),
        gl.GraphLaplacianPCA(5, random_state=0),
        gl.ManifoldMF(5, random_state=0),
        gl.GraphNMF(5, random_state=0),
        gl.CompressiveEmbedding(random_state=0, n_epochs=20),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_estimator_extends_what_it_learned(model, monkeypatch):
    monkeypatch.setattr(method, "first_level", lambda *_: 300)
    rng = np.random.default_rng(0)
    clean = rng.random((900, 5)) @ rng.random((5, 12))
    X = (clean + 0.01 * rng.random(clean.shape)).astype(np.float32)
    lazy = da.from_array(X, chunks=(400, 12))
    with large_data(method="two_level"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(lazy)
    expected = model.transform(X)
    found = model.transform(lazy)
    assert found.chunks[0] == lazy.chunks[0]
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.compute(), expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())
    if hasattr(model, "low_rank_"):
        assert model.low_rank_.shape == X.shape
        error = np.linalg.norm(model.low_rank_.to_array() - clean) / np.linalg.norm(clean)
        assert error < 0.05
        left = np.asarray(model.low_rank_.left)
        np.testing.assert_allclose(left.T @ left, np.eye(left.shape[1]), atol=1e-3)
        back = model.inverse_transform(model.transform(lazy))
        assert isinstance(back, da.Array)
        assert np.linalg.norm(back.compute() - clean) / np.linalg.norm(clean) < 0.05
    else:
        assert model.embedding_.shape == (900, expected.shape[1])


@pytest.mark.parametrize("how", ["whole", "out_of_core", "two_level"])
def test_models_are_saved_without_lazy_attributes(blobs, how, tmp_path):
    X, _ = blobs
    model = fitted(da.from_array(X, chunks=(900, 12)), how)
    model.save(tmp_path / "x.model")
    again = gl.load(tmp_path / "x.model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert not hasattr(again, "labels_")
    assert str(again.report_) == str(model.report_)


def test_features_must_match(blobs):
    X, _ = blobs
    model = gl.CompressiveClustering(6, random_state=0).fit(X)
    with pytest.raises(ValueError, match=r"X has 11 features, but CompressiveClustering\.predict expects 12"):
        model.predict(da.from_array(X[:, :11]))
    labels = model.predict(da.from_array(X, chunks=(900, 12)))
    np.testing.assert_array_equal(labels.compute(), model.predict(X))


def test_numpy_arrays_on_disk_are_loaded_only_if_they_fit(blobs, tmp_path):
    X, _ = blobs
    np.save(tmp_path / "x.npy", X)
    on_disk = np.load(tmp_path / "x.npy", mmap_mode="r")
    with large_data(memory="20GB"):
        assert isinstance(gl.CompressiveClustering(6, random_state=0).fit(on_disk).labels_, np.ndarray)
    with large_data(method="out_of_core"):
        assert isinstance(gl.CompressiveClustering(6, random_state=0).fit(on_disk).labels_, da.Array)


def test_the_method_is_the_first_that_fits():
    def chosen(n, p, memory, model=None):
        model = model or gl.CompressiveClustering(10)
        with large_data(memory=memory):
            settings = gl.outofcore.settings.current_settings()
            options = gl.options.Options.of(model.get_params(deep=False))
            return method.choose_method(model._task, (n, p), 4, options, settings, None)

    assert chosen(10**5, 50, "8GB")[0].value == "whole"
    assert chosen(10**6, 1000, "6GB")[0].value == "out_of_core"
    choice, size = chosen(10**8, 20, "4GB")
    assert choice.value == "two_level"
    assert size == method.MAX_FITTED
    assert "200000 samples are fitted" in choice.reason
    recovery = gl.CompressivePCA()
    assert chosen(10**8, 200, "4GB", recovery)[0].value == "out_of_core"


def test_more_memory_never_fits_fewer_rows():
    model = gl.CompressiveClustering(10)
    options = gl.options.Options.of(model.get_params(deep=False))
    sizes = [method.first_level("cluster", (10**8, 100), 4, options, memory, 2) for memory in (5e8, 1e9, 2e9, 8e9)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    for memory, size in zip((1e9, 2e9), sizes[1:], strict=False):
        assert method.fit_bytes("cluster", (size, 100), 4, options, 2) <= memory
