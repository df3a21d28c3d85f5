"""The symmetric graph of neighbor lists beside scipy's maximum of the matrix and its transpose."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from graphlowrank._threads import limit_threads
from graphlowrank.graphs.knn import symmetrized


def neighbor_lists(n, k, seed, dtype):
    rng = np.random.RandomState(seed)
    lists = np.array([rng.choice(np.delete(np.arange(n), row), k, replace=False) for row in range(n)])
    return rng.uniform(0.1, 1, (n, k)).astype(dtype), lists


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 40), k=st.integers(1, 8), seed=st.integers(0, 99), dtype=st.sampled_from([np.float32, np.float64]),
    n_jobs=st.integers(1, 5),
)  # fmt: skip
def test_merged_lists_are_the_maximum_with_the_transpose(n, k, seed, dtype, n_jobs):
    values, lists = neighbor_lists(n, min(k, n - 1), seed, dtype)
    expected = symmetrized(values, lists)  # of scipy, for small graphs
    expected.sort_indices()
    with limit_threads(n_jobs):
        found = symmetrized(values, lists, compiled_above=0)
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))
        assert getattr(found, part).dtype == getattr(expected, part).dtype
