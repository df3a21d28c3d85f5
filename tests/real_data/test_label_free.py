"""The default call on real data: no label is seen before it is scored."""

import numpy as np
import pytest

from graphlowrank import CompressiveClustering
from graphlowrank.metrics import clustering_error
from graphlowrank_benchmarks.datasets import load_mnist, load_orl, load_pie, load_usps, load_yale

pytestmark = pytest.mark.real_data


def fitted(X, y):
    model = CompressiveClustering(len(np.unique(y)), random_state=0).fit(X)
    return model, clustering_error(y, model.labels_)


def test_usps():
    model, error = fitted(*load_usps())
    assert error <= 0.22
    assert model.scaling_ == "samples"


def test_mnist_of_70000():
    assert fitted(*load_mnist())[1] <= 0.24


@pytest.mark.parametrize(
    ("load", "scaling", "most"),
    [
        (lambda: load_pie(subset="paper"), "samples", 0.3),  # k-means 0.74
        (lambda: load_orl(shape=(56, 46)), "none", 0.3),  # k-means 0.35
        (load_yale, "features", 0.53),  # k-means 0.55
    ],
    ids=["pie", "orl", "yale"],
)
def test_faces(load, scaling, most):
    model, error = fitted(*load())
    assert model.scaling_ == scaling
    assert error <= most
