"""Graph upsampling: Lemma 1, by dense algebra and by the maximum principle."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from graphlowrank.decoders import upsample
from graphlowrank.graphs import Graph, knn_graph, path_graph
from graphlowrank.sampling import draw
from helpers import dense_upsample, disjoint, random_graph


@given(
    seed=st.integers(0, 5000), n=st.integers(2, 20), m=st.integers(1, 10), k=st.integers(1, 4), parts=st.integers(1, 3)
)
@settings(max_examples=50, deadline=None)
def test_upsampling_is_lemma_1(seed, n, m, k, parts):
    graph = disjoint(*(random_graph(n, seed=seed + part, spread=1.0) for part in range(parts)))
    keep = draw(graph, min(m, graph.n_nodes), random_state=seed)
    values = np.random.default_rng(seed).standard_normal((len(keep), k))
    S = upsample(graph, keep, values, tol=1e-12).X
    assert_allclose(S, dense_upsample(graph, keep, values), atol=1e-7)
    # Maximum principle: an interpolated value never leaves the range of the known ones.
    assert np.all(values.max(axis=0) + 1e-7 >= S)
    assert np.all(values.min(axis=0) - 1e-7 <= S)


def test_all_nodes_kept_is_the_identity(rng):
    values = rng.standard_normal((9, 2))
    assert_array_equal(upsample(random_graph(9), np.arange(9), values).X, values)


def test_constants_stay_constant_in_each_component():
    graph = disjoint(random_graph(6), random_graph(5, seed=1), Graph(sp.csr_array((1, 1))))
    S = upsample(graph, np.array([2, 7, 11]), np.array([[1.0], [2.0], [3.0]])).X.ravel()
    assert_allclose(S, graph.components + 1.0, atol=1e-6)


def test_nodes_with_faint_edges_are_solved_too(rng):
    # Eight close points far from the rest, none of them kept: tied to each other by 1 and to the others by 1e-4.
    X = np.vstack([rng.standard_normal((300, 3)), 1e3 + 1e-3 * rng.standard_normal((8, 3))])
    graph = knn_graph(X, 10)
    keep = np.arange(0, 300, 3)
    values = rng.standard_normal((len(keep), 2)) + 3
    assert_allclose(upsample(graph, keep, values).X, dense_upsample(graph, keep, values), atol=1e-2)


def test_upsampling_keeps_float32(rng):
    graph = random_graph(20, spread=0.5)
    keep = np.arange(0, 20, 3)
    assert upsample(graph, keep, rng.standard_normal((7, 2)).astype(np.float32)).X.dtype == np.float32


def test_a_component_without_a_kept_node_is_refused():
    with pytest.raises(ValueError, match="without a kept node"):
        upsample(disjoint(path_graph(3), path_graph(3)), np.array([0]), np.ones((1, 1)))


def test_unfinished_decoding_warns():
    with pytest.warns(ConvergenceWarning, match="Decoding did not converge"):
        upsample(path_graph(300), np.array([0, 299]), np.array([[0.0], [1.0]]), max_iter=3)
