"""The pages of fits: what they hold, that names stay text, and that they stand in a browser."""

import json
import re
from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from report_helpers import EVIL, NOT_FINITE, Page, needs_browser, seen_in_browser

from graphlowrank.auto.choice import Choice
from graphlowrank.clustering.profiles import cluster_profiles, contacts, representative_members
from graphlowrank.clustering.selection import Alternative
from graphlowrank.estimators.fit_report import FitReport, GraphSummary
from graphlowrank.graphs import knn_graph
from graphlowrank.metrics.residuals import CUTOFF, Residual, find_outliers
from graphlowrank.report import drawing
from graphlowrank.report.cluster_page import FoundClusters, draw_clusters
from graphlowrank.report.fit_page import render_fit
from graphlowrank.report.recovery_page import Heat, Pictures, Recovered, draw_heat, draw_recovery
from graphlowrank.report.sample_map import SampleMap

LIGHT, DARK = (255, 255, 255), (20, 23, 27)


def make_fit(**changed):
    graphs = (GraphSummary("samples", 104186, 1037570, 1, 104186, 2.0), GraphSummary("features", 8, 12, 3, 1, 40.0))
    choices = (Choice("n_clusters", 3, "as asked"), Choice("gamma_samples", 0.123456, "least conductance"))
    given = {"model": "M", "data": "90 x 8", "choices": choices, "graphs": graphs, "n_iter": 7, "converged": True,
             "seconds": {"reading": 1.0, "solving": 3.0}}  # fmt: skip
    return FitReport(**{**given, **changed})


def make_found(n=90, k=3):
    """Labels, confidence and layout."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % k
    return labels, rng.uniform(0.5, 1, n), 3 * np.c_[labels, labels % 2] + rng.standard_normal((n, 2))


def make_clusters(n=90, k=3, name="feature", image_shape=None, logs=False):
    """Clusters of eight features, with all that a page shows."""
    labels, confidence, layout = make_found(n, k)
    X = np.abs(np.random.default_rng(1).random((n, 8)) + 2 * (labels[:, None] == np.arange(8)))
    X[::7, 5] = 0
    profiles = cluster_profiles(X, labels, k, logs=logs)
    members = representative_members(X, labels, confidence, profiles, 3)
    names, shown = [f"{name} {j}" for j in range(8)], np.arange(n)[::-1]
    other = Alternative((labels + (np.arange(n) % 5 == 0)) % k, 0.12, 0.7)
    images = X.reshape(n, *image_shape) if image_shape else None
    sample_map = SampleMap(
        layout, shown, labels[shown], confidence[shown], k, [f"{name} of sample {i}" for i in shown],
        {} if image_shape else {names[j]: X[shown, j] for j in range(8)}, [other.labels[shown]],
        None if image_shape else (names, np.tile([0, 3, 5], (n, 1)), np.tile([2.0, -1.0, 0.5], (n, 1))),
        None if images is None else images[shown], "A plane.",
    )  # fmt: skip
    return FoundClusters(
        labels, confidence, 0.1, sample_map, profiles, names, "in the units of the data", members,
        lambda i: f"{name} of sample {i}", {} if images is None else dict(enumerate(images)), image_shape,
        contacts(knn_graph(X, 5), labels, k), [(other, "splits 0")],
    )  # fmt: skip


def make_recovered(image_shape=None, name="name", n_features=8):
    """Samples of which one entry is missing and another an outlier."""
    rng = np.random.default_rng(0)
    clean = rng.random((4, n_features))
    X = clean + 0.01 * rng.standard_normal(clean.shape)
    X[1, 2], X[3, 4] = np.nan, 9.0
    residual = Residual(X, clean)
    outliers = find_outliers(residual)
    names, features = [f"{name} {i}" for i in range(4)], [f"{name} of {j}" for j in range(n_features)]
    heat = pictures = None
    if image_shape is None:
        heat = Heat(X - 0.5, clean - 0.5, (X - clean) / outliers.noise, X, clean, names, features, "Rows.", "Columns.")
    else:
        shape = (4, *image_shape)
        pictures = Pictures(names, np.where(np.isnan(X), clean, X).reshape(shape), clean.reshape(shape), 1)
    values = [(X[row, column], clean[row, column]) for _, row, column in outliers.largest]
    return Recovered(
        np.arange(40), 1.0, 20, outliers, values, 4, names.__getitem__, features.__getitem__, heat, pictures
    )  # fmt: skip


CLUSTERED = {"template": "cluster.html", **draw_clusters(make_clusters())}
PICTURE_CLUSTERS = {"template": "cluster.html", **draw_clusters(make_clusters(image_shape=(2, 4)))}
RECOVERED = {"template": "recovery.html", **draw_recovery(make_recovered()), "rank": 2}
PICTURED = {"template": "recovery.html", **draw_recovery(make_recovered((2, 4))), "rank": 2}
LONG = "a_rather_long_name_of_a_picture.png"
LONG_NAMES = [
    {"template": "recovery.html", **draw_recovery(make_recovered((2, 4), LONG)), "rank": 2},
    {"template": "recovery.html", **draw_recovery(make_recovered(name=EVIL)), "rank": 2},
    {"template": "cluster.html", **draw_clusters(make_clusters(name=LONG))},
    {"template": "cluster.html", **draw_clusters(make_clusters(name=LONG, image_shape=(2, 4)))},
]
KINDS = [CLUSTERED, PICTURE_CLUSTERS, RECOVERED, PICTURED]


def make_page(shown=CLUSTERED, fit=None, **changed):
    given = {
        "over": "Clusters of a table", "title": "wine.csv", "summary": ("Done.", "Well."), "facts": [("samples", "90")],
        "warnings": (), "spectra": {"input": 0.5 ** np.arange(9.0)}, "rank": None,
        "command": "graphlowrank cluster wine.csv", "python": "model.fit(X)", "versions": {"numpy": "2.0"},
    }  # fmt: skip
    return render_fit(fit or make_fit(), **{**given, **shown, **changed})


def sections(page):
    return [given["id"] for given in page.all("section")]


CLUSTER_SECTIONS = ["clusters", "profiles", "contacts", "alternatives", "confidence"]


@pytest.mark.parametrize(
    ("shown", "wanted"),
    [(CLUSTERED, CLUSTER_SECTIONS), (PICTURE_CLUSTERS, CLUSTER_SECTIONS),
     (RECOVERED, ["samples", "outliers", "residual"]), (PICTURED, ["samples", "outliers", "residual"]),
     ({}, [])],
)  # fmt: skip
def test_every_section_is_there(shown, wanted):
    page = Page(make_page(shown))
    assert sections(page) == [*wanted, "singular-values", "choices", "graphs", "stages", "repeat"]
    for text in ("Done. Well.", "n_clusters 3 as asked", "gamma_samples 0.1235 least conductance", "total 4.00 s",
                 "7 iterations, converged.", "The graph of samples is connected and has no hubs.",
                 "The graph of features has 3 connected components and has hubs.",
                 "graphlowrank cluster wine.csv", "model.fit(X)"):  # fmt: skip
        assert text in page.text


@pytest.mark.parametrize("shown", KINDS)
def test_nothing_is_fetched(shown):
    text = make_page(shown)
    page = Page(text)
    addresses = [given[name] for _, given in page.tags for name in ("src", "href", "srcset", "action") if name in given]
    assert all(address.startswith("data:") for address in addresses)
    assert not re.search(r"https?:|@import|url\((?!\"\$)", text)  # the script sets the url of a picture in the page
    (policy,) = [given["content"] for given in page.all("meta") if given.get("http-equiv")]
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert ("script-src" in policy) == (shown in KINDS[:2])


def test_names_cannot_write_html():
    fit = make_fit(choices=(Choice(EVIL, EVIL, EVIL),), seconds={EVIL: 1.0})
    given = {"title": EVIL, "over": EVIL, "summary": (EVIL,), "notes": (EVIL,), "facts": [(EVIL, EVIL)],
             "warnings": (EVIL,), "command": EVIL, "python": EVIL, "versions": {EVIL: EVIL},
             "spectra": {EVIL: np.ones(3)}}  # fmt: skip
    shapes = [None, (2, 4)]
    named = [{**CLUSTERED, **draw_clusters(make_clusters(name=EVIL, image_shape=shape))} for shape in shapes]
    named += [{**RECOVERED, **draw_recovery(make_recovered(shape, name=EVIL))} for shape in shapes]
    for shown, plain in zip(named, KINDS, strict=True):
        page, usual = Page(make_page(shown, fit, **given)), Page(make_page(plain, warnings=("x",), notes=("x",)))
        assert [tag for tag, _ in page.tags if tag in ("script", "img")] == [
            tag for tag, _ in usual.tags if tag in ("script", "img")
        ]
        assert not any("onerror" in attributes for _, attributes in page.tags)
        assert page.text.count(EVIL) >= 20
        if plain in KINDS[:2]:
            assert EVIL in json.loads(page.scripts[0])["names"][0]


def test_a_name_that_is_no_text_can_be_written():
    assert "caf?.csv" in make_page(title="caf\udce9.csv")


def pixels_of(uri):
    return np.asarray(Image.open(BytesIO(b64decode(uri.split(",")[1]))))


def test_pictures_are_those_of_the_samples():
    found = make_recovered((2, 4)).pictures
    images = Page(make_page(PICTURED)).all("img")
    assert len(images) == 12
    low, high = found.given.min(), found.given.max()
    for sample in range(4):
        for image, values in zip(images[3 * sample :], (found.given[sample], found.recovered[sample]), strict=False):
            wanted = 255 * np.clip((values - low) / (high - low), 0, 1)
            np.testing.assert_allclose(pixels_of(image["src"]), wanted, atol=0.51)
        difference = found.given[sample] - found.recovered[sample]
        clear = np.abs(difference) > (high - low) / 200
        residual = pixels_of(images[3 * sample + 2]["src"])
        np.testing.assert_array_equal((residual > 127)[clear], (difference > 0)[clear])


def test_heat_maps_show_values_outliers_and_missing_values():
    heat = make_recovered().heat
    given, recovered, residual = draw_heat(heat)
    assert [one.title for one in (given, recovered, residual)] == ["Input", "Recovered", "Residual"]
    pixels = pixels_of(recovered.uri)
    assert pixels.shape == (4, 8, 4)
    np.testing.assert_array_equal(pixels[..., 0] > 100, heat.recovered > 0)  # vermilion above, blue below
    np.testing.assert_allclose(pixels[..., 3], 255 * np.abs(heat.recovered) / 2.5, atol=0.51)
    assert pixels_of(given.uri)[1, 2, 3] == 0  # missing
    (outlier,) = given.outliers
    assert outlier == residual.outliers[0]
    assert outlier[2].startswith("name 3, name of 4: 9 → ")
    assert (given.missing.count("M"), recovered.outliers, recovered.missing) == (1, [], "")
    assert abs(heat.residual[3, 4]) > CUTOFF
    page = Page(make_page(RECOVERED))
    assert "1 of 32 entries (3.1 %) are outliers" in page.text
    assert "1 values (3.1 %) were missing and are imputed." in page.text
    assert "name 3 name of 4 9" in page.text


@pytest.mark.parametrize("logs", [False, True])
def test_cards_name_what_makes_a_cluster(logs):
    found = make_clusters(logs=logs)
    page = Page(make_page({**CLUSTERED, **draw_clusters(found)}))
    for cluster in range(3):
        assert f"Cluster {cluster} 30 samples" in page.text
        card = page.text.split(f"Cluster {cluster} 30 samples")[1].split("Typical:")[0]
        assert re.search(r"\bfeature (\d)", card)[1] == str(cluster)  # the one that was raised comes first
    assert ("log2 FC" in page.text) == logs


def test_the_largest_clusters_are_described():
    page = Page(make_page({**CLUSTERED, **draw_clusters(make_clusters(n=300, k=60))}))
    assert page.text.count("Typical:") == 40
    assert "The 20 smallest clusters are left out." in page.text
    assert "20 smaller clusters with 100 samples are not listed." in page.text


# --- drawings ---


def drawn(path):
    return np.array([[float(x), float(y)] for x, y in re.findall(r"M([\d.]+) ([\d.]+)h0", path)])


def test_the_scatter_draws_every_sample_of_its_cluster():
    labels, _, layout = make_found()
    box = drawing.scatter(layout, labels)
    assert [len(drawn(group["path"])) for group in box["groups"]] == [30, 30, 30]
    assert len({group["color"] for group in box["groups"]}) == 3
    places = np.concatenate([drawn(group["path"]) for group in box["groups"]])
    assert places.min() >= 14
    assert np.all(places.max(axis=0) <= (626, 466))
    order = np.argsort(labels, kind="stable")
    for axis, sign in ((0, 1), (1, -1)):  # right is more, up is more
        assert np.corrcoef(places[:, axis], layout[order, axis])[0, 1] * sign > 0.99


def test_the_scatter_of_many_is_thinned_and_says_so():
    found = make_found(n=12_000, k=30)
    box = drawing.scatter(found[2], found[0])
    assert sum(group["path"].count("M") for group in box["groups"]) == box["n_shown"] == 5000
    assert all(group["at"] is None for group in box["groups"])  # 30 numbers would hide the points
    assert len({group["color"] for group in box["groups"]}) == 30


def test_an_empty_cluster_and_a_single_place_do_no_harm():
    labels = np.array([0, 0, 2, 2])
    box = drawing.scatter(np.zeros((4, 2)), labels)
    assert [group["path"].count("M") for group in box["groups"]] == [2, 0, 2]
    rows = drawing.sizes(labels, np.ones(4))["rows"]
    assert [(row["label"], row["n"], row["confidence"]) for row in rows] == [
        (0, 2, "1.00"),
        (2, 2, "1.00"),
        (1, 0, "–"),
    ]


def test_bars_are_as_long_as_the_clusters():
    labels = np.repeat([0, 1, 2], [10, 40, 20])
    rows = drawing.sizes(labels, np.full(70, 0.75))["rows"]
    assert [(row["label"], row["width"]) for row in rows] == [(1, 100.0), (2, 50.0), (0, 25.0)]
    many = drawing.sizes(np.repeat(np.arange(50), np.arange(50, 0, -1)), np.ones(1275))
    assert (len(many["rows"]), many["n_more"], many["in_more"]) == (40, 10, 55)


def test_histograms_are_as_high_as_their_counts():
    counts, _ = np.histogram(np.r_[np.full(10, 0.05), np.full(40, 0.95)], bins=40, range=(0, 1))
    box = drawing.histogram(counts, 0.0, 1.0, outside=1)
    heights = [float(tall) for tall in re.findall(r"v-([\d.]+)h", box["path"])]
    assert heights == pytest.approx([138 / 4, 138])
    assert (box["outside"], [text for _, text in box["ticks"]]) == ("2.0 %", ["0", "0.25", "0.5", "0.75", "1"])


def test_singular_values_share_one_scale():
    box = drawing.spectrum({"input": np.array([8.0, 4, 2, 1]), "recovered": np.array([4.0, 2])}, rank=2)
    one, other = (np.array([point[:2] for point in points]) for *_, points in box["series"])
    np.testing.assert_allclose(np.diff(one[:, 1]), np.diff(one[:, 1])[0], atol=0.11)  # halves: equal steps of a log
    np.testing.assert_allclose(other[:, 1], one[1:3, 1], atol=0.11)
    assert one[1, 0] < box["rank_at"] < one[2, 0]
    assert drawing.spectrum({"input": np.zeros(3)}, None) is None
    box = drawing.spectrum({"input": np.array([8.0, 4]), "recovered": np.array([1e-30])}, rank=1)
    assert [name for name, *_ in box["series"]] == ["input"]  # the other is below the floor
    assert "singular-values" not in sections(Page(make_page(spectra={})))


def test_numbers_that_are_none_do_no_harm():
    fit = make_fit(graphs=(GraphSummary("samples", 3, 0, 3, 1, np.inf),), n_iter=0, seconds={})
    page = Page(make_page(fit=fit, spectra={"input": np.array([1.0, np.nan, 0.0])}))
    assert not NOT_FINITE.search(page.text)
    assert "Closed form" in page.text


# --- in a browser ---


@needs_browser
@pytest.mark.parametrize(
    ("shown", "width", "dark"),
    [(CLUSTERED, 390, True), (PICTURE_CLUSTERS, 1600, True), (RECOVERED, 1200, False), (RECOVERED, 390, False),
     (PICTURED, 390, False), *((shown, 390, False) for shown in LONG_NAMES)],
)  # fmt: skip
def test_the_page_stands_in_a_browser(tmp_path, shown, width, dark):
    seen = seen_in_browser(make_page(shown, title=EVIL), tmp_path, width, dark=dark)
    assert (seen["wrong"], seen["hacked"], seen["images"]) == ([], None, True)
    assert seen["wide"] <= seen["width"] == width  # nothing to scroll sideways
    assert seen["late"] == []
    assert seen["paper"] == f"rgb{DARK if dark else LIGHT}"
    assert seen["paths"] > 5
