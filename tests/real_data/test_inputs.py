"""Real data as they come: sparse counts, and pictures with missing pixels."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from graphlowrank import CompressiveClustering, CompressivePCA
from graphlowrank.graphs import knn_graph
from graphlowrank.metrics import clustering_error
from graphlowrank.preprocessing.counts import log_transform, select_columns
from graphlowrank_benchmarks.datasets import load_usps, load_worm_neurons

pytestmark = pytest.mark.real_data


def test_worm_neurons_stay_sparse():
    counts, types = load_worm_neurons()
    X = select_columns(counts, log_transform(counts, normalize=True), None, keep_sparse=True)[:2500].astype(np.float32)
    graph, dense = knn_graph(X, 10), knn_graph(X.toarray(), 10, neighbors="exact")
    assert (graph.weights.minimum(dense.weights) > 0).nnz > 0.999 * dense.weights.nnz
    model = CompressiveClustering(10, random_state=0).fit(X)
    assert adjusted_rand_score(types[:2500], model.labels_) > 0.3
    assert "sparse" in repr(model.report_)


def test_usps_with_three_pixels_of_ten_missing():
    X, y = load_usps()
    X = X.astype(np.float32)
    hidden = np.random.default_rng(0).random(X.shape) < 0.3
    gaps = np.where(hidden, np.float32(np.nan), X)
    assert clustering_error(y, CompressiveClustering(10, random_state=0).fit_predict(gaps)) < 0.2
    found = CompressivePCA(random_state=0).fit(gaps[:2000]).low_rank_[:2000]
    spread = np.linalg.norm((X[:2000] - X[:2000].mean(axis=0))[hidden[:2000]])
    assert np.linalg.norm((found - X[:2000])[hidden[:2000]]) < 0.8 * spread
