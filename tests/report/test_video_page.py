"""The page of a separated video: what it shows."""

import re
import sys
from base64 import b64decode
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from report_helpers import EVIL, NOT_FINITE, Page, make_gallery, make_report

from graphlowrank.report.drawing import CEILINGS, MAX_COLUMNS
from graphlowrank.video import Gallery

URI = re.compile(r"data:image/(?:jpeg|png);base64,[A-Za-z0-9+/=]+")


def decoded(uri):
    kind, raw = uri.removeprefix("data:image/").split(";base64,")
    with Image.open(BytesIO(b64decode(raw, validate=True)), formats=[kind]) as picture:
        return picture.mode, np.asarray(picture)


def drawn_shares(page, n_frames):
    """Share of each frame, read back from the outline of the timeline; NaN in its gaps."""
    (outline,) = page.all("path", "area")
    top = float(re.search(r"(\d+) % 0 0 frame", page.text)[1]) / 100
    middles, shares, at = (np.arange(n_frames) + 0.5) * 1000 / n_frames, np.full(n_frames, np.nan), 0.0
    assert re.fullmatch(r"(M[\d.]+,100(V[\d.e-]+H[\d.]+)+V100Z)*", outline["d"])  # starts and ends on the ground
    for step, number in re.findall(r"([MVH])([\d.e-]+)", outline["d"]):
        if step == "M":
            at = float(number)
        elif step == "V":
            level = float(number)
            assert 0 <= level <= 100
        elif step == "H":
            shares[(middles > at) & (middles < float(number))] = (100 - level) / 100 * top
            at = float(number)
    return shares


@pytest.mark.parametrize("colour", [False, True])
def test_the_pictures_are_those_of_the_frames(colour):
    gallery = make_gallery(colour=colour)
    page = Page(make_report(gallery).to_html())
    assert [frame["number"] for frame in page.frames] == list(gallery.numbers)
    for row, frame in enumerate(page.frames):
        *views, mask = [decoded(uri) for uri in frame["pictures"]]
        for (mode, pixels), wanted in zip(views, (gallery.input, gallery.background, gallery.foreground), strict=True):
            assert mode == ("RGB" if colour else "L")
            assert np.abs(pixels.astype(float) - wanted[row]).mean() < 3
        assert mask[0] == "1"
        np.testing.assert_array_equal(mask[1], gallery.mask[row])


def test_the_first_frame_shows_without_a_script():
    page = Page(make_report().to_html())
    images = page.all("img")
    assert [image["src"] for image in images] == page.frames[0]["pictures"]
    assert [image["alt"] for image in images] == [
        f"{view}, frame 0" for view in ("Input", "Background", "Foreground", "Mask")
    ]
    assert all("hidden" in given for tag, given in page.tags if given.get("id") in ("play", "slider", "hint"))
    assert "frame 0, 0.0 s" in page.text


def test_wide_pictures_are_shrunk_and_their_masks_with_them():
    coarse = np.random.default_rng(0).random((1, 6, 240)) < 0.5
    mask = coarse.repeat(8, axis=1).repeat(4, axis=2)  # 48 x 960: blocks that half the size can hold
    grey = np.where(mask, 200, 30).astype(np.uint8)
    page = Page(make_report(Gallery([0], None, grey, grey, grey, mask), n_frames=1).to_html())
    for uri in page.frames[0]["pictures"]:
        assert decoded(uri)[1].shape == (24, 480)
    np.testing.assert_array_equal(decoded(page.frames[0]["pictures"][3])[1], mask[0, ::2, ::2])
    assert {(image["width"], image["height"]) for image in page.all("img")} == {("480", "24")}


def test_nothing_is_fetched():
    text = make_report(make_gallery(colour=True)).to_html()
    page = Page(text)
    addresses = [given[name] for _, given in page.tags for name in ("src", "href", "srcset", "action") if name in given]
    assert len(addresses) == 4
    assert all(address.startswith("data:") for address in addresses)
    rest = URI.sub("", text)
    for forbidden in ("//", "http:", "https:", "url(", "@import", "fetch(", "XMLHttp", "import("):
        assert forbidden not in rest
    (policy,) = [given["content"] for given in page.all("meta") if given.get("http-equiv")]
    assert policy.startswith("default-src 'none'; img-src data:;")


def test_names_cannot_write_html():
    report = make_report(
        title=EVIL, summary=(EVIL,), warnings=(EVIL,), stages={EVIL: 1.0}, choices=[(EVIL,) * 3], command=EVIL,
        versions={EVIL: EVIL},
    )  # fmt: skip
    plain, page = Page(make_report(warnings=("x",)).to_html()), Page(report.to_html())
    for tag in ("script", "img", "title"):
        assert len(page.all(tag)) == len(plain.all(tag))
    assert page.scripts == plain.scripts
    # title, heading, summary, warning, stage, choice (3), command, version (2)
    assert page.text.count(EVIL) == 11
    assert "<script" not in report._repr_html_()
    assert "<img" not in report._repr_html_()


def test_a_name_that_is_no_text_can_be_written(tmp_path):
    report = make_report(title="caf\udce9.mp4", command="graphlowrank video caf\udce9.mp4")
    report.save(tmp_path / "page.html")
    assert "caf?.mp4" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_saving_writes_the_page(tmp_path):
    make_report().save(tmp_path / "new" / "page.html")
    assert (tmp_path / "new" / "page.html").read_text(encoding="utf-8") == make_report().to_html()


def test_pages_stay_small_whatever_is_in_the_frames():
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (24, 240, 640, 3), dtype=np.uint8)
    text = make_report(Gallery(list(range(24)), None, noise, noise, noise, noise[..., 0] > 127)).to_html()
    assert len(text) < 4_000_000


def test_one_frame_will_do():
    page = Page(make_report(make_gallery(n=1, numbers=[0])).to_html())
    assert len(page.frames) == 1
    assert "The tick under it marks the frame" in page.text


def test_times_are_told_where_they_are_known():
    numbers = [0, 412]
    labels = [frame["label"] for frame in Page(make_report(make_gallery(2, numbers=numbers)).to_html()).frames]
    assert labels == ["frame 0, 0.0 s", "frame 412, 16.5 s"]
    unknown = make_report(make_gallery(2, numbers=numbers, seconds=False))
    assert [frame["label"] for frame in Page(unknown.to_html()).frames] == ["frame 0", "frame 412"]


@pytest.mark.parametrize("n_frames", [1, 50, MAX_COLUMNS, 3001])
def test_the_timeline_shows_the_shares(n_frames):
    shares = np.random.default_rng(1).random(n_frames) ** 3 * 0.4
    page = Page(make_report(make_gallery(1, numbers=[n_frames - 1]), foreground_share=shares).to_html())
    group = -(-n_frames // MAX_COLUMNS)
    highest = [shares[i - i % group : i - i % group + group].max() for i in range(n_frames)]
    np.testing.assert_allclose(drawn_shares(page, n_frames), highest, atol=2e-4)
    assert page.frames[0]["x"] == pytest.approx(1000 * (n_frames - 0.5) / n_frames, abs=0.1)
    assert page.frames[0]["share"] == f"{100 * shares[-1]:.1f} % foreground"


@pytest.mark.parametrize("highest", [0.0, 1e-9, *CEILINGS])
def test_the_timeline_has_room_for_all(highest):
    shares = np.array([0, highest, 0])
    page = Page(make_report(make_gallery(1, numbers=[1]), foreground_share=shares, n_frames=3).to_html())
    np.testing.assert_allclose(drawn_shares(page, 3), shares, atol=1e-4)


def test_singular_values_are_drawn_on_a_log_scale():
    values = 3 * 10.0 ** -np.array([0, 0.5, 1, 1.2, 2.9, 4])
    page = Page(make_report(singular_values=values, rank=3).to_html())
    points = page.all("circle")
    assert [point["class"] for point in points] == ["kept"] * 3 + ["left"] * 3
    heights = np.array([float(point["cy"]) for point in points])
    np.testing.assert_allclose((heights - heights[0]) / (heights[-1] - heights[0]), np.log10(3 / values) / 4, atol=1e-3)
    across = np.array([float(point["cx"]) for point in points])
    np.testing.assert_allclose(np.diff(across), np.diff(across)[0], atol=0.2)
    assert across[2] < float(page.all("line", "rank")[0]["x1"]) < across[3]


def test_a_long_spectrum_is_cut_and_says_so():
    page = Page(make_report(singular_values=0.99 ** np.arange(500.0)).to_html())
    assert len(page.all("circle")) == 60
    assert "The first 60 of 500." in page.text
    deep = Page(make_report(singular_values=0.99 ** np.arange(500.0), rank=100).to_html())
    assert len(deep.all("circle", "kept")) == 100


def test_bars_are_as_long_as_the_stages():
    text = make_report(stages={"read": 1.0, "solve": 4.0, "write": 3.0}).to_html()
    assert re.findall(r'<i style="width: ([\d.]+)%">', text) == ["25.0", "100.0", "75.0"]
    assert "solve 4.00 s 50 %" in Page(text).text
    assert "total 8.00 s" in Page(text).text


def test_numbers_that_are_none_do_no_harm():
    nan, inf = np.nan, np.inf
    gallery = replace(make_gallery(3), seconds=[nan, inf, 1.0])
    shares = np.r_[0.1, nan, nan, 0.2, -inf, np.full(16, 0.05)]
    values = np.array([1, nan, 0.5, inf, 0, -1, 0.1])
    report = make_report(gallery, foreground_share=shares, singular_values=values, stages={"a": nan, "b": inf, "c": 1},
                         frames_per_second=nan)  # fmt: skip
    text = report.to_html()
    page = Page(text)
    assert [frame["label"] for frame in page.frames] == ["frame 0", "frame 10", "frame 20, 1.0 s"]
    assert not NOT_FINITE.search(URI.sub("", text))
    np.testing.assert_allclose(drawn_shares(page, 21), np.where(np.isfinite(shares), shares, nan), atol=1e-4)
    assert len(page.all("circle")) == 3
    assert "a – –" in page.text
    assert "nan" not in repr(report).lower()


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [np.nan, 1.0], [np.inf]])
def test_without_singular_values_there_is_no_plot_of_them(values):
    assert "Singular values" not in Page(make_report(singular_values=np.array(values)).to_html()).text


def test_nothing_is_known_and_the_page_still_stands():
    nothing = make_report(foreground_share=np.full(41, np.nan), stages={}, choices=[], command=None, versions={},
                          summary=(), frames_per_second=np.inf)  # fmt: skip
    page = Page(nothing.to_html())
    assert not NOT_FINITE.search(URI.sub("", nothing.to_html()) + repr(nothing) + nothing._repr_html_())
    assert np.isnan(drawn_shares(page, 41)).all()
    assert "Time per stage" not in page.text
    assert "To repeat it" not in page.text
    assert "Versions" not in page.text


def test_warnings_are_said_only_where_there_are_any():
    assert "The rank is at its limit." in Page(make_report(warnings=("The rank is at its limit.",)).to_html()).text
    assert not Page(make_report().to_html()).all("div", "notice")


def test_text_for_terminals_and_notebooks():
    report = make_report(warnings=("It did not converge.",))
    lines = repr(report).splitlines()
    assert lines == [
        "VideoReport of 'hall.mp4'",
        "  frames 41, rank of the background 2, foreground on average 8.5 %, frames processed a second 40",
        "  stages: read 0.50 s, solve 2.00 s",
        "  warning: It did not converge.",
    ]
    table = report._repr_html_()
    assert "<th>solve</th><td>2.00 s</td>" in table
    assert "It did not converge." in table


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("mask", np.zeros((5, 24)), "mask must be"),
        ("mask", np.zeros((0, 24, 32)), "mask must be"),
        ("input", np.zeros((5, 24, 30), np.uint8), "input must be bytes of shape"),
        ("foreground", np.zeros((5, 24, 32)), "foreground must be bytes of shape"),
        ("numbers", [1, 2], "numbers must have one entry"),
        ("seconds", [1.0], "seconds must have one entry"),
    ],
)
def test_galleries_that_do_not_fit_are_refused(name, value, message):
    with pytest.raises(ValueError, match=message):
        replace(make_gallery(), **{name: value})


def test_reports_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="foreground_share must have one entry for each of 41 frames"):
        replace(make_report(), foreground_share=np.zeros(40))
    with pytest.raises(ValueError, match="from 0 to 39"):
        make_report(n_frames=40)


@pytest.mark.parametrize("module", ["jinja2", "PIL"])
def test_what_is_missing_is_named(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"pip install graphlowrank\[video\]"):
        make_report().to_html()
    assert make_report()._repr_html_()  # notebooks need neither
