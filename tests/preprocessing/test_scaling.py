"""Standardized samples and features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank.preprocessing.scaling import Scaling, standardize


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
