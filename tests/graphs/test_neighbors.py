import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import NearestNeighbors

from graphlowrank._threads import limit_threads
from graphlowrank.graphs import nearest_neighbors
from graphlowrank.graphs.candidates import nearest_of
from graphlowrank.graphs.search import SEARCHES, nearest_to, resolve_search


def brute_force(X, k):
    distances = np.linalg.norm(X[:, None].astype(float) - X[None].astype(float), axis=2)
    np.fill_diagonal(distances, np.inf)
    return np.sort(distances, axis=1)[:, :k]


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 50),
    p=st.integers(1, 6),
    dtype=st.sampled_from([np.float32, np.float64]),
    duplicates=st.booleans(),
    engine=st.sampled_from(["exact", "approximate"]),
)
@settings(max_examples=60, deadline=None)
def test_small_searches_are_exact(seed, n, p, dtype, duplicates, engine):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, p)).astype(dtype) if duplicates else rng.standard_normal((n, p)).astype(dtype)
    k = min(5, n - 1)
    distances, indices = nearest_neighbors(X, k, engine=engine, random_state=0)
    assert distances.dtype == dtype
    assert indices.min() >= 0
    assert indices.max() < n
    assert not np.any(indices == np.arange(n)[:, None])  # never itself
    assert all(len(set(row)) == k for row in indices)  # never twice
    if engine == "exact" or n <= 40:  # few enough points that every cell is probed
        assert_allclose(distances, brute_force(X, k), rtol=1e-5, atol=1e-6)


def test_approximate_recall_against_exact_search():
    rng = np.random.default_rng(0)
    # Curved clusters in 150 dimensions: more than the search projects to.
    latent = rng.standard_normal((6000, 12)) + 3 * rng.standard_normal((20, 12))[rng.integers(0, 20, 6000)]
    X = np.tanh(latent @ rng.standard_normal((12, 150)) / 4) + 0.05 * rng.standard_normal((6000, 150))
    X = X.astype(np.float32)
    exact = nearest_neighbors(X, 10, engine="exact")[1]
    approximate = nearest_neighbors(X, 10, engine="approximate", random_state=0)[1]
    recall = np.mean([len(np.intersect1d(a, b)) for a, b in zip(exact, approximate, strict=True)]) / 10
    assert recall >= 0.95


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_approximate_search_sees_into_tight_clusters(offset, rng):
    # Clusters a thousand times smaller than their distances: squared lengths would swallow what is within them.
    centers = rng.uniform(-1, 1, (20, 10))
    X = centers[rng.integers(20, size=6000)] + 1e-3 * rng.standard_normal((6000, 10)) + offset
    truth = NearestNeighbors(n_neighbors=10).fit(X).kneighbors()[1]
    found = nearest_neighbors(X, 10, engine="approximate", random_state=0)[1]
    assert np.mean([len(np.intersect1d(a, b)) for a, b in zip(truth, found, strict=True)]) / 10 >= 0.97


def test_exact_engine_agrees_with_scikit_learn(rng):
    X = rng.standard_normal((800, 20))
    distances, indices = NearestNeighbors(n_neighbors=8).fit(X).kneighbors()
    ours = nearest_neighbors(X, 8, engine="exact")
    assert_allclose(ours[0], distances, rtol=1e-12)
    assert_array_equal(ours[1], indices)


def test_huge_offsets_do_not_change_neighbors(rng):
    X = rng.standard_normal((300, 4))
    assert_array_equal(nearest_neighbors(X + 1e8, 5)[1], nearest_neighbors((X + 1e8) - 1e8, 5)[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("engine", ["exact", "approximate"])
def test_extreme_units_change_nothing(dtype, engine, rng):
    X = rng.standard_normal((300, 4)).astype(dtype)
    distances, indices = nearest_neighbors(X, 5, engine=engine, random_state=0)
    for unit in (np.finfo(dtype).tiny * 1e4, np.finfo(dtype).max / 1e4):
        scaled = nearest_neighbors(X * dtype(unit), 5, engine=engine, random_state=0)
        assert_allclose(scaled[0] / dtype(unit), distances, rtol=1e-3)
        assert np.mean(scaled[1] == indices) > 0.99


def test_auto_picks_by_size(monkeypatch, rng):
    X = rng.standard_normal((60, 3))
    monkeypatch.setitem(SEARCHES, "approximate", lambda *args, **options: pytest.fail("approximate was used"))
    nearest_neighbors(X, 3)
    monkeypatch.setattr("graphlowrank.graphs.search.all_pairs_cost", lambda X: 2e11)
    with pytest.raises(pytest.fail.Exception):
        nearest_neighbors(X, 3)
    monkeypatch.undo()
    assert resolve_search(X, "auto", max_products=60**2 * 53) == "exact"
    assert resolve_search(X, "auto", max_products=50**2 * 53) == "approximate"


@pytest.mark.parametrize("engine", ["exact", "approximate"])
def test_threads_do_not_change_the_answer(engine, rng):
    X = rng.standard_normal((3000, 30)).astype(np.float32)
    answers = []
    for n_jobs in (1, 2):
        with limit_threads(n_jobs):
            answers.append(nearest_neighbors(X, 7, engine=engine, random_state=3))
    assert_array_equal(answers[0][1], answers[1][1])
    assert_array_equal(answers[0][0], answers[1][0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("themselves", [False, True])
def test_compiled_rerank_agrees_with_numpy(dtype, themselves, rng):
    X = rng.standard_normal((200, 37)).astype(dtype)
    X[50:60] = X[40:50]  # ties
    queries = None if themselves else X[::-1][:150].copy()
    n = 200 if themselves else 150
    indices = np.stack([rng.choice(np.r_[-1, -1, -1, :200], 20, replace=False) for _ in range(n)])
    indices[:, :5] = np.arange(40, 45)
    indices[:, 5:10] = np.arange(50, 55)
    candidates = np.array([sorted(set(row), key=lambda i: (i < 0, i)) + [-1] * (20 - len(set(row))) for row in indices])
    order = rng.permutation(n)
    plain, compiled = (nearest_of(X, candidates, 6, queries, order=order, compiled=one) for one in (False, True))
    assert compiled[0].dtype == dtype
    assert_array_equal(compiled[1], plain[1])
    assert_allclose(compiled[0], plain[0], rtol=50 * np.finfo(dtype).eps, atol=1e-7)


def test_nearest_to_finds_the_sample_itself(rng):
    X = rng.standard_normal((100, 5))
    distances, indices = nearest_to(X[10:20], X, 3)
    assert_array_equal(indices[:, 0], np.arange(10, 20))
    assert_allclose(distances[:, 0], 0, atol=1e-12)
