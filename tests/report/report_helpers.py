"""A parser of pages and a browser to open them in."""

import json
import re
import shutil
import subprocess
from functools import cached_property
from html.parser import HTMLParser

import numpy as np
import pytest

from graphlowrank.video import Gallery, VideoReport

EVIL = "</script></title><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>\"'{{ 7 * 7 }}.mp4"
NOT_FINITE = re.compile(r"\b(nan|inf|infinity)\b", re.IGNORECASE)
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chrome", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium, chrome or google-chrome on the path")


class Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.scripts, self.styles, self.inside = [], [], [], [], ""
        self.feed(text)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.inside = tag

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        {"script": self.scripts, "style": self.styles}.get(self.inside, self.words).append(data)

    @cached_property
    def frames(self):
        """What the script of a video page shows."""
        return json.loads(self.scripts[0], parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))

    def all(self, tag, kind=None):
        return [given for name, given in self.tags if name == tag and kind in (None, given.get("class"))]


def opened(path, hash_="", *options):
    """What the page at a path has left in ``document.body.dataset.seen``."""
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={path.parent / 'profile'}",
        "--no-first-run", *options, "--dump-dom", path.as_uri() + hash_,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=True)
    (body,) = Page(done.stdout).all("body")
    return json.loads(body["data-seen"])


def make_gallery(n=5, height=24, width=32, colour=False, numbers=None, seconds=True):
    """Smooth pictures that differ from frame to frame and view to view, and rough masks."""
    rng = np.random.default_rng(3)
    y, x = np.mgrid[:height, :width] / max(height, width)
    views = []
    for view in range(3):
        slopes = rng.uniform(0.2, 1, (n, 2, 3 if colour else 1))
        pixels = 60 * view + 90 * (slopes[:, 0, None, None] * y[..., None] + slopes[:, 1, None, None] * x[..., None])
        views.append((pixels if colour else pixels[..., 0]).astype(np.uint8))
    numbers = list(range(0, 10 * n, 10)) if numbers is None else numbers
    times = [number / 25 for number in numbers] if seconds else None
    return Gallery(numbers, times, *views, rng.random((n, height, width)) < 0.3)


def make_report(gallery=None, **changed):
    gallery = gallery or make_gallery()
    n_frames = changed.pop("n_frames", max(gallery.numbers) + 1)
    shares = changed.pop("foreground_share", np.linspace(0, 0.17, n_frames))
    given = {
        "title": "hall.mp4", "summary": ("Separated.", "Quickly."), "warnings": (),
        "singular_values": 0.5 ** np.arange(9.0), "rank": 2, "stages": {"read": 0.5, "solve": 2.0},
        "frames_per_second": 40.0,
        "choices": [("rank", "2", "the rest is small")], "command": "graphlowrank video hall.mp4",
        "versions": {"numpy": "2.0"},
    }  # fmt: skip
    return VideoReport(gallery=gallery, n_frames=n_frames, foreground_share=shares, **{**given, **changed})


WATCH = """<script>
window.wrong = [];
addEventListener("error", event => wrong.push(String(event.message || event.target.outerHTML)), true);
addEventListener("securitypolicyviolation", event => wrong.push(event.blockedURI));
addEventListener("load", () => {
  const edge = innerWidth - parseFloat(getComputedStyle(document.body).paddingRight) + 1;
  const late = [...document.querySelectorAll("section *:not(br), header *")].filter(
    part => !part.closest("pre, svg, .scroll, [hidden], option") && part.getBoundingClientRect().right > edge);
  parent.postMessage(JSON.stringify({
    wrong, hacked: window.hacked ?? null, paper: getComputedStyle(document.body).backgroundColor, width: innerWidth,
    wide: document.documentElement.scrollWidth, late: late.map(part => part.outerHTML.slice(0, 80)),
    images: [...document.images].every(image => image.complete && image.naturalWidth > 0),
    paths: [...document.querySelectorAll("svg path, circle")].filter(part => part.getBBox().width > 0).length,
  }), "*");
});
</script>"""
# A window of a browser has a least width, which is more than that of a phone; a frame has none.
AROUND = """<!doctype html><body><script>
addEventListener("message", event => { document.body.dataset.seen = event.data; });
</script><iframe src="page.html" style="border: 0; width: WIDTHpx; height: 900px"></iframe></body>"""


def seen_in_browser(text, folder, width, *, dark):
    """What a browser of some width sees of a page: errors, widths, whether pictures and charts are there."""
    text = (
        text
        if "script-src" in text
        else text.replace("default-src 'none';", "default-src 'none'; script-src 'unsafe-inline';")
    )
    (folder / "page.html").write_text(text.replace("<head>", "<head>" + WATCH, 1), encoding="utf-8")
    path = folder / "around.html"
    path.write_text(AROUND.replace("WIDTH", str(width)), encoding="utf-8")
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    return opened(path, "", "--hide-scrollbars", "--window-size=1700,900", "--virtual-time-budget=2000", scheme)
