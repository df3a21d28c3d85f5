"""The page of a fit from the command line: what it holds, and that it stands in a browser."""

import re
from base64 import b64decode
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from report_helpers import EVIL, NOT_FINITE, Page, needs_browser, seen_in_browser

from graphlowrank.auto.choice import Choice
from graphlowrank.estimators.fit_report import FitReport, GraphSummary
from graphlowrank.report import drawing
from graphlowrank.report.fit_page import Recovered, draw_clusters, draw_recovery, render_fit

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


def make_recovered(image_shape=None, n_features=8):
    rng = np.random.default_rng(0)
    given = rng.random((4, n_features))
    return Recovered(list("abcd"), given, 0.8 * given, image_shape, np.arange(40), 1.0, 20, 0)


CLUSTERED = draw_clusters(*make_found())
RECOVERED = {**draw_recovery(make_recovered()), "rank": 2}
PICTURED = {**draw_recovery(make_recovered((2, 4))), "rank": 2}


def make_page(shown=CLUSTERED, fit=None, **changed):
    given = {
        "over": "Clusters of a table", "title": "wine.csv", "summary": ("Done.", "Well."), "facts": [("samples", "90")],
        "warnings": (), "spectra": {"input": 0.5 ** np.arange(9.0)}, "rank": None,
        "command": "graphlowrank cluster wine.csv", "versions": {"numpy": "2.0"},
    }  # fmt: skip
    return render_fit(fit or make_fit(), **{**given, **shown, **changed})


def sections(page):
    return [given["id"] for given in page.all("section")]


@pytest.mark.parametrize(
    ("shown", "wanted"),
    [(CLUSTERED, ["clusters", "confidence"]), (RECOVERED, ["samples", "residual"]),
     (PICTURED, ["samples", "residual"])],
)  # fmt: skip
def test_every_section_is_there(shown, wanted):
    page = Page(make_page(shown))
    assert sections(page) == [*wanted, "singular-values", "choices", "graphs", "stages", "repeat"]
    for text in ("Done. Well.", "n_clusters 3 as asked", "gamma_samples 0.1235 least conductance", "total 4.00 s",
                 "7 iterations, converged.", "The graph of samples is connected and has no hubs.",
                 "The graph of features has 3 connected components and has hubs.",
                 "graphlowrank cluster wine.csv"):  # fmt: skip
        assert text in page.text


@pytest.mark.parametrize("shown", [CLUSTERED, RECOVERED, PICTURED])
def test_nothing_is_fetched(shown):
    text = make_page(shown)
    page = Page(text)
    addresses = [given[name] for _, given in page.tags for name in ("src", "href", "srcset", "action") if name in given]
    assert all(address.startswith("data:") for address in addresses)
    assert not re.search(r"https?:|url\(|@import|<script", text)
    (policy,) = [given["content"] for given in page.all("meta") if given.get("http-equiv")]
    assert policy.startswith("default-src 'none'; img-src data:;")


def test_names_cannot_write_html():
    fit = make_fit(choices=(Choice(EVIL, EVIL, EVIL),), seconds={EVIL: 1.0})
    given = {"title": EVIL, "over": EVIL, "summary": (EVIL,), "facts": [(EVIL, EVIL)], "warnings": (EVIL,),
             "command": EVIL, "versions": {EVIL: EVIL}, "spectra": {EVIL: np.ones(3)}}  # fmt: skip
    for shown in (CLUSTERED, draw_recovery(replace(make_recovered(), names=[EVIL] * 4))):
        page = Page(make_page(shown, fit, **given))
        plain = Page(make_page(shown, warnings=("x",)))
        assert page.all("script") == []
        assert len(page.all("img")) == len(plain.all("img"))
        assert page.text.count(EVIL) >= 14


def test_a_name_that_is_no_text_can_be_written():
    assert "caf?.csv" in make_page(title="caf\udce9.csv")


def test_pictures_are_those_of_the_samples():
    found = make_recovered((2, 4))
    images = Page(make_page(PICTURED)).all("img")
    assert len(images) == 12
    low, high = found.given.min(), found.given.max()
    for sample in range(4):
        for image, values in zip(images[3 * sample :], (found.given[sample], found.recovered[sample]), strict=False):
            pixels = np.asarray(Image.open(BytesIO(b64decode(image["src"].split(",")[1]))))
            wanted = 255 * np.clip((values - low) / (high - low), 0, 1).reshape(2, 4)
            np.testing.assert_allclose(pixels, wanted, atol=0.51)
        residual = np.asarray(Image.open(BytesIO(b64decode(images[3 * sample + 2]["src"].split(",")[1]))))
        np.testing.assert_array_equal(residual > 127, (found.given[sample] > found.recovered[sample]).reshape(2, 4))


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
    text = make_page(draw_clusters(*found))
    assert "5000 of 12000 samples." in Page(text).text
    assert len(text) < 250_000


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
    assert "singular-values" not in sections(Page(make_page(spectra={})))


def test_lines_go_through_the_values():
    given, recovered = np.array([0.0, 1, 2, 3]), np.array([3.0, 2, 1, 0])
    box = drawing.lines(given, recovered)
    np.testing.assert_allclose(drawn(box["given"])[:, 1], 102 - 94 * given / 3, atol=0.06)
    line = np.array([pair.split() for pair in box["recovered"][1:].split("L")], dtype=float)
    np.testing.assert_allclose(line[:, 1], 102 - 94 * recovered / 3, atol=0.06)
    assert drawing.lines(np.zeros(1000), np.zeros(1000))["given"].count("M") == 240


def test_numbers_that_are_none_do_no_harm():
    fit = make_fit(graphs=(GraphSummary("samples", 3, 0, 3, 1, np.inf),), n_iter=0, seconds={})
    page = Page(make_page(fit=fit, spectra={"input": np.array([1.0, np.nan, 0.0])}))
    assert not NOT_FINITE.search(page.text)
    assert "Closed form" in page.text


# --- in a browser ---


@needs_browser
@pytest.mark.parametrize(
    ("shown", "width", "dark"), [(CLUSTERED, 390, True), (RECOVERED, 1200, False), (PICTURED, 390, False)]
)
def test_the_page_stands_in_a_browser(tmp_path, shown, width, dark):
    seen = seen_in_browser(make_page(shown, title=EVIL), tmp_path, width, dark=dark)
    assert (seen["wrong"], seen["hacked"], seen["images"]) == ([], None, True)
    assert seen["wide"] <= seen["width"] == width  # nothing to scroll sideways
    assert seen["late"] == []
    assert seen["paper"] == f"rgb{DARK if dark else LIGHT}"
    assert seen["paths"] > 5
