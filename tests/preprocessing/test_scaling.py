"""Standardized samples and features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank.preprocessing.scaling import Scaling, standardize
from graphlowrank.preprocessing.sparse import as_shifted_sparse
from helpers import sparse_counts


@pytest.mark.parametrize("kind", ["samples", "features"])
def test_scaled_data_have_zero_mean_and_unit_standard_deviation(kind, rng):
    X = rng.standard_normal((50, 30)) * rng.random(30) + 5
    X[7] = -1.0
    if kind == "features":
        X[:, 3] = 2.0
    axis = 1 if kind == "samples" else 0
    before = X.copy()
    scaled = Scaling.fit(X, kind).apply(X)
    assert_array_equal(X, before)
    expected = standardize(X, axis)
    assert_allclose(scaled, expected, atol=1e-12)
    std = scaled.std(axis=axis)
    assert_allclose(std[std > 0], 1)
    assert np.sum(std == 0) == 1
    assert Scaling.fit(X.astype(np.float32), kind).apply(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_counts_are_logarithms_of_unit_length(dtype):
    values, _ = sparse_counts(dtype=dtype)
    X = values.toarray()
    X[7] = 0
    totals = X.sum(axis=1, keepdims=True)
    logs = np.log1p(X * np.median(totals[totals > 0]) / np.where(totals > 0, totals, 1))
    expected = logs / np.maximum(np.linalg.norm(logs, axis=1, keepdims=True), 1e-9)
    scaling = Scaling.fit(X, "counts")
    scaling.check()
    sparse = as_shifted_sparse(X)
    assert Scaling.fit(sparse, "counts").total == scaling.total
    for scaled in (scaling.apply(X), scaling.apply(sparse).to_array()):
        assert_allclose(scaled, expected, atol=1e-6)
        assert scaled.dtype == dtype
    assert_allclose(scaling.apply(X[20:30]), expected[20:30], atol=1e-6)  # by the total of the training samples
    X[3, 4] = np.nan
    assert_array_equal(np.argwhere(np.isnan(scaling.apply(X))), [[3, 4]])
    with pytest.raises(ValueError, match="negative values, which are not counts"):
        scaling.apply(-X)


@pytest.mark.parametrize("total", [None, 0.0, np.nan, np.inf])
def test_a_total_must_be_positive(total):
    with pytest.raises(ValueError, match="positive total"):
        Scaling("counts", total=total).check()
