import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphlowrank.metrics import clustering_error, modularity, recovery_error


@given(pairs=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12))
@settings(max_examples=80, deadline=None)
def test_clustering_error_is_the_best_relabelling(pairs):
    truth, found = (np.array(side) for side in zip(*pairs, strict=True))
    best = min(np.mean(np.array(names)[found] != truth) for names in itertools.permutations(range(4)))
    assert clustering_error(truth, found) == pytest.approx(best)


def test_more_clusters_than_classes_and_any_names():
    assert clustering_error(["a", "a", "b", "b"], [7, 8, 9, 9]) == 0.25


def test_recovery_error_checks_shapes():
    with pytest.raises(ValueError, match="shapes differ"):
        recovery_error(np.ones((2, 2)), np.ones((2, 3)))


def test_modularity_is_the_double_sum():
    rng = np.random.default_rng(0)
    W = rng.random((9, 9))
    W = np.triu(W, 1) + np.triu(W, 1).T
    labels = rng.integers(0, 3, 9)
    d, total = W.sum(axis=1), W.sum()
    pairs = [(i, j) for i in range(9) for j in range(9) if labels[i] == labels[j]]
    assert modularity(W, labels) == pytest.approx(sum(W[i, j] - d[i] * d[j] / total for i, j in pairs) / total)
    assert modularity(np.zeros((3, 3)), [0, 1, 2]) == 0
