"""A nearest-neighbor search added from outside the package, through the public registry."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.neighbors import KDTree

from graphlowrank import CompressiveClustering, graphs
from graphlowrank.graphs.search import ACCEPTS_SPARSE, SEARCHES
from graphlowrank.metrics import clustering_error
from graphlowrank.preprocessing.sparse import as_shifted_sparse


def kdtree(X, n_neighbors, *, random_state=None):
    """Toy search: the first neighbor of a row is the row itself."""
    distances, indices = KDTree(X).query(X, n_neighbors + 1)
    return distances[:, 1:], indices[:, 1:]


@pytest.fixture
def registered():
    """Register searches for the length of a test."""
    kept, sparse = dict(SEARCHES), set(ACCEPTS_SPARSE)
    yield graphs.register_search
    SEARCHES.clear()
    SEARCHES.update(kept)
    ACCEPTS_SPARSE.intersection_update(sparse)


@pytest.mark.parametrize("search", [kdtree, f"{__name__}:kdtree"], ids=["callable", "lazy"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_registered_search_builds_the_exact_graph(registered, search, dtype, rng):
    X = rng.standard_normal((200, 4)).astype(dtype)
    registered("kdtree", search)
    assert graphs.search_names() == ("auto", "exact", "approximate", "kdtree")
    found, exact = (graphs.knn_graph(X, 6, neighbors=name).weights for name in ("kdtree", "exact"))
    assert found.dtype == dtype
    assert_array_equal(found.indices, exact.indices)
    np.testing.assert_allclose(found.data, exact.data, rtol=100 * np.finfo(dtype).eps)


def test_estimators_take_a_registered_search(registered, blobs):
    X, labels = blobs
    registered("kdtree", kdtree)
    model = CompressiveClustering(3, neighbors="kdtree", random_state=0).fit(X)
    assert clustering_error(labels, model.labels_) == 0


def test_the_order_of_a_search_reaches_the_graph(registered, monkeypatch, rng):
    order = rng.permutation(50)
    registered("ordered", lambda X, n_neighbors, *, random_state: (*kdtree(X, n_neighbors), order))
    monkeypatch.setattr("graphlowrank.graphs.knn.RENUMBERED_ABOVE", 10)
    assert_array_equal(graphs.knn_graph(rng.standard_normal((50, 3)), 4, neighbors="ordered").order, order)


def test_the_seed_reaches_the_search(registered, rng):
    seen = []
    registered("spy", lambda X, n_neighbors, *, random_state: seen.append(random_state) or kdtree(X, n_neighbors))
    graphs.knn_graph(rng.standard_normal((20, 3)), 4, neighbors="spy", random_state=7)
    assert seen == [7]


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda d, i: (d[:, :-1], i), r"distances and indices of shape \(30, 4\)"),
        (lambda d, i: (d, i.astype(float)), "indices from 0 to 29 of other rows"),
        (lambda d, i: (d, i + 30), "indices from 0 to 29 of other rows"),
        (lambda d, i: (d, np.tile(np.arange(30)[:, None], 4)), "of other rows"),
        (lambda d, i: (d, np.where(np.arange(4) < 2, i[:, :1], i)), "different rows"),
        (lambda d, i: (d * np.nan, i), "finite distances"),
        (lambda d, i: (d, i, np.zeros(30, dtype=int)), "every row once"),
    ],
)
def test_a_wrong_result_is_named(registered, spoil, text, rng):
    registered("bad", lambda X, n_neighbors, *, random_state: spoil(*kdtree(X, n_neighbors)))
    with pytest.raises(ValueError, match=f"search 'bad' must return .*{text}"):
        graphs.nearest_neighbors(rng.standard_normal((30, 3)), 4, engine="bad")


def test_dense_searches_refuse_sparse_data(registered, rng):
    registered("kdtree", kdtree)
    X = as_shifted_sparse(rng.standard_normal((20, 3)))
    with pytest.raises(TypeError, match="neighbors='kdtree' takes dense data only"):
        graphs.nearest_neighbors(X, 4, engine="kdtree")
    registered("both", lambda X, n_neighbors, *, random_state: kdtree(X.to_array(), n_neighbors), accepts_sparse=True)
    assert graphs.nearest_neighbors(X, 4, engine="both")[1].shape == (20, 4)


def test_unknown_and_reserved_names(registered, rng):
    with pytest.raises(ValueError, match="neighbors must be one of 'auto', 'exact', 'approximate'; got 'psychic'"):
        graphs.knn_graph(rng.standard_normal((20, 3)), 4, neighbors="psychic")
    with pytest.raises(ValueError, match="'auto' chooses"):
        registered("auto", kdtree)


@pytest.mark.parametrize(("old", "new"), [("chain_graph", "path_graph"), ("nearest_neighbours", "nearest_neighbors")])
def test_old_names_warn(old, new):
    with pytest.warns(DeprecationWarning, match=f"graphs.{old} is deprecated; use graphs.{new}"):
        assert getattr(graphs, old) is getattr(graphs, new)
    with pytest.raises(AttributeError, match="no attribute 'ring_graph'"):
        graphs.ring_graph  # noqa: B018
