"""Pages and notebooks of fitted models, from Python."""

import json
import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from graphlowrank import (
    CompressiveClustering,
    CompressiveEmbedding,
    CompressivePCA,
    FastRobustPCAOnGraphs,
    GraphLaplacianPCA,
    RobustPCA,
    load,
)
from graphlowrank.clustering.profiles import cluster_profiles
from graphlowrank.estimators.described import coloring_features
from graphlowrank.estimators.pages import python_lines
from graphlowrank.estimators.shown import Shown
from graphlowrank.plots import MapDisplay

EVIL = "</script><script>window.hacked = 1</script><b onclick='x'>\"&"
X, Y = make_blobs(120, 6, centers=3, cluster_std=0.5, random_state=0)


@pytest.fixture(scope="module")
def clustered():
    return CompressiveClustering(3, random_state=0).fit(X)


def text_of(page):
    return unescape(re.sub(r"<[^>]+>", " ", page))


def map_of(page):
    return json.loads(re.search(r'id="map-data">(.*?)</script>', page, re.DOTALL)[1])


def test_a_page_is_written_from_python(clustered, tmp_path):
    clustered.report_.save(tmp_path / "new" / "page.html", X)
    page = (tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    assert "<h1>CompressiveClustering</h1>" in page
    assert "120 samples x 6 features." in page
    assert "in the units of the data" in page
    assert "CompressiveClustering(n_clusters=3, random_state=0).fit(X)" in unescape(page)
    assert map_of(page)["n"] == 120
    assert len(map_of(page)["features"]) == 6


def test_without_data_clusters_are_described_by_what_the_model_keeps(clustered):
    assert "Cluster 2" in clustered.report_.to_html()
    scaled = CompressiveClustering(3, scaling="features", random_state=0).fit(X)
    assert "means of the scaled data" in scaled.report_.to_html()


def test_a_model_from_a_file_has_the_same_page(clustered, tmp_path):
    clustered.save(tmp_path / "a.model")
    assert load(tmp_path / "a.model").report_.to_html(X) == clustered.report_.to_html(X)


def test_names_of_a_data_frame_are_text(tmp_path):
    frame = pd.DataFrame(X, columns=[f"{EVIL}{j}" for j in range(6)], index=[f"{EVIL} {i}" for i in range(120)])
    for model in (CompressiveClustering(3, random_state=0), CompressivePCA(2, random_state=0), RobustPCA()):
        page = model.fit(frame).report_.to_html(frame)
        assert "window.hacked" in page
        assert "<script>window" not in page
        assert "<b onclick" not in page
        assert f"{EVIL}0"[:10] in text_of(page)
        html = model._repr_mimebundle_()["text/html"]
        assert "<script>window" not in html


@pytest.mark.parametrize("counts", ["scaling", "logs"])
@pytest.mark.parametrize("sparse", [False, True])
def test_counts_have_fold_changes(counts, sparse):
    rng = np.random.default_rng(0)
    reads = rng.poisson(np.where(np.arange(8) == Y[:, None], 20.0, 1.0))
    given = reads if counts == "scaling" else np.log1p(reads)
    model = CompressiveClustering(3, scaling="counts" if counts == "scaling" else "none", random_state=0)
    data = sp.csr_array(given.astype(float)) if sparse else given
    page = model.fit(data).report_.to_html(data, logs=counts == "logs")
    assert "log2 FC" in page
    raised = re.findall(r'class="name">feature (\d)</td>.*?\+(\d\.\d)', page)
    assert {feature for feature, change in raised if float(change) > 3} == {"0", "1", "2"}


def test_pictures_are_shown_if_samples_are_pictures(clustered):
    page = clustered.report_.to_html(X, image_shape=(2, 3))
    assert page.count('<img src="data:image/png') == 3 * 11  # mean, five typical and five doubtful ones
    assert map_of(page)["sprite"]["width"] == 3
    assert map_of(page)["features"] == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X": X[:-1]}, r"X must be the data of the fit, of shape \(120, 6\)"),
        ({"sample_names": ["a"]}, "sample_names must have 120 names; got 1"),
        ({"feature_names": ["a"]}, "feature_names must have 6 names; got 1"),
        ({"image_shape": (2, 2)}, "image_shape must be a height and a width of 6 pixels"),
        ({"image_shape": 6}, "image_shape must be a height and a width"),
        ({"sample_names": 120 * "a"}, "sample_names must be a list of 120 names"),
        ({"feature_names": 6}, "feature_names must be a list of 6 names; got 6"),
        ({"layout": X}, r"two finite coordinates for each of 120 samples; got shape \(120, 6\)"),
        ({"layout": np.full((120, 2), np.nan)}, "two finite coordinates for each of 120 samples; some are NaN"),
        ({"layout": [["a", "b"]] * 120}, "layout must hold two numbers for each of 120 samples"),
        ({"X": np.where(X.max() == X, np.inf, X)}, "X must not have infinite entries"),
        ({"X": sp.csr_array(np.where(X.max() == X, np.inf, 0))}, "X must not have infinite entries"),
    ],
)
def test_data_that_do_not_fit_are_refused(clustered, tmp_path, given, message):
    with pytest.raises(ValueError, match=message):
        clustered.report_.save(tmp_path / "page.html", **given)
    assert list(tmp_path.iterdir()) == []


def test_a_given_layout_is_drawn(clustered):
    page = clustered.report_.to_html(X, layout=X[:, :2], sample_names=[f"s{i}" for i in range(120)])
    assert "The coordinates are those that were given." in page
    assert sorted(map_of(page)["names"]) == sorted(f"s{i}" for i in range(120))


def test_one_cluster_few_samples_and_no_graph_have_pages():
    few = np.random.default_rng(0).random((6, 3))
    for model in (
        CompressiveClustering(1, random_state=0), CompressiveClustering(2, sample_graph=None, random_state=0),
        CompressiveClustering(2, partition="k-means", random_state=0),
    ):  # fmt: skip
        page = model.fit(few).report_.to_html(few)
        assert "Projection on the plane" in page
        assert not re.search(r"\bnan\b", text_of(page.split("<script", maxsplit=1)[0]))


@pytest.mark.parametrize(
    "model",
    [
        CompressivePCA(2, random_state=0),
        FastRobustPCAOnGraphs(),
        RobustPCA(),
        CompressivePCA(2, scaling="features", random_state=0),
    ],
)
def test_recovered_matrices_have_pages(model):
    data = X.copy()
    data[5, 2] = np.nan
    data[7, 3] += 100
    page = model.fit(data).report_.to_html(data)
    text = " ".join(text_of(page).split())
    if not isinstance(model, FastRobustPCAOnGraphs):  # which is smooth, and follows a sample that has no neighbor
        assert re.search(r"sample 7 feature 3 9\d(\.\d)? ", text)
    assert "1 values (0.1 %) were missing and are imputed." in text
    assert 'aria-label="Residual of 30 samples, 6 features"' in page
    assert "Low-rank matrix" in text


@pytest.mark.parametrize(
    ("index", "names"), [(None, None), (np.arange(120) + 5, "5"), ([f"s{i}" for i in range(120)], "s0")]
)
def test_the_index_of_a_data_frame_names_the_samples(index, names):
    frame = pd.DataFrame(X, index=index)
    frame.columns = frame.columns.astype(str)
    found = map_of(CompressiveClustering(3, random_state=0).fit(frame).report_.to_html(frame))["names"]
    assert (found is None) if names is None else names in found


def test_an_embedding_has_a_page_with_its_map():
    model = CompressiveEmbedding(random_state=0, n_epochs=5).fit(X)
    page = model.report_.to_html(X, sample_names=[f"s{i}" for i in range(120)])
    found = map_of(page)
    assert (found["n"], found["clustered"], len(found["features"])) == (120, False, 6)
    assert '<option value="cluster">' not in page
    assert "What makes each cluster" not in page
    assert "CompressiveEmbedding(n_epochs=5, random_state=0).fit(X)" in unescape(page)
    assert "aria-label='clusters'" in model.report_._repr_html_()
    assert model.report_.to_html(image_shape=(2, 3)).count("data:image/png") == 1  # the pictures that hovering shows


def test_a_map_of_one_dimension_has_a_page_and_a_plot():
    X = np.random.default_rng(0).standard_normal((60, 4))
    model = CompressiveEmbedding(1, n_epochs=3, random_state=0).fit(X)
    assert "heights are random" in model.report_.to_html()
    assert "<svg" in model.report_._repr_html_()
    assert MapDisplay.from_estimator(model).positions.shape == (60, 2)


def test_other_models_have_a_page_of_their_choices():
    page = GraphLaplacianPCA(2).fit(X).report_.to_html(X)
    assert "Choices and their reasons" in page
    assert "Fitted model" in page


def test_missing_values_and_infinite_features_do_no_harm():
    data = X.copy()
    data[::3, 1] = np.nan
    model = CompressiveClustering(3, random_state=0).fit(data)
    assert "NaN" not in json.dumps(map_of(model.report_.to_html(data)))


def test_half_precision_is_shown_like_single():
    X = (1000 * np.random.default_rng(0).standard_normal((12, 7))).astype(np.float16)
    model = RobustPCA().fit(X)
    with np.errstate(over="raise"):
        assert model.report_.to_html(X) == model.report_.to_html(X.astype(np.float32))


def test_many_features_are_colored_by_those_that_distinguish_clusters():
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((120, 40))
    wide[:, 7] += 5 * (Y == 0)
    wide[:, 9] *= 30
    found = coloring_features(cluster_profiles(wide, Y, 3), 20)
    assert len(found) == 20
    assert {7, 9} <= set(found.tolist())
    assert found.tolist() == sorted(found)


def test_python_lines_name_parameters_that_are_not_printed(clustered):
    graph = clustered.sample_graph_
    given = {"sample_names": None, "feature_names": None}
    model = CompressiveClustering(4, sample_graph=graph, n_draws=np.int64(2))
    lines = python_lines(model, Shown(X, image_shape=None, layout=None, **given))
    assert "CompressiveClustering(n_clusters=4, n_draws=2, sample_graph=sample_graph).fit(X)" in lines
    assert lines.endswith('.save("page.html", X)')
    pictured = Shown(X, image_shape=(np.int64(2), 3), layout=X[:, :2], logs=True, **given)
    assert python_lines(model, pictured).endswith('.save("page.html", X, image_shape=(2, 3), layout=layout, logs=True)')
    assert python_lines(model, Shown(None, image_shape=None, layout=None, **given)).endswith('.save("page.html")')


def test_notebooks_show_a_small_version(clustered):
    html = clustered._repr_mimebundle_()["text/html"]
    assert html.count("aria-label='clusters'") == 1
    assert "n_clusters" in html
    assert "aria-label='clusters'" in clustered._repr_html_()
    assert "aria-label='clusters'" not in CompressiveClustering(3)._repr_mimebundle_()["text/html"]
    recovered = CompressivePCA(2).fit(X)
    assert "singular values" in recovered.report_._repr_html_()
    assert len(html) < 200_000


@pytest.mark.parametrize("kind", ["long names", "very long names", "pictures"])
def test_pages_of_many_samples_stay_small(kind, monkeypatch):
    """Whatever the names are, and for pictures of noise, which cannot be compressed."""
    n, k, p = (60_000, 4, 30) if kind != "pictures" else (2100, 45, 64 * 64)
    monkeypatch.setattr("graphlowrank.estimators.shown.MAX_PICTURED", 2000)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, k, n)
    data = rng.standard_normal((n, p), dtype=np.float32) + np.float32(0.1) * labels[:, None].astype(np.float32)
    model = CompressiveClustering(4, partition="k-means", sample_graph=None, random_state=0).fit(X)
    model.n_clusters_, model.n_features_in_ = k, p
    model.points_, model.labels_, model.confidence_ = data, labels, np.full(n, 0.9)
    name = {"long names": "a sample with a rather long name", "very long names": 30 * "<測定>", "pictures": "p"}[kind]
    page = model.report_.to_html(
        data, sample_names=[f"{name} {i}" for i in range(n)], feature_names=[f"{30 * name} {j}" for j in range(p)],
        image_shape=(64, 64) if kind == "pictures" else None, layout=rng.random((n, 2)),
    )  # fmt: skip
    assert len(page.encode()) < 5_000_000
    drawn = map_of(page)["n"]
    assert drawn == {"long names": 20_000, "pictures": 2000}.get(kind, drawn)
    assert f"Points: {drawn} of {n} samples" in page
    assert map_of(page)["names"][0].startswith(name)
