"""Nearest training rows to new rows by cells, beside all pairs."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank._threads import limit_threads
from graphlowrank.graphs.cell_index import EXACT_POINTS, CellIndex
from graphlowrank.graphs.search import nearest_to


def clusters(n, p, dtype=np.float32, latent=6, seed=0):
    rng = np.random.default_rng(0)
    centers, directions = 4 * rng.standard_normal((30, latent)), rng.standard_normal((latent, p))
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n, latent)) + centers[rng.integers(0, 30, n)]
    return (hidden @ directions + 0.05 * rng.standard_normal((n, p))).astype(dtype)


def draw(data, n, seed):
    rng = np.random.default_rng(seed)
    if data == "uniform":
        return rng.random((n, 8)).astype(np.float32)
    if data == "lattice":  # many copies, and many equal distances
        return rng.integers(0, 3, (n, 7)).astype(np.float32)
    if data == "offset":
        return clusters(n, 10, seed=seed) + np.float32(1e3)
    return clusters(n, 150 if data == "projected" else 11, np.float64 if data == "float64" else np.float32, seed=seed)


DATA = ["clusters", "uniform", "lattice", "offset", "projected", "float64"]


@pytest.mark.parametrize("data", DATA)
def test_recall_against_all_pairs(data):
    X, rows = draw(data, 9000, 1), draw(data, 1500, 2)
    index = CellIndex.build(X, 10, random_state=0)
    assert index.points is not None
    distances, indices = index.query(rows, 10)
    true_distances, truth = nearest_to(rows, X, 10)
    assert distances.dtype == X.dtype
    assert indices.dtype == np.int64
    tolerance = 1e-5 * np.abs(X).max()
    assert np.mean(distances <= true_distances + tolerance) >= 0.98  # ties may go to others
    differences = X[indices].astype(float) - rows[:, None]
    assert_allclose(distances, np.linalg.norm(differences, axis=2), rtol=1e-5, atol=tolerance)
    assert not np.any(np.diff(np.sort(indices, axis=1), axis=1) == 0)
    assert np.all(np.diff(distances, axis=1) >= 0)
    if data != "lattice":
        assert np.mean([len(np.intersect1d(a, b)) for a, b in zip(truth, indices, strict=True)]) / 10 >= 0.98


@pytest.mark.parametrize("data", DATA)
def test_the_answer_for_a_row_does_not_depend_on_the_others(data):
    X, rows = draw(data, 6000, 1), draw(data, 700, 2)
    index = CellIndex.build(X, 5, random_state=0)
    expected = index.query(rows, 5)
    for some in (1, 7, 333):
        parts = [index.query(rows[start : start + some], 5) for start in range(0, 700, some)][: 200 // some + 1]
        for of_parts, whole in zip(zip(*parts, strict=True), expected, strict=True):
            joined = np.concatenate(of_parts)
            assert_array_equal(joined, whole[: len(joined)])
    for n_jobs in (1, 3):
        with limit_threads(n_jobs):
            assert_array_equal(index.query(rows, 5)[1], expected[1])
            again = CellIndex.build(X, 5, random_state=0)
        assert_array_equal(again.query(rows, 5)[0], expected[0])


def test_equal_training_rows_are_chosen_by_number():
    X = np.repeat(draw("clusters", 1500, 1), 5, axis=0)
    indices = CellIndex.build(X, 5, random_state=0).query(X[::5], 5)[1]
    assert_array_equal(indices, np.arange(len(X)).reshape(-1, 5))


def test_few_points_are_compared_with_all():
    X, rows = clusters(EXACT_POINTS, 5, np.float64), clusters(100, 5, np.float64, seed=3)
    index = CellIndex.build(X, 4)
    assert index.points is None
    for ours, exact in zip(index.query(rows, 4), nearest_to(rows, X, 4), strict=True):
        assert_array_equal(ours, exact)
    assert CellIndex.build(X[:1], 1).query(rows, 1)[1].max() == 0


@pytest.mark.parametrize("data", ["clusters", "float64"])
def test_more_neighbors_than_the_index_is_tuned_for(data):
    X, rows = draw(data, 800, 1), draw(data, 60, 2)
    index = CellIndex.build(X, 3, random_state=0, exact_up_to=0)
    for k in (4, 200, 800):  # the cells around a row hold fewer
        distances, indices = index.query(rows, k)
        assert np.all(np.diff(np.sort(indices, axis=1), axis=1) > 0)
        assert np.mean(distances <= nearest_to(rows, X, k)[0] * (1 + 1e-5)) >= 0.98
    with pytest.raises(ValueError, match="n_neighbors=801 must be between 1 and the 800 rows"):
        index.query(rows, 801)


def test_identical_training_rows():
    index = CellIndex.build(np.ones((5000, 3)), 4, random_state=0)
    distances, indices = index.query(np.array([[1.0, 1, 1], [3, 1, 1]]), 4)
    assert_array_equal(distances, [[0] * 4, [2] * 4])
    assert all(len(set(row)) == 4 for row in indices.tolist())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_units_and_far_rows(dtype):
    X, rows = clusters(5000, 6, dtype), clusters(50, 6, dtype, seed=2)
    expected = CellIndex.build(X, 5, random_state=0).query(rows, 5)
    for unit in (dtype(1e-30), dtype(1e30)):
        distances, indices = CellIndex.build(X * unit, 5, random_state=0).query(rows * unit, 5)
        assert np.mean(indices == expected[1]) > 0.98
        assert_allclose(distances[:, 0] / unit, expected[0][:, 0], rtol=1e-3)
    far = np.full((3, 6), 1e18, dtype)
    distances = CellIndex.build(X, 5, random_state=0).query(far, 5)[0]
    assert_allclose(distances, np.linalg.norm(far.astype(float), axis=1)[:, None] * np.ones(5), rtol=1e-4)


def test_an_index_can_be_pickled():
    X, rows = clusters(5000, 6), clusters(50, 6, seed=2)
    index = CellIndex.build(X, 5, random_state=0)
    copy = pickle.loads(pickle.dumps(index))
    for ours, of_copy in zip(index.query(rows, 5), copy.query(rows, 5), strict=True):
        assert_array_equal(ours, of_copy)
    assert copy.query(rows[:0], 5)[0].shape == (0, 5)
