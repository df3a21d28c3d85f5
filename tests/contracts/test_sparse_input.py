"""Sparse data give the answer of the same data made dense, and are never made dense as a whole."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank import CompressiveClustering, CompressivePCA
from helpers import sparse_counts


@pytest.mark.parametrize("scaling", ["none", "samples", "features", "auto"])
@pytest.mark.parametrize("laplacian", ["normalized", "combinatorial"])
def test_clusters_are_those_of_the_dense_matrix(scaling, laplacian):
    values, groups = sparse_counts()
    options = {"scaling": scaling, "laplacian": laplacian, "random_state": 0, "downsampling": (3, 2)}
    options["robust_graphs"] = False  # sparse data are compared as they are
    sparse = CompressiveClustering(3, **options).fit(values)
    dense = CompressiveClustering(3, **options).fit(values.toarray())
    assert sparse.scaling_ == dense.scaling_
    assert_allclose(sparse.sample_graph_.weights.toarray(), dense.sample_graph_.weights.toarray(), atol=1e-10)
    assert_allclose(sparse.feature_graph_.weights.toarray(), dense.feature_graph_.weights.toarray(), atol=1e-10)
    assert_array_equal(sparse.labels_, dense.labels_)
    new, _ = sparse_counts(50, seed=1)
    expected = dense.predict(new.toarray())
    for model in (sparse, dense):
        assert_array_equal(model.predict(new), expected)
        assert_array_equal(model.predict(new.toarray()), expected)
    assert "sparse" in repr(sparse.report_)
    assert scaling == "auto" or len(np.unique(sparse.labels_)) == 3
    assert len(np.unique(np.stack([sparse.labels_, groups]), axis=1).T) == 3  # the groups themselves


@pytest.mark.parametrize("decoder", ["subspace", "robust", "approximate2", "approximate3", "graph_regression"])
def test_recovery_is_that_of_the_dense_matrix(decoder):
    values, _ = sparse_counts()
    options = {"max_iter": 1000} if decoder == "robust" else None
    model = CompressivePCA(2, decoder=decoder, decoder_options=options, downsampling=(3, 2), random_state=0)
    sparse = model.fit(values).low_rank_
    scores = model.transform(values)
    dense = model.fit(values.toarray()).low_rank_
    assert_allclose(sparse.to_array(), dense.to_array(), atol=1e-8)
    assert_allclose(scores, model.transform(values.toarray()), atol=1e-8)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, sp.coo_array])
@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_other_sparse_formats(kind, dtype):
    values, groups = sparse_counts(100, 40)
    labels = CompressiveClustering(3, random_state=0).fit_predict(kind(values.astype(dtype)))
    assert len(np.unique(np.stack([labels, groups]), axis=1).T) == 3


def test_wide_sparse_data_are_not_made_dense():
    n, p = 4000, 8000
    rng = np.random.default_rng(0)
    columns = (rng.integers(0, p // 4, (n, 20)) + (p // 4) * (np.arange(n) % 4)[:, None]).ravel()
    values = sp.csr_array((np.ones(columns.size, np.float32), columns, np.arange(0, n * 20 + 1, 20)), shape=(n, p))
    options = {"scaling": "none", "downsampling": (20, 20), "neighbors": "approximate"}
    model = CompressiveClustering(4, gamma_samples=1.0, gamma_features=1.0, random_state=0, **options)
    model.fit(values[:2000])  # imports and compiles
    tracemalloc.start()
    model.fit(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.6 * n * p * 4
