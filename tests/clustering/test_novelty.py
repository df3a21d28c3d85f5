"""Distances of samples to the clusters of a model."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from graphlowrank.clustering.novelty import center_distances, typical_distances
from graphlowrank.preprocessing.sparse import ShiftedSparse


def test_typical_distances_are_medians_of_distances_to_other_samples():
    X = np.array([[0.0], [1], [2], [10], [14], [18], [30], [30], [30]])
    found = typical_distances(X, np.repeat([0, 1, 3], 3), 4, 2)
    assert_allclose(found, [1.5, 6, 1.5, 1.5])  # the median of all for no samples, and for copies


@pytest.mark.parametrize("unit", [1.0, 1e-170, 1e150])
def test_distances_to_centers_are_those_of_observed_entries_in_any_unit(unit):
    rows = np.array([[3.0, 4], [0, 0], [1, 0], [3, np.nan]]) * unit
    centers, labels = np.array([[0.0, 0], [1, 0]]) * unit, np.array([0, 1, 1, 0])
    assert_allclose(center_distances(rows, labels, centers) / unit, [12.5**0.5, 0.5**0.5, 0, 3])


def test_distances_of_sparse_samples_are_those_of_dense_ones(rng):
    X, centers, labels = rng.poisson(0.5, (20, 6)).astype(np.float64), rng.random((3, 6)), rng.integers(0, 3, 20)
    found = center_distances(ShiftedSparse(sp.csr_array(X)), labels, centers)
    assert_allclose(found, center_distances(X, labels, centers))
    assert_allclose(found, np.linalg.norm(X - centers[labels], axis=1) / 6**0.5)
