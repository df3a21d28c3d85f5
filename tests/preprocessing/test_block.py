"""The sampled block, and products with the scaled data."""

import numpy as np
from numpy.testing import assert_allclose

from graphlowrank.preprocessing.block import ScaledData
from helpers import shifted_sparse


def test_products_with_scaled_sparse_data():
    X, rng = shifted_sparse(0), np.random.default_rng(0)
    sparse, dense = (ScaledData(one, np.arange(9.0), 2.0) for one in (X, X.to_array()))
    A, B = rng.random((2, 12)), rng.random((9, 2))
    assert_allclose(sparse @ B, dense @ B)
    assert_allclose(A @ sparse, A @ dense)
    for rows, columns in ((slice(2, 7), np.array([1, 5])), (np.array([3, 0]), slice(None))):
        assert_allclose(sparse.block(rows, columns), dense.block(rows, columns))


def test_scaled_data_multiply_like_the_matrix_they_represent(rng):
    X, shift = rng.standard_normal((9, 5)), rng.standard_normal(5)
    view, full = ScaledData(X, shift, 2.5), (X - shift) / 2.5
    A, B = rng.standard_normal((3, 9)), rng.standard_normal((5, 2))
    assert_allclose(view @ B, full @ B)
    assert_allclose(A @ view, A @ full)
