"""Maps of samples: quality, new samples, odd data, models that share their graphs."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness
from sklearn.neighbors import KNeighborsClassifier

import graphlowrank
from graphlowrank import CompressiveClustering, CompressiveEmbedding, CompressivePCA, embedding
from graphlowrank.graphs import knn_graph


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X.astype(np.float32), y


@pytest.fixture(scope="module")
def fitted(digits):
    return CompressiveEmbedding(random_state=0).fit(digits[0])


def test_neighbors_stay_neighbors(digits, fitted):
    X, y = digits
    assert trustworthiness(X, fitted.embedding_, n_neighbors=10) > 0.98  # PCA 0.83, umap-learn 0.987
    assert KNeighborsClassifier(10).fit(fitted.embedding_[::2], y[::2]).score(fitted.embedding_[1::2], y[1::2]) > 0.97


def test_kept_samples_extension_and_refinement(digits, monkeypatch):
    """The path of large data on small ones."""
    monkeypatch.setattr("graphlowrank.auto.layout.WHOLE_UP_TO", 300)
    model = CompressiveEmbedding(random_state=0).fit(digits[0])
    assert trustworthiness(digits[0], model.embedding_, n_neighbors=10) > 0.975
    assert {"sampling", "reduction", "layout", "decoding", "refinement"} <= set(model.stage_seconds_)
    assert "300" in repr(model.report_)


def test_the_numbering_of_large_graphs_is_undone(digits, monkeypatch):
    for module in ("graph", "knn"):
        monkeypatch.setattr(f"graphlowrank.graphs.{module}.RENUMBERED_ABOVE", 100)
    X = digits[0][:600]
    found = CompressiveEmbedding(neighbors="approximate", n_epochs=50, random_state=0).fit(X)
    assert found.sample_graph_.renumbered.order is not None
    assert trustworthiness(X, found.embedding_, n_neighbors=10) > 0.95


def test_threads_do_not_change_a_byte_and_the_seed_does(digits):
    X = digits[0][:400]
    first, *others = (CompressiveEmbedding(n_jobs=n, random_state=3).fit_transform(X) for n in (1, 2, 3))
    for other in others:
        assert_array_equal(other, first)
    assert not np.array_equal(CompressiveEmbedding(random_state=4).fit_transform(X), first)


def test_new_samples_are_placed_among_their_neighbors(digits):
    X, y = digits
    model = CompressiveEmbedding(random_state=0).fit(X[::2])
    placed = model.transform(X[1::2])
    assert placed.dtype == np.float32
    nearest = KNeighborsClassifier(10).fit(model.embedding_, y[::2])
    assert nearest.score(placed, y[1::2]) > 0.95
    assert_array_equal(model.transform(X[1::2][50:57]), placed[50:57])  # whatever else is placed


def test_training_samples_are_placed_where_they_are(digits, fitted):
    X = digits[0]
    assert_array_equal(fitted.transform(X[:50]), fitted.embedding_[:50])
    noise = np.random.default_rng(0).standard_normal(X[:200].shape).astype(np.float32)
    away = np.linalg.norm(fitted.transform(X[:200] + 0.01 * noise) - fitted.embedding_[:200], axis=1)
    assert np.median(away) < 0.1 * fitted.embedding_.std()


def test_training_samples_with_missing_values_are_placed_where_they_are(digits):
    """However few are placed: what is imputed differs by rounding from what the fit imputed."""
    X = digits[0][:150].astype(np.float64)
    X[np.random.default_rng(0).random(X.shape) < 0.5] = np.nan
    model = CompressiveEmbedding(n_epochs=5, random_state=0).fit(X)
    for rows in (slice(0, 3), slice(3, 4), slice(0, 150)):
        assert_array_equal(model.transform(X[rows]), model.embedding_[rows])


def test_disconnected_cliques_are_apart():
    cliques = np.kron(np.eye(6), np.ones((20, 20))) - np.eye(120)
    X, y = np.random.default_rng(0).standard_normal((120, 3)), np.repeat(np.arange(6), 20)
    found = CompressiveEmbedding(sample_graph=cliques, random_state=0).fit_transform(X)
    distances = np.linalg.norm(found[:, None] - found, axis=2)
    same = y[:, None] == y
    assert distances[same].max() < distances[~same].min()


def test_a_model_shares_its_graph_and_points(digits, monkeypatch):
    X = digits[0][:500]
    clusters = CompressiveClustering(10, random_state=0).fit(X)
    low_rank = CompressivePCA(5, random_state=0).fit(X)
    monkeypatch.setattr("graphlowrank.pipeline.knn_graph", lambda *_, **__: pytest.fail("a search"))
    for model in (clusters, low_rank):
        found = CompressiveEmbedding(random_state=0).fit(X, model=model)
        assert found.sample_graph_ is model.sample_graph_
        assert trustworthiness(X, found.embedding_, n_neighbors=10) > 0.95
        assert found.transform(X[:3]).shape == (3, 2)
    assert CompressiveEmbedding(random_state=0).fit(X, model=clusters).points_ is clusters.points_
    again = CompressiveEmbedding(n_epochs=5, random_state=1).fit(X, model=found)
    assert again.sample_graph_ is found.sample_graph_


def test_models_that_do_not_fit_are_refused(digits):
    X = digits[0][:100]
    model = CompressiveClustering(5, random_state=0).fit(X[:60])
    with pytest.raises(ValueError, match="fitted to data of shape"):
        CompressiveEmbedding().fit(X, model=model)
    with pytest.raises(ValueError, match="no sample graph"):
        CompressiveEmbedding().fit(X, model=graphlowrank.RobustPCA().fit(X))
    with pytest.raises(ValueError, match="not fitted"):
        CompressiveEmbedding().fit(X, model=clone(model))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components"), ({"n_components": 1000}, "dimensions"), ({"n_neighbors": 0}, "positive"),
        ({"n_neighbors": "auto"}, "n_neighbors"), ({"n_epochs": 0}, "n_epochs"), ({"n_epochs": "few"}, "n_epochs"),
        ({"sample_graph": None}, "needs neighbors"), ({"scaling": "unit"}, "scaling"),
    ],
)  # fmt: skip
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        CompressiveEmbedding(**options).fit(np.random.default_rng(0).standard_normal((30, 4)))


def test_missing_values_and_masks(digits):
    X = digits[0][:300].copy()
    missing = np.random.default_rng(0).random(X.shape) < 0.1
    by_mask = CompressiveEmbedding(random_state=0).fit(X, mask=~missing)
    X[missing] = np.nan
    by_nan = CompressiveEmbedding(random_state=0).fit(X)
    assert_array_equal(by_mask.embedding_, by_nan.embedding_)
    assert np.isfinite(by_nan.transform(X[:5])).all()
    assert trustworthiness(digits[0][:300], by_nan.embedding_, n_neighbors=10) > 0.9


def test_sparse_samples_have_the_map_of_dense_ones(digits):
    X = digits[0][:300]
    dense = CompressiveEmbedding(neighbors="exact", robust_graphs=False, random_state=0).fit(X)
    sparse = clone(dense).fit(sp.csr_array(X))
    assert (dense.sample_graph_.weights != sparse.sample_graph_.weights).nnz < 0.02 * dense.sample_graph_.weights.nnz
    assert trustworthiness(X, sparse.embedding_, n_neighbors=10) > 0.97
    assert_allclose(sparse.transform(sp.csr_array(X[:5])), sparse.embedding_[:5], atol=1e-4)


@given(
    seed=st.integers(0, 1000), n=st.integers(2, 60), p=st.integers(1, 5), d=st.integers(1, 4),
    kind=st.sampled_from(["normal", "constant", "copies", "lonely", "huge", "tiny"]), single=st.booleans(),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore:n_neighbors=15 is lowered")
def test_odd_data_have_finite_maps(seed, n, p, d, kind, single):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    if kind == "constant":
        X[:] = 3
    elif kind == "copies":
        X = X[rng.integers(2, size=n)]
    elif kind == "lonely":
        X[0] = 1e6
    elif kind in ("huge", "tiny"):
        X *= 1e30 if kind == "huge" else 1e-30
    X = X.astype(np.float32 if single and kind in ("normal", "copies", "constant") else np.float64)
    model = CompressiveEmbedding(d, n_epochs=5, random_state=0).fit(X)
    found = model.embedding_
    assert found.shape == (n, d)
    assert found.dtype == X.dtype
    assert np.isfinite(found).all()
    assert len(np.unique(found, axis=0)) == n  # copies are apart, too
    assert np.isfinite(model.transform(X + X.dtype.type(0.1))).all()


def test_saved_models_place_new_samples_alike(tmp_path, digits, fitted):
    fitted.save(tmp_path / "map.model")
    again = graphlowrank.load(tmp_path / "map.model")
    new = digits[0][:20] + np.float32(0.5)
    assert_array_equal(again.transform(new), fitted.transform(new))
    assert_array_equal(again.embedding_, fitted.embedding_)


def test_stages_are_those_of_the_pipeline(digits):
    found = CompressiveEmbedding(random_state=0).fit(digits[0][:200])
    assert list(found.stage_seconds_) == [
        "outliers", "scaling", "sample graph", "memberships", "sampling", "reduction", "eigenvectors", "layout",
        "decoding", "refinement",
    ]  # fmt: skip
    names = [choice.name for choice in found.report_.choices]
    assert names == ["scaling", "robust_graphs", "n_laid_out", "n_epochs"]
    assert embedding.embed.__module__ == "graphlowrank.embedding"


def test_a_given_graph_is_used(digits):
    X = digits[0][:150]
    graph = knn_graph(X, 7)
    found = CompressiveEmbedding(sample_graph=graph, random_state=0).fit(X)
    assert found.sample_graph_ is graph
