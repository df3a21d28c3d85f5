"""Sparse data give the answer of the same data made dense, and are never made dense whole."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from graphlowrank.preprocessing.standardize import StandardisedData, mean_and_deviation, standardised
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank import CompressiveClustering, CompressivePCA
from graphlowrank.graphs import knn_graph
from graphlowrank.graphs import search_sparse as sparse_search
from graphlowrank.graphs.candidates import Candidates
from graphlowrank.graphs.search import nearest_neighbors, nearest_to
from graphlowrank.linalg.svd import sketched_directions
from graphlowrank.preprocessing.scaling import choose_scaling, scaling_of
from graphlowrank.preprocessing.sparse import ShiftedSparse, as_shifted_sparse


def counts(n=300, p=120, n_groups=3, seed=0, dtype=np.float64):
    """Sparse counts of groups of samples, each with features of its own; and the groups."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % n_groups
    rates = 0.15 + 2.5 * (np.arange(p) % n_groups == np.arange(n_groups)[:, None])
    return sp.csr_array(rng.poisson(0.4 * rates[groups]).astype(dtype)), groups


def shifted(seed, n=12, p=9, dtype=np.float64):
    rng = np.random.default_rng(seed)
    values = sp.random_array((n, p), density=0.3, rng=rng, format="csr", dtype=dtype)
    return ShiftedSparse(values, rng.standard_normal(n).astype(dtype), rng.standard_normal(p).astype(dtype))


# --- arithmetic --------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_arithmetic_is_that_of_the_dense_matrix(seed):
    X = shifted(seed)
    dense, rng = X.to_array(), np.random.default_rng(seed)
    assert_allclose(dense, X.values.toarray() + X.rows[:, None] + X.columns, atol=1e-15)
    A, B, w, rows = rng.random((2, 12)), rng.random((9, 3)), rng.random(12), rng.integers(0, 12, 5)
    assert_allclose(X @ B, dense @ B, atol=1e-12)
    assert_allclose(A @ X, A @ dense, atol=1e-12)
    assert_allclose(X.T.to_array(), dense.T, atol=1e-14)
    assert_allclose(X[rows].to_array(), dense[rows], atol=1e-14)
    assert_allclose(X.block(np.array([4, 1])), dense[:, [4, 1]], atol=1e-14)
    assert_allclose(X.mean(), dense.mean(axis=0), atol=1e-12)
    assert_allclose(X.mean(w), np.average(dense, axis=0, weights=w), atol=1e-12)
    assert_allclose((X / 4).to_array(), dense / 4, atol=1e-14)
    assert X.bound() >= np.abs(dense).max()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_standardising(axis, dtype):
    values, _ = counts(40, 30, dtype=dtype)
    values = values.tolil()
    values[3], values[:, 5] = 0, 0  # what is constant becomes zero
    X = as_shifted_sparse(values.tocsr())
    dense = X.values.toarray()
    for found, expected in zip(mean_and_deviation(X, axis), mean_and_deviation(dense, axis), strict=True):
        assert_allclose(found, expected, atol=1e-12)
    tolerance = 1e-5 if dtype is np.float32 else 1e-12
    assert_allclose(standardised(X, axis).to_array(), standardised(dense, axis), atol=tolerance)
    assert standardised(X, axis).dtype == dtype


def test_the_callers_matrix_is_left_alone():
    values = sp.csr_array((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    assert not values.has_sorted_indices
    assert_array_equal(as_shifted_sparse(values).values.indices, [0, 1])
    assert_array_equal(values.indices, [1, 0])


def test_products_with_standardised_data():
    X, rng = shifted(0), np.random.default_rng(0)
    sparse, dense = (StandardisedData(one, np.arange(9.0), 2.0) for one in (X, X.to_array()))
    A, B = rng.random((2, 12)), rng.random((9, 2))
    assert_allclose(sparse @ B, dense @ B)
    assert_allclose(A @ sparse, A @ dense)
    for rows, columns in ((slice(2, 7), np.array([1, 5])), (np.array([3, 0]), slice(None))):
        assert_allclose(sparse.block(rows, columns), dense.block(rows, columns))


def test_sketched_directions_are_the_leading_ones():
    X = shifted(3, n=40, p=30)
    centred = X.moved(-X.mean())
    found = sketched_directions(centred, 4, np.random.RandomState(0))
    right = np.linalg.svd(centred.to_array())[2][:4]
    assert_allclose(found.T @ found, np.eye(4), atol=1e-10)
    assert_allclose(np.linalg.svd(right @ found, compute_uv=False), 1, atol=0.05)


# --- neighbours --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("by_products", [True, False])
def test_neighbours_are_those_of_the_dense_rows(monkeypatch, dtype, by_products):
    monkeypatch.setattr(sparse_search, "SPARSE_COST", 0 if by_products else 1e9)
    monkeypatch.setattr(sparse_search, "DENSE_ENTRIES", 50 * 40)
    monkeypatch.setattr(sparse_search, "PRODUCT_ENTRIES", 50 * 200)
    X = shifted(1, n=200, p=40, dtype=dtype)
    distances, indices = nearest_neighbors(X, 5, engine="exact")
    true_distances, true_indices = nearest_neighbors(X.to_array(), 5, engine="exact")
    assert_allclose(distances, true_distances, rtol=1e-4 if dtype is np.float32 else 1e-10)
    assert np.mean(indices == true_indices) > 0.99
    assert distances.dtype == dtype
    near, who = nearest_to(X[:7], X, 3)
    assert_array_equal(who[:, 0], np.arange(7))
    assert_allclose(near[:, 0], 0, atol=1e-6)


def test_the_compiled_measure_agrees_with_its_twin():
    X, rng = shifted(2, n=60, p=30), np.random.default_rng(0)
    candidates = Candidates(rng.integers(-1, 60, (60, 12)), rng.permutation(60))
    queries = shifted(4, n=60, p=30)
    for asking in (None, queries):
        compiled, plain = (
            sparse_search.nearest_sparse(X, candidates, 3, asking, compiled=one) for one in (True, False)
        )
        assert_allclose(compiled[0], plain[0], rtol=1e-9)
        finite = np.isfinite(plain[0])
        assert_array_equal(compiled[1][finite], plain[1][finite])


def test_approximate_neighbours_of_many_wide_rows():
    values, groups = counts(3000, 400, 5)
    graph = knn_graph(values, 10, neighbors="approximate", random_state=0)
    exact = knn_graph(values, 10, neighbors="exact")
    assert (graph.weights.minimum(exact.weights) > 0).nnz > 0.6 * exact.weights.nnz  # noise in 400 dimensions
    edges = graph.weights.tocoo()
    assert np.mean(groups[edges.coords[0]] == groups[edges.coords[1]]) > 0.95


# --- estimators --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scaling", ["none", "samples", "features", "auto"])
@pytest.mark.parametrize("laplacian", ["normalized", "combinatorial"])
def test_clusters_are_those_of_the_dense_matrix(scaling, laplacian):
    values, groups = counts()
    options = {"scaling": scaling, "laplacian": laplacian, "random_state": 0, "downsampling": (3, 2)}
    options["robust_graphs"] = False  # sparse data are compared as they are
    sparse = CompressiveClustering(3, **options).fit(values)
    dense = CompressiveClustering(3, **options).fit(values.toarray())
    assert sparse.scaling_ == dense.scaling_
    assert_allclose(sparse.sample_graph_.weights.toarray(), dense.sample_graph_.weights.toarray(), atol=1e-10)
    assert_allclose(sparse.feature_graph_.weights.toarray(), dense.feature_graph_.weights.toarray(), atol=1e-10)
    assert_array_equal(sparse.labels_, dense.labels_)
    new, _ = counts(50, seed=1)
    expected = dense.predict(new.toarray())
    for model in (sparse, dense):
        assert_array_equal(model.predict(new), expected)
        assert_array_equal(model.predict(new.toarray()), expected)
    assert "sparse" in repr(sparse.report_)
    assert scaling == "auto" or len(np.unique(sparse.labels_)) == 3
    assert len(np.unique(np.stack([sparse.labels_, groups]), axis=1).T) == 3  # the groups themselves


@pytest.mark.parametrize("decoder", ["subspace", "robust", "approximate2", "approximate3"])
def test_recovery_is_that_of_the_dense_matrix(decoder):
    values, _ = counts()
    options = {"max_iter": 1000} if decoder == "robust" else None
    model = CompressivePCA(2, decoder=decoder, decoder_options=options, downsampling=(3, 2), random_state=0)
    sparse = model.fit(values).low_rank_
    scores = model.transform(values)
    dense = model.fit(values.toarray()).low_rank_
    assert_allclose(sparse.to_array(), dense.to_array(), atol=1e-8)
    assert_allclose(scores, model.transform(values.toarray()), atol=1e-8)


def test_choosing_and_counting_look_at_the_same():
    values, _ = counts()
    for kind in ("none", "samples", "features"):
        X = as_shifted_sparse(values)
        assert_allclose(
            scaling_of(X, kind, "").apply(X).to_array(), scaling_of(values.toarray(), kind, "").apply(values.toarray()),
            atol=1e-12,
        )  # fmt: skip
    found, expected = (
        choose_scaling(one, 3, 10, np.random.RandomState(0)) for one in (as_shifted_sparse(values), values.toarray())
    )
    assert found.kind == expected.kind
    assert found.tried == pytest.approx(expected.tried)
    assert CompressiveClustering("auto", random_state=0).fit(values).n_clusters_ == 3


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, sp.coo_array])
@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_other_kinds_of_sparse(kind, dtype):
    values, groups = counts(100, 40)
    labels = CompressiveClustering(3, random_state=0).fit_predict(kind(values.astype(dtype)))
    assert len(np.unique(np.stack([labels, groups]), axis=1).T) == 3


def test_wide_sparse_data_are_not_made_dense():
    n, p = 4000, 8000
    rng = np.random.default_rng(0)
    columns = (rng.integers(0, p // 4, (n, 20)) + (p // 4) * (np.arange(n) % 4)[:, None]).ravel()
    values = sp.csr_array((np.ones(columns.size, np.float32), columns, np.arange(0, n * 20 + 1, 20)), shape=(n, p))
    tracemalloc.start()
    CompressiveClustering(4, scaling="none", random_state=0, downsampling=(20, 20), neighbors="approximate").fit(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.6 * n * p * 4
