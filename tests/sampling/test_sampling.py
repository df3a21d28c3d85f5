import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from graphlowrank.graphs import Graph, path_graph
from graphlowrank.sampling import check_indices, draw, sample_nodes
from helpers import disjoint, random_graph


@given(sizes=st.lists(st.integers(1, 8), min_size=1, max_size=6), share=st.floats(0.05, 1), seed=st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_draw_reaches_every_component(sizes, share, seed):
    graph = disjoint(*(random_graph(n, seed=n) if n > 1 else Graph(sp.csr_array((1, 1))) for n in sizes))
    size = max(1, int(share * graph.n_nodes))
    kept = draw(graph, size, random_state=seed)
    assert_array_equal(kept, np.unique(kept))
    assert set(graph.components[kept]) == set(range(graph.n_components))
    assert size <= len(kept) <= size + graph.n_components
    assert_array_equal(kept, draw(graph, size, random_state=seed))


def test_draw_is_uniform():
    graph, counts = path_graph(10), np.zeros(10)
    for seed in range(3000):
        counts[draw(graph, 3, random_state=seed)] += 1
    expected = 900  # binomial(3000, 0.3): standard deviation 25
    assert np.all(np.abs(counts - expected) < 5 * 25)


def test_node_added_to_a_missed_component_is_uniform():
    graph = disjoint(path_graph(50), path_graph(4))
    counts = np.zeros(4)
    for seed in range(2000):
        kept = draw(graph, 1, random_state=seed)
        if kept[0] < 50:  # the draw fell into the long path, so one node of the short one was added
            counts[kept[-1] - 50] += 1
    assert np.all(np.abs(counts / counts.sum() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / counts.sum()))


def test_given_nodes_are_indices_or_masks():
    graph = path_graph(6)
    assert_array_equal(sample_nodes(graph, 6, 3, given=[4, 1]).indices, [1, 4])
    assert_array_equal(sample_nodes(graph, 6, 3, given=np.array([0, 1, 0, 0, 0, 1], bool)).indices, [1, 5])
    assert_array_equal(sample_nodes(graph, 6, 6).indices, np.arange(6))


@pytest.mark.parametrize(
    ("indices", "text"),
    [
        ([], "non-empty"),
        ([[1, 2]], "1-D"),
        ([0.5, 1], "whole numbers"),
        ([0, 6], "between 0 and 5"),
        ([-1, 2], "between 0 and 5"),
        ([2, 2], "twice"),
        (np.ones(4, bool), "length 6"),
    ],
)
def test_bad_indices_are_named(indices, text):
    with pytest.raises(ValueError, match=text):
        check_indices(indices, 6, name="sample_indices")


def test_indices_that_miss_a_component_are_refused():
    with pytest.raises(ValueError, match="without a kept node"):
        sample_nodes(disjoint(path_graph(3), path_graph(2)), 5, 2, given=[0, 1])


@pytest.mark.parametrize("size", [0, 11])
def test_impossible_sizes_are_refused(size):
    with pytest.raises(ValueError, match="between 1 and 10"):
        draw(path_graph(10), size)
