import numpy as np
import pytest
from numpy.testing import assert_allclose

from graphlowrank.linalg.products import spmm
from helpers import random_graph


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_product_agrees_with_scipy(dtype, rng):
    L = random_graph(50, seed=2).laplacian().astype(dtype)
    X = rng.standard_normal((50, 13)).astype(dtype)
    plain = L @ X
    assert_allclose(spmm(L, X, compiled_above=0), plain, atol=100 * np.finfo(dtype).eps * np.abs(plain).max())
