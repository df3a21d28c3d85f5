"""Clusters of AnnData objects: the same as by hand, written where they belong, and nothing else touched."""

import subprocess
import sys
import warnings
from functools import cache

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import NearestNeighbors

from graphlowrank import CompressiveClustering, CompressiveEmbedding
from graphlowrank import anndata as ours
from graphlowrank.graphs import knn_graph
from graphlowrank.metrics import clustering_error
from graphlowrank.preprocessing.principal import principal_scores

N_CELLS, N_GENES = 48, 40  # too few for the check for outliers, which would be most of the work


def make_counts(seed=0):
    """Counts of cells of three kinds, of unequal depth; the first 15 genes differ."""
    rng = np.random.default_rng(seed)
    rates = np.ones((3, N_GENES))
    for kind in range(3):
        rates[kind, 5 * kind : 5 * kind + 5] = 12
    kinds = np.repeat(np.arange(3), N_CELLS // 3)
    return rng.poisson(rates[kinds] * rng.uniform(1, 5, (N_CELLS, 1))).astype(np.float32), kinds


def logarithms(counts):
    totals = counts.sum(axis=1, dtype=float)
    return np.log1p((counts / (totals / np.median(totals))[:, None]).astype(np.float32))


def cells(X=None):
    counts, kinds = make_counts()
    obs = pd.DataFrame({"kind": kinds}, index=[f"cell{i}" for i in range(N_CELLS)])
    var = pd.DataFrame(index=[f"gene{i}" for i in range(N_GENES)])
    return anndata.AnnData(counts if X is None else X, obs=obs, var=var)


def by_hand(X, **options):
    return CompressiveClustering(3, random_state=0, **options).fit(X)


@cache
def of_logarithms():
    return by_hand(logarithms(make_counts()[0]))


def labels_of(adata, key="graphlowrank"):
    return adata.obs[key].astype(str).astype(int).to_numpy()


# --- the same as by hand ---


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csc_matrix, sp.csr_array, lambda X: X.astype(np.int64)])
def test_labels_are_those_of_the_logarithms(kind):
    counts, kinds = make_counts()
    adata = cells(kind(counts))
    assert ours.cluster(adata, 3, random_state=0) is None
    wanted = of_logarithms()
    assert clustering_error(wanted.labels_, labels_of(adata)) == 0
    assert clustering_error(kinds, labels_of(adata)) == 0
    assert_allclose(adata.obs["graphlowrank_confidence"], wanted.confidence_, atol=1e-3)
    assert_allclose(adata.obsm["X_graphlowrank"], principal_scores(wanted.points_, 3)[0], atol=1e-3)
    assert adata.uns["graphlowrank"]["prepared"] == ["every sample to the same total, then log(1 + x)"]


def test_categories_are_words_in_the_order_of_numbers():
    adata = cells()
    ours.cluster(adata, 12, random_state=0)
    found = adata.obs["graphlowrank"]
    assert isinstance(found.dtype, pd.CategoricalDtype)
    categories = list(found.cat.categories)
    assert categories == sorted(categories, key=int)
    assert all(isinstance(category, str) for category in categories)
    assert set(found) == set(categories)


def test_what_is_no_count_is_left_alone_unless_asked():
    X = logarithms(make_counts()[0])
    adata = cells(X)
    ours.cluster(adata, 3, random_state=0)
    assert_array_equal(labels_of(adata), of_logarithms().labels_)
    assert adata.uns["graphlowrank"]["prepared"] == []
    ours.cluster(adata, 3, normalize_counts=True, key_added="again", random_state=0)
    assert_array_equal(labels_of(adata, "again"), by_hand(logarithms(X)).labels_)
    counts = cells()
    ours.cluster(counts, 3, normalize_counts=False, random_state=0)
    assert_array_equal(labels_of(counts), by_hand(counts.X).labels_)


def test_the_most_variable_features_are_kept():
    adata = cells()
    ours.cluster(adata, 3, n_top_features=12, random_state=0)
    X = logarithms(adata.X)
    kept = np.sort(np.argsort(-X.var(axis=0), kind="stable")[:12])
    assert_allclose(adata.obsm["X_graphlowrank"], principal_scores(by_hand(X[:, kept]).points_, 3)[0], atol=1e-3)
    assert adata.uns["graphlowrank"]["prepared"][1] == "12 of 40 features, those of the highest variance"


def test_layers_and_representations():
    X = logarithms(make_counts()[0])
    adata = cells(np.zeros((N_CELLS, N_GENES), dtype=np.float32))
    adata.layers["log"] = sp.csr_matrix(X)
    adata.obsm["X_pca"] = principal_scores(X, 3)[0]
    adata.obsm["frame"] = pd.DataFrame(X, index=adata.obs_names)
    for given, wanted in (
        ({"layer": "log"}, X), ({"use_rep": "X_pca"}, adata.obsm["X_pca"]), ({"use_rep": "frame"}, X)
    ):  # fmt: skip
        ours.cluster(adata, 3, random_state=0, **given)
        assert_array_equal(labels_of(adata), by_hand(wanted).labels_)


@pytest.mark.parametrize("key", ["neighbors", "mine", "raw_graph"])
def test_a_graph_that_is_there_is_used(key):
    counts, kinds = make_counts()
    graph = sp.csr_matrix(knn_graph(logarithms(counts), 10).weights)
    adata = cells(np.random.default_rng(0).standard_normal(counts.shape))  # the values themselves say nothing
    adata.obsp["connectivities"] = sp.csr_matrix(np.triu(np.ones((N_CELLS, N_CELLS))))
    adata.obsp["mine_connectivities"] = adata.obsp["raw_graph"] = graph
    adata.uns["mine"] = {"connectivities_key": "mine_connectivities", "params": {"n_neighbors": 10}}
    if key == "neighbors":  # as versions of scanpy before 1.6 had it: the name goes without saying
        adata.obsp["connectivities"] = graph
        adata.uns["neighbors"] = {"params": {"n_neighbors": 10}}
    ours.cluster(adata, 3, neighbors_key=key, random_state=0)
    assert clustering_error(kinds, labels_of(adata)) == 0
    wanted = by_hand(adata.X, sample_graph=graph)
    assert_array_equal(labels_of(adata), wanted.labels_)
    assert adata.uns["graphlowrank"]["params"]["neighbors_key"] == key


def test_options_reach_the_model():
    adata = cells()
    ours.cluster(adata, 3, random_state=0, n_draws=2, downsampling=(2, 1), scaling="features")
    wanted = by_hand(logarithms(adata.X), n_draws=2, downsampling=(2, 1), scaling="features")
    assert_array_equal(labels_of(adata), wanted.labels_)
    params, choices = (adata.uns["graphlowrank"][name] for name in ("params", "choices"))
    assert (params["n_draws"], params["downsampling"], params["scaling"]) == (2, [2, 1], "features")
    assert choices["scaling"] == "features"
    assert "layer" not in params  # None cannot be written by every version of anndata
    with pytest.raises(TypeError, match="no_such_option"):
        ours.cluster(adata, 3, no_such_option=1)


# --- nothing else is touched, and all of it can be stored ---


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_nothing_else_changes(kind):
    adata = cells(kind(make_counts()[0]))
    adata.layers["counts"] = adata.X.copy()
    before = adata.copy()
    held = adata.X.data if sp.issparse(adata.X) else adata.X
    held.flags.writeable = False
    ours.cluster(adata, 3, random_state=0)
    assert list(adata.obs.columns) == ["kind", "graphlowrank", "graphlowrank_confidence"]
    assert (list(adata.obsm), list(adata.uns), list(adata.obsp)) == (["X_graphlowrank"], ["graphlowrank"], [])
    assert adata.var.equals(before.var)
    for one, other in ((adata.X, before.X), (adata.layers["counts"], before.layers["counts"])):
        assert type(one) is type(other)
        assert_array_equal(one.toarray() if sp.issparse(one) else one, other.toarray() if sp.issparse(other) else other)


def test_a_copy_is_returned_if_asked_for():
    adata = cells()
    found = ours.cluster(adata, 3, copy=True, random_state=0)
    assert "graphlowrank" in found.obs
    assert (list(adata.obs), list(adata.obsm), list(adata.uns)) == (["kind"], [], [])
    ours.cluster(adata, 3, random_state=0)
    assert_array_equal(labels_of(adata), labels_of(found))


def test_a_view_becomes_an_object_of_its_own():
    whole = cells()
    view = whole[::2]
    with pytest.warns(anndata.ImplicitModificationWarning):
        ours.cluster(view, 3, random_state=0)
    assert_array_equal(labels_of(view), by_hand(logarithms(make_counts()[0][::2])).labels_)
    assert list(whole.obs) == ["kind"]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_files_and_objects_backed_by_them(tmp_path, kind):
    counts, _ = make_counts()
    adata = cells(kind(counts))
    adata.obsp["graph"] = sp.csr_matrix(knn_graph(logarithms(counts), 10).weights)
    adata.write_h5ad(tmp_path / "in.h5ad")
    ours.cluster(adata, "auto", neighbors_key="graph", n_top_features=12, random_state=np.random.RandomState(0),
                 feature_graph=None, downsampling=(1, 1))  # fmt: skip
    adata.write_h5ad(tmp_path / "out.h5ad")
    found = anndata.read_h5ad(tmp_path / "out.h5ad")
    assert_array_equal(labels_of(found), labels_of(adata))
    assert found.obs["graphlowrank"].dtype == adata.obs["graphlowrank"].dtype
    assert_array_equal(found.obsm["X_graphlowrank"], adata.obsm["X_graphlowrank"])
    kept, wanted = found.uns["graphlowrank"], adata.uns["graphlowrank"]
    assert kept["choices"].keys() == wanted["choices"].keys() == kept["reasons"].keys()
    assert kept["params"]["random_state"] == "RandomState"
    assert kept["n_clusters"] == wanted["n_clusters"] == len(found.obs["graphlowrank"].cat.categories)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of anndata, about its own future
        backed = anndata.read_h5ad(tmp_path / "in.h5ad", backed="r")
        ours.cluster(backed, 3, random_state=0)
        assert backed.isbacked
        for each in (adata, backed):  # blocks of rows of what lies by columns would each be a pass through all of it
            assert getattr(ours._matrix(each, None, None)[0], "format", "csr") == "csr"
        assert clustering_error(of_logarithms().labels_, labels_of(backed)) == 0
        with pytest.raises(ValueError, match="backed by a file and cannot be copied"):
            ours.cluster(backed, 3, copy=True)
        backed.file.close()


# --- maps ---


def test_maps_are_those_of_the_logarithms(tmp_path):
    counts, _ = make_counts()
    adata = cells(counts)
    assert ours.embed(adata, random_state=0) is None
    wanted = CompressiveEmbedding(random_state=0).fit_transform(logarithms(counts))
    assert_allclose(adata.obsm["X_graphlowrank_map"], wanted, atol=1e-6)
    assert (list(adata.obs), list(adata.obsm)) == (["kind"], ["X_graphlowrank_map"])
    adata.write_h5ad(tmp_path / "out.h5ad")
    found = anndata.read_h5ad(tmp_path / "out.h5ad")
    assert_array_equal(found.obsm["X_graphlowrank_map"], adata.obsm["X_graphlowrank_map"])
    assert found.uns["graphlowrank_map"]["choices"]["scaling"] == "none"


def test_maps_of_sparse_counts_keep_kinds_apart():
    counts, kinds = make_counts()
    adata = cells(sp.csr_matrix(counts))
    ours.embed(adata, n_neighbors=5, random_state=0)
    nearest = NearestNeighbors(n_neighbors=4).fit(adata.obsm["X_graphlowrank_map"]).kneighbors(return_distance=False)
    assert (kinds[nearest] == kinds[:, None]).mean() > 0.95


def test_maps_of_a_graph_that_is_there_and_copies():
    adata = cells()
    adata.obsp["graph"] = knn_graph(logarithms(make_counts()[0]), 5).weights.tocsr()
    copy = ours.embed(adata, neighbors_key="graph", key_added="five", copy=True, n_components=3, random_state=0)
    assert copy.obsm["X_five_map"].shape == (N_CELLS, 3)
    assert not list(adata.obsm)
    with pytest.raises(ValueError, match="both name a graph"):
        ours.embed(adata, neighbors_key="graph", sample_graph="knn")


# --- refusals ---


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"layer": "a", "use_rep": "b"}, "layer and use_rep both"),
        ({"layer": "none"}, "there is no 'none' in layers; it holds 'words'"),
        ({"use_rep": "none"}, "there is no 'none' in obsm; it holds nothing"),
        ({"layer": "words"}, r"layers\['words'\] must be a matrix of numbers"),
        ({"neighbors_key": "none"}, "there is no graph 'none' in obsp.*it holds 'far', 'negative'"),
        ({"neighbors_key": "far"}, r"obsp\['far'\] is not symmetric"),
        ({"neighbors_key": "negative"}, r"obsp\['negative'\] has negative weights"),
        ({"neighbors_key": "far", "sample_graph": None}, "both name a graph"),
        ({"normalize_counts": "yes"}, "normalize_counts must be True, False or 'auto'"),
        ({"normalize_counts": True}, "X has negative values, which are not counts"),
        ({"n_top_features": 0}, "n_top_features must be a positive integer"),
        ({"key_added": ""}, "key_added must be a name"),
        ({"key_added": "a/b"}, "key_added must be a name"),
        ({"key_added": "_index"}, "key_added must be a name"),
        ({"n_clusters": 49}, "n_clusters=49 is more than the 48 samples"),
    ],
)
def test_wrong_arguments_leave_no_trace(given, text):
    adata = cells(make_counts()[0] - 1)
    adata.layers["words"] = np.full((N_CELLS, N_GENES), "a")
    adata.obsp["far"] = sp.csr_matrix(np.triu(np.ones((N_CELLS, N_CELLS))))
    adata.obsp["negative"] = -sp.eye(N_CELLS, format="csr") - sp.csr_matrix(np.ones((N_CELLS, N_CELLS)))
    with pytest.raises(ValueError, match=text):
        ours.cluster(adata, **{"n_clusters": 3, **given})
    assert (list(adata.obs), list(adata.obsm), list(adata.uns)) == (["kind"], [], [])


def test_what_is_no_anndata():
    with pytest.raises(TypeError, match="must be an AnnData object; got ndarray"):
        ours.cluster(np.eye(3))
    with pytest.raises(ValueError, match="adata has no X"):
        ours.cluster(anndata.AnnData(obs=pd.DataFrame(index=list("abc"))), 2)


def test_the_package_of_the_same_name_is_neither_needed_nor_hidden():
    code = """
import sys
sys.modules["anndata"] = None  # not installed
import graphlowrank.anndata
del sys.modules["anndata"]
import anndata
print(anndata.AnnData.__module__.split(".")[0], hasattr(anndata, "cluster"), graphlowrank.anndata.cluster.__module__)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["anndata", "False", "graphlowrank.anndata"]
