"""Compiled loops against plain twins that take the same steps."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import connected_components, shortest_path

from graphlowrank._threads import map_ranges
from graphlowrank.kernels import cell_search, random_bits, walks
from graphlowrank.kernels.components import breadth_first
from graphlowrank.kernels.products import csr_times_dense, dense_times_csr
from graphlowrank.sampling import draw
from helpers import random_graph

# --- products ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(seed=st.integers(0, 5000), n=st.integers(1, 90), columns=st.integers(1, 40), density=st.floats(0, 1))
@settings(max_examples=30, deadline=None)
def test_products_from_either_side(dtype, seed, n, columns, density):
    A = sp.csr_array(random_graph(n, density, seed, connected=n > 2).weights, dtype=dtype)
    X = np.random.default_rng(seed).standard_normal((n, columns)).astype(dtype)
    size = 100 * np.finfo(dtype).eps * (1 + abs(A).max()) * n
    left, right = np.full_like(X, np.nan), np.full_like(X.T.copy(), np.nan)
    map_ranges(csr_times_dense, n, A.indptr, A.indices, A.data, X, left)
    map_ranges(dense_times_csr, columns, A.indptr, A.indices, A.data, X.T.copy(), right)
    assert_allclose(left, A @ X, atol=size)
    assert_allclose(right, (A @ X).T, atol=size)


# --- components --------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 5000), n=st.integers(1, 60), density=st.floats(0, 0.1))
@settings(max_examples=60, deadline=None)
def test_components_are_those_of_scipy(seed, n, density):
    weights = random_graph(n, density, seed, connected=False).weights
    labels, order = np.empty(n, np.int32), np.empty(n, np.int32)
    breadth_first(weights.indptr, weights.indices, labels, order)
    assert_array_equal(labels, connected_components(weights, directed=False)[1])
    assert_array_equal(np.sort(order), np.arange(n))
    assert (np.diff(labels[order]) >= 0).all()  # one component after the other
    largest = np.bincount(labels).argmax()
    reached = order[labels[order] == largest]
    steps = shortest_path(weights, unweighted=True, indices=reached[0])[reached]
    assert (np.diff(steps) >= 0).all()  # near nodes first


# --- walks -------------------------------------------------------------------------------------------------


def tables(weights):
    slots = np.empty(weights.nnz, dtype=walks.STEP)
    walks.alias_tables(0, weights.shape[0], weights.indptr, weights.indices, weights.data, 1.0, slots)
    return slots


@given(seed=st.integers(0, 5000), n=st.integers(2, 60), spread=st.floats(0, 6))
@settings(max_examples=50, deadline=None)
def test_alias_tables_hold_the_probabilities_of_the_weights(seed, n, spread):
    weights = random_graph(n, 0.5, seed, spread=spread).weights
    slots = tables(weights)
    for node in range(n):
        own = slice(weights.indptr[node], weights.indptr[node + 1])
        degree = own.stop - own.start
        odds = slots["threshold"][own] / 2.0**32
        chance = np.zeros(n)
        np.add.at(chance, slots["own"][own], odds / degree)
        np.add.at(chance, slots["other"][own], (1 - odds) / degree)
        expected = weights[[node]].toarray().ravel()
        assert_allclose(chance, expected / expected.sum(), atol=2.0**-31)
        for end in ("own", "other"):
            assert_allclose(slots[f"{end}_resistance"][own], 1 / expected[slots[end][own]], rtol=1e-6)


def plain_walks(nodes, kept, weights, slots, max_steps, seed, repeat):
    """All walkers in step, in numpy, with the same random numbers."""

    def mix(z):
        z = (z ^ (z >> np.uint64(30))) * random_bits.MIX_1
        z = (z ^ (z >> np.uint64(27))) * random_bits.MIX_2
        return z ^ (z >> np.uint64(31))

    count = np.arange(len(nodes), dtype=np.uint64)
    with np.errstate(over="ignore"):
        state = mix(mix(np.uint64(seed) + random_bits.GOLDEN * np.uint64(repeat + 1)) + random_bits.GOLDEN * count)
        node, path = nodes.copy(), np.zeros(len(nodes))
        for _ in range(max_steps):
            moving = ~kept[node]
            state[moving] += random_bits.GOLDEN
            bits = mix(state)
            degree = np.diff(weights.indptr)[node].astype(np.uint64)
            chosen = slots[weights.indptr[node] + (((bits >> np.uint64(32)) * degree) >> np.uint64(32)).astype(int)]
            own = (bits & np.uint64(2**32 - 1)) < chosen["threshold"]
            path += np.where(moving, np.where(own, chosen["own_resistance"], chosen["other_resistance"]), 0)
            node = np.where(moving, np.where(own, chosen["own"], chosen["other"]), node)
    return np.where(kept[node], node, walks.TRUNCATED), path


@given(seed=st.integers(0, 5000), n=st.integers(4, 60), max_steps=st.sampled_from([1, 3, 40]))
@settings(max_examples=40, deadline=None)
def test_walkers_agree_with_the_plain_twin(seed, n, max_steps):
    graph = random_graph(n, 0.2, seed, spread=0.5)
    kept = np.zeros(n, dtype=bool)
    kept[draw(graph, max(1, n // 5), random_state=seed)] = True
    slots = tables(graph.weights)
    nodes = np.random.default_rng(seed).integers(n, size=3 * n).astype(np.int32)
    hits, paths = np.empty(3 * n, np.int32), np.empty(3 * n, np.float32)
    starts = graph.weights.indptr
    places = np.column_stack([starts[:-1], np.where(kept, 0, np.diff(starts))])
    map_ranges(walks.walk_to_kept, len(nodes), nodes, places, slots, max_steps, seed, 1, hits, paths)
    expected_hits, expected_paths = plain_walks(nodes, kept, graph.weights, slots, max_steps, seed, 1)
    assert_array_equal(hits, expected_hits)
    assert_allclose(paths, expected_paths, rtol=1e-6)


# --- cells -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("queries_to_a_block", [cell_search.QUERIES, None])
@given(seed=st.integers(0, 5000), n=st.integers(1, 120), n_cells=st.integers(1, 12), n_found=st.integers(1, 30))
@settings(max_examples=40, deadline=None)
def test_cell_search_finds_the_nearest_points_of_the_probed_cells(queries_to_a_block, seed, n, n_cells, n_found):
    rng = np.random.default_rng(seed)
    n = n if queries_to_a_block is None else n + 2 * queries_to_a_block  # several blocks
    points = rng.integers(-30, 30, (n, 3)).astype(np.float32)  # products are exact
    cells = np.sort(rng.integers(n_cells, size=n))
    starts = np.searchsorted(cells, np.arange(n_cells + 1))
    others = np.argsort(rng.random((n, n_cells)) - 2 * (cells[:, None] == np.arange(n_cells)), axis=1)  # own cell first
    probes = others[:, : max(1, n_cells // 2)].astype(np.int32)
    centres = rng.integers(-30, 30, (n_cells, 3)).astype(np.float32)
    found = np.empty((n, n_found), np.int32)
    given = points - centres[cells]
    squares = np.einsum("ij,ij->i", given, given)
    n_blocks = -(-n // cell_search.QUERIES)
    map_ranges(cell_search.search_cells, n_blocks, given, given, squares, centres, starts, probes, found)
    for query in rng.choice(n, min(n, 40), replace=False):
        inside = np.flatnonzero(np.isin(cells, probes[query]))
        expected = np.sort(((points[inside] - points[query]) ** 2).sum(axis=1))[:n_found]
        own = found[query][found[query] >= 0]
        assert len(set(own)) == len(own) == len(expected)
        assert np.isin(own, inside).all()
        assert_array_equal(np.sort(((points[own] - points[query]) ** 2).sum(axis=1)), expected)
