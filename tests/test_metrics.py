import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphlowrank.metrics import clustering_error, recovery_error


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
