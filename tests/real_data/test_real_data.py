"""What the library must do on real data. Labels are used to score and for nothing else."""

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans

from graphlowrank import CompressiveClustering, CompressivePCA
from graphlowrank.graphs import nearest_neighbors
from graphlowrank.metrics import clustering_error, recovery_error
from graphlowrank_benchmarks.datasets import load_mnist, load_orl, load_usps

pytestmark = pytest.mark.real_data


def test_usps_clusters():
    X, y = load_usps()
    assert X.shape == (9298, 256)
    errors = [
        clustering_error(
            y,
            CompressiveClustering(
                10,
                downsampling=(10, 1),
                reduction="random_walk",
                gamma_samples=1.5,
                gamma_features=0.3,
                random_state=seed,
            ).fit_predict(X),
        )
        for seed in range(5)
    ]
    k_means = clustering_error(y, KMeans(10, n_init=3, random_state=0).fit(X).labels_)
    print(f"USPS: {np.round(errors, 3)}, mean {np.mean(errors):.3f}; k-means {k_means:.3f}")
    assert np.mean(errors) <= 0.24
    assert k_means > 0.3


MNIST = """
import json, resource
from graphlowrank import CompressiveClustering
from graphlowrank_benchmarks.datasets import load_mnist
from graphlowrank.metrics import clustering_error
X, y = load_mnist()
errors = []
for seed in range(3):
    model = CompressiveClustering(
        10, downsampling=(10, 2), gamma_samples=1.5, gamma_features=0.3, random_state=seed
    ).fit(X)
    errors.append(clustering_error(y, model.labels_))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # kB on Linux
print(json.dumps({"shape": X.shape, "errors": errors, "peak_gb": peak, "seconds": model.stage_seconds_}))
"""


def test_mnist_clusters_in_little_memory():
    # In a process of its own, so that the peak memory is that of this job.
    out = subprocess.run([sys.executable, "-c", MNIST], capture_output=True, text=True, check=True).stdout
    result = json.loads(out)
    print(f"MNIST: {result}")
    assert result["shape"] == [70000, 784]
    assert np.mean(result["errors"]) <= 0.27
    assert result["peak_gb"] < 3


def test_mnist_neighbour_recall():
    X, _ = load_mnist()
    rows = np.random.default_rng(0).choice(len(X), 300, replace=False)
    found = nearest_neighbors(X, 10, engine="approximate", random_state=0)[1][rows]
    norms = np.einsum("ij,ij->i", X, X)
    recall = []
    for row, neighbours in zip(rows, found, strict=True):
        squared = norms - 2 * (X @ X[row])
        squared[row] = np.inf
        recall.append(len(np.intersect1d(np.argpartition(squared, 10)[:10], neighbours)) / 10)
    print(f"MNIST recall: {np.mean(recall):.3f}")
    assert np.mean(recall) >= 0.97


def test_orl_more_features_than_samples(monkeypatch):
    X, y = load_orl()
    assert X.shape == (400, 10304)
    sizes = []
    original = sp.csr_array.toarray

    def watched(self, *args, **kwargs):
        sizes.append(int(np.prod(self.shape)))
        return original(self, *args, **kwargs)

    monkeypatch.setattr(sp.csr_array, "toarray", watched)
    recovered = CompressivePCA(downsampling=(2, 10), random_state=0).fit(X)
    assert recovery_error(X, recovered.low_rank_) < 0.35
    labels = CompressiveClustering(40, downsampling=(1, 10), random_state=0).fit_predict(X)
    error = clustering_error(y, labels)
    k_means = clustering_error(y, KMeans(40, n_init=3, random_state=0).fit(X).labels_)
    print(f"ORL: {error:.3f}; k-means {k_means:.3f}")
    assert error < k_means
    assert max(sizes, default=0) < 1100**2  # no dense array of 10304 x 10304, nor near it
