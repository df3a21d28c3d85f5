"""The map of a page, used in a browser: hover, lasso, export, colors, zoom."""

import json

import pytest
from report_helpers import EVIL, needs_browser, opened
from test_fit_page import make_clusters, make_page

from graphlowrank.report.cluster_page import draw_clusters

LISTEN = """<script>
window.wrong = [];
addEventListener("error", event => wrong.push(String(event.message || event.target.outerHTML)), true);
addEventListener("securitypolicyviolation", event => wrong.push(event.violatedDirective));
</script>"""
USE = """<script>
addEventListener("load", async () => {
  const find = id => document.getElementById(id), seen = {};
  const wait = time => new Promise(done => setTimeout(done, time));
  const map = find("map"), data = JSON.parse(find("map-data").textContent);
  const send = (type, x, y) => {
    const box = map.getBoundingClientRect();
    const place = { clientX: box.left + x, clientY: box.top + y };
    map.dispatchEvent(new PointerEvent(type, { ...place, pointerId: 7, bubbles: true }));
  };
  const painted = () => {
    const pixels = map.getContext("2d").getImageData(0, 0, map.width, map.height).data, colors = {};
    for (let i = 0; i < pixels.length; i += 4) {
      const color = pixels.slice(i, i + 3).join();
      if (pixels[i + 3] > 200) colors[color] = (colors[color] || 0) + 1;
    }
    return colors;
  };
  const width = map.clientWidth, height = map.clientHeight;
  function lasso(corners) {
    find("lasso").click();
    send("pointerdown", ...corners[0]);
    for (const corner of corners.slice(1)) send("pointermove", ...corner);
    send("pointerup", ...corners[0]);
    find("lasso").click();
  }
  try {
    for (let i = 0; i < 30 && !Object.keys(painted()).length; i++) await wait(100);  /* for the first frame */
    seen.painted = painted();
    seen.tip = null;
    for (let x = 5; x < width && !seen.tip; x += 7) for (let y = 5; y < height && !seen.tip; y += 7) {
      send("pointermove", x, y);
      if (!find("tip").hidden) {
        seen.tip = find("tip").innerText;
        seen.tipTags = [...find("tip").querySelectorAll("*")].map(each => each.tagName);
        const inside = find("tip").getBoundingClientRect(), around = map.getBoundingClientRect();
        seen.tipInside = inside.left >= around.left && inside.right <= around.right;
      }
    }
    map.dispatchEvent(new PointerEvent("pointerleave", { pointerType: "touch" }));
    seen.touched = !find("tip").hidden;  /* a finger that is lifted leaves: the tip stays */
    send("pointerleave", -50, -50);
    seen.tipGone = find("tip").hidden;
    lasso([[-9, -9], [width + 9, -9], [width + 9, height + 9], [-9, height + 9]]);
    seen.all = [find("count").textContent, find("names").value.split("\\n").length, find("chosen").hidden];
    seen.names = find("names").value;
    const blobs = [];
    const make = URL.createObjectURL;
    URL.createObjectURL = blob => { blobs.push(blob); return make(blob); };
    find("save").click();
    seen.csv = await blobs[0].text();
    find("clear").click();
    seen.cleared = find("chosen").hidden;
    lasso([[0, 0], [width / 2, 0], [width / 2, height], [0, height]]);
    seen.half = find("names").value.split("\\n").length;
    find("clear").click();
    document.querySelector("[data-cluster='1']").click();
    lasso([[-9, -9], [width + 9, -9], [width + 9, height + 9], [-9, height + 9]]);
    seen.one = find("names").value.split("\\n").length;
    find("clear").click();
    document.querySelector("[data-cluster='1']").click();
    for (const option of [...find("coloring").options]) {
      find("coloring").value = option.value;
      find("coloring").dispatchEvent(new Event("change"));
      await wait(50);
      seen[option.value] = [find("scale").hidden, Object.keys(painted()).length];
    }
    find("coloring").value = "cluster"; find("coloring").dispatchEvent(new Event("change"));
    find("closer").click(); find("closer").click(); find("closer").click();
    lasso([[-9, -9], [width + 9, -9], [width + 9, height + 9], [-9, height + 9]]);
    seen.zoomed = find("chosen").hidden ? 0 : find("names").value.split("\\n").length;
    find("clear").click();
    find("whole").click();
    lasso([[-9, -9], [width + 9, -9], [width + 9, height + 9], [-9, height + 9]]);
    seen.reset = find("names").value.split("\\n").length;
  } catch (error) { wrong.push(String(error.stack)); }
  document.body.dataset.seen = JSON.stringify({ ...seen, wrong, n: data.n, hacked: window.hacked ?? null });
});
</script>"""


def used(folder, width, **changed):
    text = make_page({"template": "cluster.html", **draw_clusters(make_clusters(**changed))})
    path = folder / "page.html"
    path.write_text(text.replace("<head>", "<head>" + LISTEN, 1).replace("</body>", USE + "</body>"), encoding="utf-8")
    return opened(path, "", f"--window-size={width},900", "--virtual-time-budget=8000")


@needs_browser
@pytest.mark.parametrize("image_shape", [None, (2, 4)])
def test_the_map_works_in_a_browser(tmp_path, image_shape):
    seen = used(tmp_path, 1300, name=EVIL, image_shape=image_shape)
    assert (seen["wrong"], seen["hacked"]) == ([], None)
    assert len(seen["painted"]) > 3
    assert seen["tip"].startswith(EVIL)
    assert "cluster" in seen["tip"]
    assert "confidence" in seen["tip"]
    assert set(seen["tipTags"]) <= {"STRONG", "SPAN", "I"}
    assert ("I" in seen["tipTags"]) == (image_shape is not None)
    assert ("+2.0 SD" in seen["tip"]) == (image_shape is None)
    assert seen["tipInside"]
    assert seen["touched"]
    assert seen["tipGone"]
    assert seen["all"] == ["90 samples selected", 90, False]
    assert seen["cleared"]
    assert 0 < seen["half"] < 90
    assert seen["one"] == 30
    assert 0 < seen["zoomed"] < 90
    assert seen["reset"] == 90
    kinds = ["cluster", "confidence", "alternative:0", *([] if image_shape else [f"feature:{j}" for j in range(8)])]
    assert [seen[kind][0] for kind in kinds] == [kind.startswith(("cluster", "alt")) for kind in kinds]
    lines = seen["csv"].splitlines()
    assert lines[0] == "sample,label,confidence"
    assert len(lines) == 91
    assert lines[1].startswith('"' + EVIL.replace('"', '""'))


@needs_browser
def test_names_that_a_spreadsheet_would_run_are_quoted(tmp_path):
    lines = used(tmp_path, 500, name="=cmd")["csv"].splitlines()
    assert lines[1].startswith('"\'=cmd of sample 0",')


def test_the_data_of_the_map_cannot_end_the_script():
    text = make_page({"template": "cluster.html", **draw_clusters(make_clusters(name=EVIL))})
    (content,) = [part.split("</script>")[0] for part in text.split('id="map-data">')[1:]]
    assert json.loads(content)["names"][0].startswith(EVIL)
