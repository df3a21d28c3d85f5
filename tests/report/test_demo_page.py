"""The page of the demo, and what all pages share."""

import subprocess
import sys

import numpy as np
import pytest
from report_helpers import EVIL, Page, make_gallery, make_report, needs_browser, seen_in_browser

from graphlowrank.report.demo_page import render_demo
from graphlowrank.report.page import render


def make_demo(summary="Done.", **changed):
    images = {name: np.random.default_rng(0).random((10, 8, 8)) for name in ("clean", "CPCA, regressed")}
    score = {"system": "CPCA, regressed", "recovery_error": 0.123, "recovery_seconds": None,
             "clustering_error": 0.456, "clustering_seconds": 7.89}  # fmt: skip
    record = {
        "scores": [score], "graphs": [{"graph": "samples, compressed", "nodes": 1027, "edges": 14900, "components": 1}],
        "parameters": {"rank": 0}, "stage_seconds": {"FRPCAG": {"solving": 1.0}, "CPCA": {"decoding": 2.0}},
        "versions": {"numpy": "2.0"}, "command": "graphlowrank demo",
    }  # fmt: skip
    return render_demo(
        {**record, **changed}, summary=summary, images=images,
        spectra={"clean": 5 * 0.8 ** np.arange(20), "corrupted": 0.5 ** np.arange(20)},
    )  # fmt: skip


def test_the_demo_page_shows_its_record():
    page = Page(make_demo())
    assert "CPCA, regressed 0.123 – 0.456 7.890" in page.text
    assert "decoding – 2.000" in page.text
    assert "rank 0 numpy 2.0" in page.text
    assert "--paper" in page.styles[0]
    assert "keeps 4 directions of these corrupted images and 11 of the clean ones" in page.text


def test_names_cannot_write_html_in_the_demo():
    page = Page(make_demo(summary=EVIL, parameters={"rank": EVIL, EVIL: EVIL}, command=EVIL))
    assert page.text.count(EVIL) == 6  # the rank is in a note, too
    assert page.all("script") == []
    assert len(page.all("img")) == 20


def test_singular_values_of_each_system_are_relative_to_its_first():
    page = Page(make_demo())
    heights = [float(point["cy"]) for point in page.all("circle")]
    assert len(heights) == 18 + 6  # those above 0.02 of the first
    assert heights[0] == heights[18] == min(heights)
    (rule,) = page.all("line", "rank")
    above = [height < float(rule["y1"]) for height in heights]
    assert above == [True] * 11 + [False] * 7 + [True] * 4 + [False] * 2
    assert "rank rule: 0.1 of the first" in page.text


@pytest.mark.parametrize("extra", ["plots", "video"])
def test_what_is_missing_is_named(monkeypatch, extra):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=rf"Pages need Jinja: pip install graphlowrank\[{extra}\]"):
        render("demo.html", extra=extra)


def test_importing_pages_loads_neither_jinja_nor_pillow():
    code = """
import sys
from importlib import import_module
for name in ("report.fit_page", "report.video_page", "video.report"):
    import_module(f"graphlowrank.{name}")
    print(name, sorted({"jinja2", "PIL", "matplotlib"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "report.fit_page []\nreport.video_page []\nvideo.report []\n"


PAGES = {"demo": make_demo, "video": lambda: make_report(make_gallery()).to_html()}


@needs_browser
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1600, False)])
def test_pages_fit_their_window(tmp_path, name, width, dark):
    seen = seen_in_browser(PAGES[name](), tmp_path, width, dark=dark)
    assert (seen["wrong"], seen["images"]) == ([], True)
    assert seen["wide"] <= seen["width"] == width
    assert seen["late"] == []
