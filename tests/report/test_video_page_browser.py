"""The controls of the page of a video, used in a browser."""

import numpy as np
import pytest
from report_helpers import EVIL, make_gallery, make_report, needs_browser, opened

# Before the page's own script: what goes wrong. After it: use every control, and write down what is then seen.
LISTEN = """<script>
window.wrong = [];
addEventListener("error", event => wrong.push(String(event.message || event.target.outerHTML)), true);
addEventListener("unhandledrejection", event => wrong.push(String(event.reason)));
addEventListener("securitypolicyviolation", event => wrong.push(event.blockedURI));
</script>"""
USE = """<script>
addEventListener("load", async () => {
  const find = id => document.getElementById(id);
  const frames = JSON.parse(find("frames").textContent);
  const images = [...document.querySelectorAll(".views img")];
  const wait = time => new Promise(done => setTimeout(done, time));
  const seen = {};
  const canvas = document.createElement("canvas").getContext("2d");
  function colour(image) {  /* mean of what is painted */
    const { naturalWidth: width, naturalHeight: height } = image;
    canvas.drawImage(image, 0, 0);
    const sums = [0, 0, 0, 0];
    canvas.getImageData(0, 0, width, height).data.forEach((value, i) => { sums[i % 4] += value; });
    return sums.slice(0, 3).map(sum => sum / width / height);
  }
  async function see(name) {
    for (let tries = 0; tries < 20 && !images.every(image => image.complete); tries++) await wait(5);
    seen[name] = {
      colours: images.map(colour),
      pictures: images.map((image, view) => frames.findIndex(frame => frame.pictures[view] === image.currentSrc)),
      widths: images.map(image => image.naturalWidth), alts: images.map(image => image.alt),
      label: find("label").innerText, said: find("slider").getAttribute("aria-valuetext"), hash: location.hash,
      slider: find("slider").value, now: find("now").getAttribute("x1"), button: find("play").textContent,
      visible: ["slider", "play", "hint"].map(id => find(id).checkVisibility()),
    };
  }
  const key = (name, more) => document.body.dispatchEvent(
    new KeyboardEvent("keydown", { key: name, bubbles: true, ...more }));
  const click = share => {
    const box = find("timeline").getBoundingClientRect();
    find("timeline").dispatchEvent(new MouseEvent("click", { clientX: box.left + share * box.width, bubbles: true }));
  };
  try {
    await see("start");
    find("slider").value = 3;
    find("slider").dispatchEvent(new Event("input"));
    await see("moved");
    click(.61); await see("clicked");
    key("ArrowRight"); await see("right");
    key("ArrowLeft"); key("ArrowLeft"); key("ArrowLeft"); key("ArrowLeft"); await see("left");
    key("ArrowRight", { altKey: true }); await see("back");
    find("play").click(); await see("playing");
    await wait(1600); await see("played");
    find("play").click(); await see("paused");
    await wait(600); await see("still");
    find("play").click(); click(.99); await wait(600); await see("interrupted");
    location.hash = "#frame=29"; await wait(50); await see("linked");
    location.hash = "#frame=<b>"; await wait(50); await see("nonsense");
  } catch (error) { wrong.push(String(error)); }
  document.body.dataset.seen = JSON.stringify({ ...seen, wrong, hacked: window.hacked ?? null });
});
</script>"""


def use_in_browser(report, folder, hash_=""):
    """Open the page from the disk, use its controls, and return what was seen."""
    text = report.to_html()
    path = folder / "page.html"
    path.write_text(text.replace("<head>", "<head>" + LISTEN, 1).replace("</body>", USE + "</body>"), encoding="utf-8")
    return opened(path, hash_, "--window-size=1000,900", "--virtual-time-budget=5000")


@needs_browser
def test_the_controls_work_in_a_browser(tmp_path):
    gallery = make_gallery(colour=True)  # five frames: 0, 10, 20, 30 and 40 of 41
    seen = use_in_browser(make_report(gallery, title=EVIL), tmp_path)
    assert seen.pop("wrong") == []
    assert seen.pop("hacked") is None
    indices = {"start": 0, "moved": 3, "clicked": 2, "right": 3, "left": 0, "back": 0, "playing": 0, "played": 1,
               "paused": 1, "still": 1, "interrupted": 4, "linked": 3, "nonsense": 3}  # fmt: skip
    assert {name: state["pictures"] for name, state in seen.items()} == {name: [i] * 4 for name, i in indices.items()}
    for name, state in seen.items():
        number = 10 * indices[name]
        assert state["widths"] == [32] * 4
        for view, found in zip((gallery.input, gallery.background, gallery.foreground), state["colours"], strict=False):
            np.testing.assert_allclose(found, view[indices[name]].mean(axis=(0, 1)), atol=2)
        np.testing.assert_allclose(state["colours"][3], 255 * gallery.mask[indices[name]].mean())
        assert state["said"] == f"frame {number}, {number / 25:.1f} s"
        assert state["label"].startswith(state["said"])
        assert state["label"].endswith(f"{100 * 0.17 * number / 40:.1f} % foreground")
        assert state["slider"] == str(indices[name])
        assert float(state["now"]) == pytest.approx(1000 * (number + 0.5) / 41, abs=0.1)
        assert state["alts"] == [f"{view}, frame {number}" for view in ("Input", "Background", "Foreground", "Mask")]
        assert state["button"] == ("Pause" if name in ("playing", "played") else "Play")
        assert state["visible"] == [True] * 3
    hashes = {"start": "", "moved": "#frame=30", "clicked": "#frame=20", "left": "#frame=0", "paused": "#frame=10"}
    assert {name: seen[name]["hash"] for name in hashes} == hashes


@needs_browser
def test_a_link_opens_its_frame_and_one_frame_has_no_controls(tmp_path):
    (tmp_path / "many").mkdir()
    linked = use_in_browser(make_report(), tmp_path / "many", "#frame=22")
    assert linked["wrong"] == []
    assert linked["start"]["pictures"] == [2] * 4
    (tmp_path / "one").mkdir()
    single = use_in_browser(make_report(make_gallery(1, numbers=[0])), tmp_path / "one")
    assert single["wrong"] == []
    assert single["start"]["visible"] == [False] * 3
    assert single["start"]["pictures"] == [0] * 4
