"""The compiled selection of nearest points beside its numpy twin and a sort of all distances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphlowrank._threads import limit_threads
from graphlowrank.graphs.search import nearest_neighbors, nearest_to
from graphlowrank.graphs.search_exact import nearest_points


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 300), m=st.integers(1, 1100), d=st.integers(1, 6), k=st.integers(1, 20), seed=st.integers(0, 99),
    values=st.sampled_from([2, 4, 1000]),
)  # fmt: skip
def test_nearest_points_are_those_of_a_sort(n, m, d, k, seed, values):
    """Small integers: distances are exact, and many are equal."""
    rng = np.random.RandomState(seed)
    queries, points = (rng.randint(values, size=(size, d)).astype(np.float32) for size in (n, m))
    distances = (points**2).sum(axis=1) - 2 * (queries @ points.T)
    expected = np.sort(distances, axis=1)[:, :k]
    for compiled_above in (-1, 10**9):
        found, indices = nearest_points(queries, points, k, compiled_above=compiled_above)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.take_along_axis(distances, indices, axis=1), expected)
        assert all(len(set(row)) == len(row) for row in indices)
    assert indices.dtype == np.int32


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_the_first_of_equal_points_is_chosen_by_the_compiled_loop(n_jobs):
    points = np.repeat(np.eye(3, dtype=np.float32), 700, axis=0)
    with limit_threads(n_jobs):
        indices = nearest_points(points, points, 4, compiled_above=0)[1]
    np.testing.assert_array_equal(indices, np.repeat(np.arange(3) * 700, 700)[:, None] + np.arange(4))


def brute_force(queries, X, k, *, themselves):
    """Indices of the nearest rows by differences in double precision."""
    squared = np.square(queries[:, None, :].astype(np.float64) - X[None, :, :]).sum(axis=2)
    if themselves:
        np.fill_diagonal(squared, np.inf)
    return np.argsort(squared, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("far", [1.0, 1e4, 1e9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_neighbors_are_exact_beside_a_sample_that_is_far_away(far, dtype):
    """Products in single precision lose all differences between the others."""
    X = np.random.default_rng(0).standard_normal((300, 8)).astype(dtype)
    X[7] = far
    if far * np.finfo(dtype).eps > 1:  # the mean of the data itself has lost the others
        return
    indices = nearest_neighbors(X, 6, engine="exact")[1]
    np.testing.assert_array_equal(indices, brute_force(X, X, 6, themselves=True))
    some = X[:50].copy()
    np.testing.assert_array_equal(nearest_to(some, X, 6)[1], brute_force(some, X, 6, themselves=False))


def test_neighbors_of_a_query_do_not_depend_on_the_other_queries():
    """Not even if it has more copies among the points than neighbors are asked for."""
    X = np.where(np.add.outer(np.arange(105), np.arange(27)) % 2, 1.0, -1.0)
    together = nearest_to(X, X, 15)[1]
    for few in (X[:1], X[:3], X[:40]):
        np.testing.assert_array_equal(nearest_to(few, X, 15)[1], together[: len(few)])
    np.testing.assert_array_equal(together[2], together[0])
