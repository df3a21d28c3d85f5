"""The page of the paper's tables and figures, from cells made up by hand."""

import re
from base64 import b64decode
from html.parser import HTMLParser
from io import BytesIO

import numpy as np
import pytest
from matplotlib.image import imread

from graphlowrank.datasets import make_moving_square
from graphlowrank_benchmarks.cells import Cell, Outcome
from graphlowrank_benchmarks.paper import figures
from graphlowrank_benchmarks.paper.figures import figures_of
from graphlowrank_benchmarks.paper.kinds import KINDS, Kind, Measure
from graphlowrank_benchmarks.paper.page import Section, data_uri, render_page, sections_of
from graphlowrank_benchmarks.paper.panels import panels
from graphlowrank_benchmarks.paper.spec import Experiment

EVIL = "<script>alert('row')</script>"


class Page(HTMLParser):
    """What a browser would make of a page: addresses, squares with their classes and hover texts, words."""

    def __init__(self, text):
        super().__init__()
        self.links, self.squares, self.alternatives, self.words, self.ids = [], [], [], [], []
        self.in_style = self.in_square = False
        self.feed(text)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        assert tag not in ("script", "link", "iframe")
        self.in_style = tag == "style"
        self.links += [value for name, value in attrs if name in ("src", "srcset", "href")]
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "img":
            self.alternatives.append(given["alt"])
        if tag == "td":
            self.squares.append((given.get("class", ""), given.get("title", ""), []))
            self.in_square = True

    def handle_endtag(self, tag):
        self.in_style = False
        self.in_square = self.in_square and tag != "td"

    def handle_data(self, data):
        if not self.in_style:
            self.words.append(data)
            if self.in_square and data.strip():
                self.squares[-1][2].append(data.strip())

    def square(self, value):
        """Class, hover text and words of the first square that says the value."""
        return next((kind, hover, " ".join(words)) for kind, hover, words in self.squares if value in words)


def experiment(name="toy", kind="clustering", **rest):
    return Experiment(name, f"Title of {name}", f"Table {name}", kind, tuple(rest.pop("notes", ())), rest)


def cell(row, column, *, paper=None, protocol="paper", measure="error", seed=0, name="toy", **content):
    numbers = {} if paper is None else {measure: paper}
    where = {"row": row, "column": column, "protocol": protocol, "seed": seed, "experiment": name}
    return Cell(name, row, column, {**where, **content}, numbers, protocol, seed)


def done(pictures=None, spent=12.0, **values):
    return Outcome("done", "", values, pictures or {}, spent)


def noise_table(errors=(0.2, 0.3, 0.4)):
    """FRPCAG, a baseline and a variant against three levels of two kinds of noise, under both protocols."""
    outcomes, cells = {}, []
    methods = {"FRPCAG": "frpcag", "k-means": "kmeans", "PCAG-(1,0)": "frpcag"}
    for row, method in methods.items():
        for kind in ("gaussian", "sparse"):
            for percent, error in zip((5, 10, 15), errors, strict=True):
                for protocol, paper, more in (("paper", 0.21, 0), ("default", None, 0.1)):
                    one = cell(row, f"{kind} {percent} %", paper=paper, protocol=protocol,
                               method=method, noise=[kind, percent],
                               **({"with": {"gamma_features": 0}} if row.startswith("PCAG") else {}))  # fmt: skip
                    cells.append(one)
                    outcomes[one.key] = done(error=error + more)
    return cells, outcomes


def page_of(cells, outcomes, *experiments, summary=("All is well.",)):
    experiments = experiments or (experiment(),)
    found = [
        panel
        for one in experiments
        for panel in panels(one, [cell for cell in cells if cell.experiment == one.name], outcomes)
    ]
    sections = sections_of(found, outcomes, experiments, cells)
    text = render_page(sections, summary=summary, command="graphlowrank reproduce", machine="a machine", quick=False)
    return Page(text)


def figures_for(cells, outcomes, kind="clustering"):
    return figures_of(panels(experiment(kind=kind), cells, outcomes), cells, outcomes)


def pixels(picture):
    return imread(BytesIO(picture), format="png" if picture.startswith(b"\x89PNG") else "jpeg")


def is_drawn(figure):
    """Every picture decodes, shows something, and differs between light and dark pages."""
    for picture in figure.pictures:
        assert picture.alt
        assert picture.light.startswith(b"\x89PNG")
        assert pixels(picture.light)[..., 3].std() > 0.01
        assert pixels(picture.dark).shape == pixels(picture.light).shape
        assert picture.dark != picture.light
    return len(figure.pictures)


@pytest.fixture
def any_kind(monkeypatch):
    """Kinds that measure nothing but have tables."""
    nothing = (lambda experiment: [], lambda content: ({}, {}))
    monkeypatch.setitem(KINDS, "timed", Kind(*nothing, (Measure("seconds", "seconds", 1, "time"),)))
    monkeypatch.setitem(KINDS, "pointer", Kind(*nothing, ()))


@pytest.fixture(scope="module")
def page():
    """A table with pictures."""
    return page_of(*noise_table())


def test_page_fetches_nothing_and_links_to_itself(page):
    assert {link[1:] for link in page.links if not link.startswith("data:image/")} == {"toy"}
    assert "toy" in page.ids
    text = render_page([], summary=(), command="c", machine="m", quick=False)
    assert not re.search(r"https?:|url\(|@import|<script|<link", text)


def test_every_row_column_and_number_is_there():
    cells, outcomes = noise_table((0.111, 0.222, 0.333))
    page = page_of(cells, outcomes, experiment(notes=["A remark."]))
    said = page.text.replace("\u00a0", " ")
    for one in cells:
        assert one.row in said
        assert one.column in said
    numbers = ["0.111", "0.222", "0.333", "paper 0.21", "+0.012", "−0.099", "default 0.211"]
    words = [
        "A remark.",
        "Title of toy",
        "Table toy of the paper",
        "All is well.",
        "graphlowrank reproduce",
        "a machine",
    ]
    for text in numbers + words:
        assert text in said
    assert len(page.squares) == 18
    assert "12 of 18" in said
    assert "quick run" not in said


def test_text_is_escaped():
    cells = [cell(EVIL, f"{EVIL} 5 %", paper=0.2)]
    page = page_of(cells, {cells[0].key: Outcome("failed", EVIL)}, experiment(notes=[EVIL]), summary=[EVIL])
    assert page.text.count(EVIL) == 5  # row, column, note, summary, and why nothing is measured
    assert EVIL in page.squares[0][1]


@pytest.mark.parametrize(("error", "verdict", "mark"), [
    (0.1, "better", "▼"), (0.22, "near", ""), (0.3, "worse", "▲"),
])  # fmt: skip
def test_verdicts_are_classes_and_marks(error, verdict, mark):
    cells = [cell("CPCA", "no noise", paper=0.2)]
    kind, _, words = page_of(cells, {cells[0].key: done(error=error)}).square(f"{error:.3f}")
    assert kind == verdict
    assert re.findall("[▲▼≠]", words) == [mark] * bool(mark)


def test_red_grows_with_the_difference():
    cells = [cell("CPCA", column, paper=0.2) for column in "abc"]
    outcomes = {one.key: done(error=error) for one, error in zip(cells, (0.25, 0.4, 0.9), strict=True)}
    sections = sections_of(panels(experiment(), cells, outcomes), outcomes, [experiment()], cells)
    text = render_page(sections, summary=(), command="", machine="", quick=False)
    strengths = [float(found) for found in re.findall(r'class="worse" style="--s: ([\d.]+)" title', text)]
    assert strengths == sorted(strengths)
    assert strengths[0] < strengths[1] < strengths[2] == 1


def test_another_rank_is_marked():
    cells = [cell("CPCA", "a", paper=11, measure="rank"), cell("CPCA", "b", paper=11, measure="rank")]
    page = page_of(cells, {cells[0].key: done(rank=14), cells[1].key: done(rank=12)}, experiment(kind="rank"))
    assert page.square("14")[0] == "differs"
    assert "≠ paper 11 · +3" in page.square("14")[2]
    assert page.square("12")[0] == "near"


@pytest.mark.usefixtures("any_kind")
def test_times_have_a_ratio_and_no_tint():
    cells = [cell("USPS", name, paper=24, measure="seconds", protocol="") for name in ("FRPCAG", "CPCA", "RPCA")]
    outcomes = {
        cells[0].key: done(seconds=2.0),
        cells[1].key: done(seconds=4.0, note="not converged after 9 iterations"),
        cells[2].key: done(seconds=None, note="did not finish in 600 s"),
    }
    page = page_of(cells, outcomes, experiment(kind="timed"))
    kind, _, words = page.square("2.0")
    assert kind == ""
    assert words == "2.0 paper 24 paper / ours = 12x"
    assert page.square("4.0")[2] == "4.0 not converged after 9 iterations paper 24 paper / ours = 6x"
    assert page.square("did not finish in 600 s")[2] == "did not finish in 600 s paper 24"


def test_missing_squares_say_why():
    cells = [cell("CPCA", column, paper=0.2) for column in "abcd"] + [cell("PCA", "a", paper=0.3)]
    outcomes = {cells[0].key: done(error=0.2), cells[1].key: Outcome("missing", "needs pyamg"),
                cells[2].key: Outcome("failed", "ValueError: no"), cells[4].key: done(error=0.3)}  # fmt: skip
    page = page_of(cells, outcomes)
    assert page.square("needs pyamg")[2] == "needs pyamg paper 0.20"
    assert page.square("ValueError: no")[1] == "ValueError: no"
    assert page.square("not run")[0] == ""
    assert page.squares[-3][2] == ["–"]  # the paper leaves it out


def test_what_all_squares_miss_is_said_once():
    cells = [cell("CPCA", column, paper=0.2) for column in "ab"]
    page = page_of(cells, {one.key: Outcome("missing", "no file usps.h5") for one in cells})
    assert page.text.count("no file usps.h5") == 1
    assert page.text.count("paper 0.20") == 2
    assert "not measured" in page.text


def test_hover_tells_how_it_came_about():
    cells = [cell("CPCA", "a", paper=0.2), cell("CPCA", "a", protocol="default")]
    chosen = {"gamma_samples": 10.0, "downsampling": [2, 1]}
    outcomes = {
        cells[0].key: done(spent=300.0, error=0.2, parameters=chosen, combinations=100, least_median=0.2345),
        cells[1].key: done(spent=1.25, error=0.31, parameters={}, combinations=1),
    }
    assert page_of(cells, outcomes).squares[0][1].split("\n") == [
        "best of 100: gamma_samples = 10, downsampling = [2, 1]",
        "least median over the grid: 0.234",
        "1 run; 5 min spent",
        "default: 1 run; 1.2 s spent",
    ]


def test_default_that_was_not_run_is_a_dash():
    cells = [cell("CPCA", "a", paper=0.2), cell("CPCA", "a", protocol="default")]
    _, hover, words = page_of(cells, {cells[0].key: done(error=0.2)}).square("0.200")
    assert words == "0.200 paper 0.20 · +0.000 default –"
    assert hover.endswith("default: not run")


@pytest.mark.usefixtures("any_kind")
def test_experiments_without_tables_keep_their_place():
    cells, outcomes = noise_table()
    pointer = experiment("elsewhere", kind="pointer", notes=["Not part of the package."])
    page = page_of(cells, outcomes, pointer, experiment())
    assert page.ids.index("elsewhere") < page.ids.index("toy")
    assert "Not part of the package." in page.text


def test_noise_is_drawn_for_the_papers_own_methods():
    (figure,) = figures_for(*noise_table())
    assert is_drawn(figure) == 2
    assert [picture.title for picture in figure.pictures] == ["Gaussian noise", "sparse noise"]
    assert [key.label for key in figure.keys] == ["FRPCAG", "ours", "the paper's", "ours, default parameters"]
    assert "FRPCAG, ours 0.2 to 0.4" in figure.pictures[0].alt


def test_runs_are_boxes():
    cells = [cell("CPCA (10,1)", column, paper=0.15, seed=seed, protocol=protocol, method="cpca", noise=noise)
             for column, noise in (("no noise", ["none", 0]), ("Gaussian 5 %", ["gaussian", 5]), ("x", ["gaussian", 9]))
             for protocol in ("paper", "default") for seed in range(4)]  # fmt: skip
    outcomes = {one.key: done(error=0.15 + one.seed / 100) for one in cells}
    (figure,) = figures_for(cells, outcomes)
    assert is_drawn(figure) == 1
    assert "Gaussian 5 % 0.15 to 0.18" in figure.pictures[0].alt
    assert [key.label for key in figure.keys] == ["ours", "ours, default parameters", "the paper's mean"]
    assert "4 runs, 0.150 to 0.180; 48 s spent" in page_of(cells, outcomes).square("0.165")[1]


def test_downsampling_is_drawn_against_the_factor():
    cells = [cell(f"features / {b}", f"samples / {a}", paper=0.2, method="cpca", noise=["none", 0],
                  **{"with": {"downsampling": [a, b]}}) for b in (1, 2) for a in (1, 5, 10)]  # fmt: skip
    (figure,) = figures_for(cells, {one.key: done(error=0.2 + 0.01 * i) for i, one in enumerate(cells)}, "downsampling")
    assert is_drawn(figure) == 1
    assert [key.label for key in figure.keys] == ["features / 1", "features / 2", "ours", "the paper's"]


def test_growth_has_its_slope():
    cells = [cell(f"method {i}", "growth", protocol="") for i in range(8)]
    outcomes = {one.key: done(sizes=[10, 100, 1000, 2000], seconds=[0.1, 10.0, 1000.0, None]) for one in cells}
    (figure,) = figures_for(cells, outcomes)
    assert is_drawn(figure) == 1
    assert figure.keys[0].label == "method 0: slope 2.00"
    assert len({(key.color, key.mark) for key in figure.keys}) == 8


def test_points_are_drawn_on_the_same_axes(monkeypatch):
    seen = []
    draw = figures._draw_points
    monkeypatch.setattr(figures, "_draw_points", lambda *given, ink: seen.append(given[2:]) or draw(*given, ink=ink))
    angle = np.linspace(0, 6, 40)
    circle = np.c_[np.cos(angle), np.sin(angle), angle].astype(np.float32)
    broken = np.where(np.arange(40)[:, None] == 3, np.nan, circle * 2)
    cells = [cell("40 points", system, protocol="") for system in ("noisy", "CPCA")]
    outcomes = {
        cells[0].key: done(pictures={"points": circle, "truth": circle}),
        cells[1].key: done(pictures={"points": broken}),
    }
    (figure,) = figures_for(cells, outcomes)
    assert is_drawn(figure) == 2
    assert [picture.title for picture in figure.pictures] == ["noisy", "CPCA"]
    assert len({half for _, half in seen}) == 1
    assert "39 points" in figure.pictures[1].alt


def video_cells(shape, places):
    video = make_moving_square(8, shape, size=6)
    frame, background = (np.rint(255 * X[2]).astype(np.uint8).reshape(shape) for X in (video.X, video.background))
    cells = [cell(row, column, protocol="") for row, column in places]
    pictures = {"frame": frame, "background": background, "foreground": frame - background}
    return cells, {one.key: done(pictures=pictures) for one in cells}


def test_images_are_strips_of_frame_and_backgrounds():
    cells, outcomes = video_cells((40, 400), [(row, column) for row in ("mall", "hall") for column in ("RPCA", "CPCA")])
    outcomes[cells[0].key] = done(pictures={"frame": outcomes[cells[0].key].pictures["frame"]})  # it did not finish
    strips = figures_for(cells, outcomes)
    assert [strip.caption for strip in strips] == [
        "mall: background", "mall: foreground", "hall: background", "hall: foreground",
    ]  # fmt: skip
    assert [picture.title for picture in strips[0].pictures] == ["frame", "CPCA"]
    assert [picture.title for picture in strips[2].pictures] == ["frame", "RPCA", "CPCA"]
    for strip in strips:
        for picture in strip.pictures:
            assert pixels(picture.light).shape == (32, 320)  # no wider than it is of use
            assert picture.dark is None
    addresses = [link for link in page_of(cells, outcomes).links if link.startswith("data:image/jpeg")]
    assert len(addresses) == 10


def test_small_images_keep_their_pixels():
    cells, outcomes = video_cells((24, 32), [("alternate", "mall"), ("ideal", "mall")])
    strips = figures_for(cells, outcomes)
    assert [picture.title for picture in strips[0].pictures] == ["frame", "alternate", "ideal"]  # one frame for both
    frame = outcomes[cells[0].key].pictures["frame"]
    assert np.array_equal(np.rint(255 * pixels(strips[0].pictures[0].light)), frame)


@pytest.mark.parametrize(
    "outcome",
    [
        None,
        Outcome("missing", "no file"),
        done(),
        done(sizes=[10], seconds=[1.0]),
        done(pictures={"points": np.empty((0, 3)), "frame": np.zeros((4, 4), np.uint8)}),
    ],
    ids=["not run", "missing", "nothing", "one size", "no points"],
)
def test_figures_are_left_out_when_there_is_nothing(outcome):
    cells, _ = noise_table()
    cells += [
        cell("CPCA", f"samples / {a}", paper=0.2, method="cpca", **{"with": {"downsampling": [a, 1]}}) for a in (1, 5)
    ]
    outcomes = {} if outcome is None else {one.key: outcome for one in cells}
    assert figures_for(cells, outcomes) == []
    assert page_of(cells, outcomes).alternatives == []


def test_pictures_of_the_page_are_described_and_whole(page):
    assert len(page.alternatives) == 2
    assert all(page.alternatives)
    addresses = [link for link in page.links if link.startswith("data:")]
    assert len(addresses) == 4  # for light and for dark pages
    for address in addresses:
        assert pixels(b64decode(address.split(",")[1])).shape[1] == 576
        assert address == data_uri(b64decode(address.split(",")[1]))


def test_a_quick_run_says_so():
    page = Page(render_page([Section(experiment())], summary=(), command="", machine="", quick=True))
    assert "quick run" in page.text
    assert "toy" in page.ids
