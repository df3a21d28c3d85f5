"""Measurement operators: entries, Gaussian projections, Fourier samples, and their validation."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator
from tomography_helpers import (
    dense,
    seeds,
    shapes,
    some_mask,
)

from graphlowrank.tomography.operators import (
    as_operator,
    check_adjoint,
    entry_sampling,
    fourier_sampling,
    gaussian_projections,
    radial_mask,
    row_subset,
)
from graphlowrank.tomography.projection import covering_detectors, projection_matrix

# ---- every operator has its own transpose


def all_operators(shape, rng):
    mask = some_mask(shape, rng)
    return {
        "projections": projection_matrix(shape, rng.uniform(0, 180, 3)),
        "entries": entry_sampling(mask),
        "gaussian": gaussian_projections(shape, 5, random_state=0),
        "fourier": fourier_sampling(shape, mask),
    }


@settings(max_examples=40, deadline=None)
@given(shape=shapes, seed=seeds)
def test_adjoint(shape, seed):
    rng = np.random.default_rng(seed)
    for name, A in all_operators(shape, rng).items():
        keep = rng.permutation(A.shape[0])[: rng.integers(1, A.shape[0] + 1)]
        for given_operator in (A, row_subset(A, keep)):
            operator = as_operator(given_operator, shape)
            x, y = rng.normal(size=operator.shape[1]), rng.normal(size=operator.shape[0])
            left, right = np.dot(operator.matvec(x), y), np.dot(x, operator.rmatvec(y))
            assert abs(left - right) <= 1e-12 * (1 + np.linalg.norm(x) * np.linalg.norm(y)), name


@settings(max_examples=20, deadline=None)
@given(shape=shapes, seed=seeds)
def test_linear(shape, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, shape[0] * shape[1]))
    for A in all_operators(shape, rng).values():
        np.testing.assert_allclose(A @ (2 * x - 3 * y), 2 * (A @ x) - 3 * (A @ y), atol=1e-11)


# ---- other measurements


@settings(max_examples=20, deadline=None)
@given(shape=shapes, seed=seeds)
def test_entries_are_read_row_by_row(shape, seed):
    rng = np.random.default_rng(seed)
    image, mask = rng.normal(size=shape), some_mask(shape, rng)
    A = entry_sampling(mask)
    assert isinstance(A, sp.csr_array)
    np.testing.assert_array_equal(A @ image.ravel(), image[mask])
    np.testing.assert_array_equal(A.toarray(), np.eye(image.size)[mask.ravel()])
    np.testing.assert_array_equal(A.toarray(), entry_sampling(mask.astype(int)).toarray())


def test_gaussian_projections():
    A = gaussian_projections((20, 30), 400, random_state=3)
    assert A.shape == (400, 600)
    assert A.dtype == np.float64
    # Means of n entries scatter by 1 / sqrt(n), their variances by sqrt(2 / n): six deviations.
    assert abs(A.mean() * 20) < 6 / np.sqrt(A.size)
    assert abs(A.var() * 400 - 1) < 6 * np.sqrt(2 / A.size)
    np.testing.assert_array_equal(A, gaussian_projections((20, 30), 400, random_state=3))
    assert not np.array_equal(A, gaussian_projections((20, 30), 400, random_state=4))


@settings(max_examples=20, deadline=None)
@given(shape=shapes, seed=seeds)
def test_fourier_is_the_transform_at_the_mask(shape, seed):
    rng = np.random.default_rng(seed)
    image, mask = rng.normal(size=shape), some_mask(shape, rng)
    A = fourier_sampling(shape, mask)
    kept = np.fft.fft2(image, norm="ortho")[mask]
    np.testing.assert_allclose(A @ image.ravel(), np.concatenate([kept.real, kept.imag]), atol=1e-12)
    np.testing.assert_allclose(A.rmatvec(np.eye(A.shape[0])[0]), dense(A)[0], atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(shape=shapes, seed=seeds)
def test_rows_of_frequencies_without_their_mirrors_are_orthogonal(shape, seed):
    rng = np.random.default_rng(seed)
    rows, columns = np.indices(shape)
    mirror = (-rows % shape[0]) * shape[1] + (-columns % shape[1])
    own = rows * shape[1] + columns
    mask = some_mask(shape, rng) | some_mask(shape, rng)[-rows % shape[0], -columns % shape[1]]
    mask &= own <= mirror  # one of two
    mask[0, 0] = True
    A = dense(fourier_sampling(shape, mask))
    # A frequency that is its own mirror has a real value; the others share their length between two parts.
    alone = (own == mirror)[mask]
    lengths = np.concatenate([np.where(alone, 1, 0.5), np.where(alone, 0, 0.5)])
    np.testing.assert_allclose(A @ A.T, np.diag(lengths), atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(shape=shapes, lines=st.integers(1, 5))
def test_star_keeps_mirrors_so_the_fourier_operator_is_half_an_isometry(shape, lines):
    mask = radial_mask(shape, lines)
    rows, columns = np.indices(shape)
    np.testing.assert_array_equal(mask, mask[-rows % shape[0], -columns % shape[1]])
    A = dense(fourier_sampling(shape, mask))
    onto = A.T @ A
    np.testing.assert_allclose(onto @ onto, onto, atol=1e-12)  # a projection
    assert np.isclose(np.trace(onto), mask.sum())


@settings(max_examples=10, deadline=None)
@given(shape=shapes, seed=seeds)
def test_all_frequencies_give_the_image_back(shape, seed):
    image = np.random.default_rng(seed).normal(size=shape)
    A = fourier_sampling(shape, np.ones(shape, dtype=bool))
    np.testing.assert_allclose(A.rmatvec(A @ image.ravel()), image.ravel(), atol=1e-12)


def test_fourier_keeps_single_precision():
    A = fourier_sampling((8, 8), radial_mask((8, 8), 3))
    values = A @ np.ones(64, dtype=np.float32)
    assert values.dtype == np.float32
    assert A.rmatvec(values).dtype == np.float32


def test_star_has_lines_without_gaps():
    mask = radial_mask((64, 48), 1)
    np.testing.assert_array_equal(mask, np.arange(64)[:, None] == np.zeros((1, 48)))  # one row: no vertical frequency
    cross = radial_mask((64, 48), 2)
    assert cross[0].all()
    assert cross[:, 0].all()
    assert cross.sum() == 64 + 48 - 1
    star = np.fft.fftshift(radial_mask((65, 65), 7))
    for distance in range(3, 33):  # each square ring around the mean is crossed by each line twice
        ring = star[32 - distance : 33 + distance, 32 - distance : 33 + distance].copy()
        ring[1:-1, 1:-1] = False
        assert ring.sum() == 14
    np.testing.assert_array_equal(np.fft.fftshift(radial_mask((33, 65), 7)), star[16:49])  # lines end at the border
    np.testing.assert_array_equal(np.fft.fftshift(radial_mask((65, 33), 7)), star[:, 16:49])
    assert 0.08 < radial_mask((256, 256), 22).mean() < 0.09  # 22 lines of 256, a few of whose points coincide


# ---- some of the measurements


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_array, sp.lil_array, sp.csr_matrix, LinearOperator])
@pytest.mark.parametrize("by_number", [False, True])
def test_some_rows_are_rows_of_the_matrix(kind, by_number):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(10, 6)) * (rng.random((10, 6)) < 0.5)
    wrapped = {"matvec": lambda x: matrix @ x, "rmatvec": lambda y: matrix.T @ y, "dtype": float}
    A = LinearOperator(matrix.shape, **wrapped) if kind is LinearOperator else kind(matrix)
    keep = np.array([7, 0, 3]) if by_number else rng.random(10) < 0.5
    restricted = row_subset(A, keep)
    if kind is not LinearOperator:
        assert sp.issparse(restricted) == sp.issparse(A)
    operator = as_operator(restricted, (2, 3))
    np.testing.assert_allclose(dense(operator), matrix[keep], atol=1e-15)
    np.testing.assert_allclose(operator.rmatmat(np.eye(operator.shape[0])), matrix[keep].T, atol=1e-15)


def test_kept_rows_of_a_fourier_operator_in_single_precision():
    A = row_subset(fourier_sampling((4, 4), np.ones((4, 4))), np.arange(5))
    assert A.rmatvec(np.ones(5, dtype=np.float32)).dtype == np.float32


# ---- what a user gave


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.float16, np.float32, np.float64])
def test_numbers_of_any_kind_are_floats(dtype):
    matrix = np.array([[1, 0, 1, 1], [0, 1, 0, 1]], dtype=dtype)
    for A in (matrix, sp.csr_array(matrix if dtype != np.float16 else matrix.astype(float)), matrix.tolist()):
        operator = as_operator(A, (2, 2))
        assert operator.dtype in (np.float32, np.float64)
        np.testing.assert_array_equal(operator.matvec([1, 2, 3, 4]), [8, 6])
        np.testing.assert_array_equal(operator.rmatvec([1, 10]), [1, 10, 1, 11])
    assert as_operator(matrix, (2, 2)).dtype == (np.float32 if dtype is np.float32 else np.float64)


def operator_of(matvec, rmatvec=None, shape=(4, 4), dtype=float):
    return LinearOperator(shape, matvec=matvec, rmatvec=rmatvec, dtype=dtype)


class OnlyForward(LinearOperator):
    def __init__(self):
        super().__init__(np.float64, (4, 4))

    def _matvec(self, x):
        return x


class Duck:
    """Looks like an operator, and inherits nothing."""

    shape = (4, 4)
    dtype = np.dtype(np.float32)

    def matvec(self, x):
        return 2 * x

    def rmatvec(self, y):
        return 2 * y


def test_operators_of_other_libraries():
    operator = as_operator(Duck(), (2, 2))
    np.testing.assert_array_equal(operator.matvec(np.ones(4)), 2 * np.ones(4))
    np.testing.assert_array_equal(row_subset(Duck(), [1]).rmatvec(np.ones(1)), [0, 2, 0, 0])


def test_adjoint_need_not_be_exact_to_the_last_digit():
    A = gaussian_projections((30, 30), 200, random_state=0).astype(np.float32)
    check_adjoint(operator_of(lambda x: A @ x, lambda y: A.T @ y, A.shape, np.float32))
    check_adjoint(operator_of(lambda x: A @ x.astype(np.float32), lambda y: A.T @ y.astype(np.float32), A.shape))
    check_adjoint(operator_of(lambda _: np.zeros(4), lambda _: np.zeros(4)))
    # Scipy guesses this type where none was given; vectors of bytes would overflow.
    check_adjoint(operator_of(lambda x: 100 * x, lambda y: 100 * y, (30, 30), np.int8))


SHIFT = np.roll(np.eye(4), 1, axis=0)


@pytest.mark.parametrize(
    ("A", "message"),
    [
        (operator_of(lambda x: x), "no adjoint: a LinearOperator needs rmatvec"),
        (OnlyForward(), "no adjoint: a LinearOperator needs rmatvec"),
        (row_subset(operator_of(lambda x: x), [0, 1]), "no adjoint: a LinearOperator needs rmatvec"),
        (operator_of(lambda x: SHIFT @ x, lambda y: SHIFT @ y), "rmatvec is not the transpose of matvec"),
        (operator_of(lambda x: x, lambda y: 1.001 * y), "rmatvec is not the transpose of matvec"),
        (operator_of(lambda x: 1e6 * x, lambda y: 1.001e6 * y), "rmatvec is not the transpose of matvec"),
        (operator_of(lambda x: 1e-6 * x, lambda y: 1.001e-6 * y), "rmatvec is not the transpose of matvec"),
        (operator_of(lambda x: x, lambda y: -y), "rmatvec is not the transpose of matvec"),
        (operator_of(lambda x: 0 * x, lambda y: y), "rmatvec is not the transpose of matvec"),
        (operator_of(lambda x: x + np.nan, lambda y: y), "finite values"),
        (operator_of(lambda x: x, lambda y: y + np.inf), "finite values"),
        (operator_of(lambda x: x + 1j, lambda y: y), "must be real"),
        (operator_of(lambda x: x, lambda y: y, dtype=complex), "must be real"),
        (np.eye(4) * 1j, "must be real"),
        (np.full((2, 4), np.nan), "finite entries"),
        (sp.csr_array(np.full((2, 4), np.inf)), "finite entries"),
        (np.ones((3, 5)), "an image of 2 x 2 pixels needs an operator of 4 columns, got 5"),
        (sp.eye_array(3), "needs an operator of 4 columns, got 3"),
        (np.ones((0, 4)), "no rows"),
        (np.ones(4), "a matrix or a LinearOperator, got 1 dimensions"),
        (np.full((1, 4), "a"), "must hold numbers"),
        (None, "a matrix or a LinearOperator, got 0 dimensions"),
    ],
)
def test_operators_that_are_none(A, message):
    with pytest.raises(ValueError, match=message):
        as_operator(A, (2, 2))


@pytest.mark.parametrize("shape", [(3,), (3, 3, 3), (0, 3), (3, -1), (2.0, 3), (2, np.nan), None, 4, "ab", ()])
def test_shapes_that_are_none(shape):
    calls = [
        lambda: projection_matrix(shape, [0]), lambda: gaussian_projections(shape, 3), lambda: radial_mask(shape, 3),
        lambda: fourier_sampling(shape, [[True]]), lambda: as_operator(np.eye(4), shape),
        lambda: covering_detectors(shape),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(ValueError, match=r"must be \(height, width\), both positive whole numbers"):
            call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: projection_matrix((3, 3), []), "at least one angle"),
        (lambda: projection_matrix((3, 3), 45), "a list of at least one angle"),
        (lambda: projection_matrix((3, 3), [[0, 1]]), "a list of at least one angle"),
        (lambda: projection_matrix((3, 3), [0, np.nan]), "angles_in_degrees must be finite"),
        (lambda: projection_matrix((3, 3), [np.inf]), "angles_in_degrees must be finite"),
        (lambda: projection_matrix((3, 3), [0], n_detectors=0), "n_detectors must be a positive integer; got 0"),
        (lambda: projection_matrix((3, 3), [0], n_detectors=2.5), "n_detectors must be a positive integer"),
        (lambda: projection_matrix((3, 3), [0], dtype=int), "dtype must be float64 or float32"),
        (lambda: projection_matrix((3, 3), [0], dtype=np.float16), "dtype must be float64 or float32"),
        (lambda: gaussian_projections((3, 3), 0), "n_measurements must be a positive integer"),
        (lambda: gaussian_projections((3, 3), 2.0), "n_measurements must be a positive integer"),
        (lambda: gaussian_projections((1000, 1000), 101), r"101,000,000 entries, more than 100,000,000"),
        (lambda: radial_mask((3, 3), 0), "n_lines must be a positive integer"),
        (lambda: entry_sampling(np.zeros((2, 2), dtype=bool)), "False everywhere"),
        (lambda: entry_sampling([True]), "height, width"),
        (lambda: entry_sampling(np.zeros((0, 2), dtype=bool)), "height, width"),
        (lambda: entry_sampling([[0, 2]]), "True and False"),
        (lambda: entry_sampling([[1, np.nan]]), "True and False"),
        (lambda: fourier_sampling((2, 2), np.ones((2, 3))), r"the image's shape \(2, 2\), got \(2, 3\)"),
        (lambda: fourier_sampling((2, 2), np.zeros((2, 2))), "False everywhere"),
        (lambda: row_subset(np.eye(3), [True, False]), "keep given as a mask must have length 3"),
        (lambda: row_subset(np.eye(2), [False, False]), "keep must be a non-empty"),
        (lambda: row_subset(np.eye(2), []), "keep must be a non-empty"),
        (lambda: row_subset(np.eye(2), [[True], [False]]), "keep given as a mask must have length 2"),
        (lambda: row_subset(np.eye(2), [0.0]), "array of whole numbers"),
        (lambda: row_subset(np.eye(2), [0, 2]), "between 0 and 1, got 0 to 2"),
        (lambda: row_subset(np.eye(2), [-1]), "between 0 and 1"),
        (lambda: row_subset(np.eye(2), [1, 1]), "holds a number twice"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
