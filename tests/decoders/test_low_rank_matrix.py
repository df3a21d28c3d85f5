"""LowRankMatrix: indexing and products of a matrix held by its factors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from graphlowrank.decoders import LowRankMatrix


@pytest.fixture(params=["plain", "in units"])
def matrix(rng, request):
    left, right = np.linalg.qr(rng.standard_normal((9, 3)))[0], np.linalg.qr(rng.standard_normal((7, 3)))[0]
    M = LowRankMatrix(left, np.array([3.0, 2.0, 1.0]), right, rng.standard_normal(7))
    return M if request.param == "plain" else M.measured_in(np.arange(1.0, 8.0), np.ones(7))


def test_units_multiply_features_and_leave_the_factors(matrix, rng):
    units, shift = rng.uniform(1, 5, 7), rng.standard_normal(7)
    measured = matrix.measured_in(units, shift)
    assert_allclose(measured.to_array(), matrix.to_array() * units + shift)
    assert measured.right is matrix.right
    assert_allclose(measured.rescaled(2.0, 1.0).to_array(), 2 * measured.to_array() + 1)


MASK = np.array([True, False] * 4 + [True])

INDICES = [
    (0,), 3, -1, slice(2, 5), [1, 4, 4], MASK, (slice(None), 2), (3, 2), (slice(1, 4), [0, 6]), ([1, 2], [3, 4]),
    np.ix_([1, 5, 8], [0, 3]), (MASK, slice(0, 2)), (4, slice(None)), ([0, 8], 1), (slice(None, None, -2), slice(3)),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing_is_numpys(matrix, index):
    expected = matrix.to_array()[index]
    found = matrix[index]
    assert np.shape(found) == np.shape(expected)
    assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    "index", [None, Ellipsis, (0, None), (1, 2, 3), (0, [[1, 2], [3, 4]]), ([[0, 1]], slice(None))], ids=str
)
def test_other_indices_are_refused(matrix, index):
    with pytest.raises(IndexError, match="index a LowRankMatrix by"):
        matrix[index]


def test_products_without_decoding(matrix, rng):
    A, B, b = rng.standard_normal((4, 9)), rng.standard_normal((7, 5)), rng.standard_normal(7)
    full = matrix.to_array()
    assert_allclose(matrix @ B, full @ B)
    assert_allclose(matrix @ b, full @ b)
    assert_allclose(A @ matrix, A @ full)
    a = rng.standard_normal(9)
    assert_allclose(a @ matrix, a @ full)
    with pytest.raises(ValueError, match="a vector or a matrix"):
        matrix @ np.ones((2, 7, 3))
    assert_allclose(np.asarray(matrix), full)
    assert_allclose(full + 1 - matrix, np.ones((9, 7)))
    assert_allclose(matrix - full, np.zeros((9, 7)), atol=1e-12)
    assert len(matrix) == 9
    assert matrix.ndim == 2


def test_a_slice_decodes_only_what_is_asked(rng):
    # 200000 x 200000 entries would be 320 GB.
    left = rng.standard_normal((200_000, 2))
    M = LowRankMatrix(left, np.ones(2), left, np.zeros(200_000))
    assert M[5:8, [1, 199_999]].shape == (3, 2)
    assert (M @ np.ones(200_000)).shape == (200_000,)
