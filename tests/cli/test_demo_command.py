"""The command ``graphlowrank demo``, and what all commands share."""

import json
import os
import re
import signal
import subprocess
import sys
from base64 import b64decode
from html.parser import HTMLParser
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits
from typer.testing import CliRunner

import graphlowrank
from graphlowrank.cli import app, console
from graphlowrank.cli import demo as demo_module
from graphlowrank.cli.console import PLOT_EXTRAS, require_packages, show_progress
from helpers import interruptible

SYSTEMS = ["k-means", "PCA", "FRPCAG", "CPCA, decoded", "CPCA, regressed"]
SECTIONS = {"scores", "digits", "singular-values", "graphs", "stages", "repeat"}


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


class Page(HTMLParser):
    """Sections, links and pictures of a page."""

    def __init__(self, text):
        super().__init__()
        self.sections, self.links, self.alternatives = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "section":
            self.sections.add(given["id"])
        if tag == "img":
            self.alternatives.append(given.get("alt"))
        self.links += [value for name, value in attrs if name in ("src", "srcset", "href")]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """One run of the demo on some of the digits: its result and the page it wrote."""
    path = tmp_path_factory.mktemp("demo") / "new" / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo_module, "load_digits", lambda **given: [part[:300] for part in load_digits(**given)])
        return run("demo", "--output", path), path


@pytest.fixture
def broken(monkeypatch):
    """Make the demo's work raise a given exception."""

    def raising(error):
        def run_demo(*args):
            raise error

        monkeypatch.setattr(demo_module, "run_demo", run_demo)

    return raising


def test_demo_prints_one_aligned_table(finished):
    result, path = finished
    assert result.exit_code == 0, result.output
    heading, *rows = result.stdout.rstrip("\n").split("\n")
    assert heading.split("  ")[0] == "system"
    assert [row.split("   ")[0].strip() for row in rows] == SYSTEMS
    assert len({len(row.rstrip()) for row in rows}) == 1  # right-aligned: every row ends in the same column
    assert str(path) in result.stderr


def test_demo_tells_each_step_on_stderr(finished):
    result, _ = finished
    steps = re.findall(r"^(\d)/(\d) ", result.stderr, flags=re.MULTILINE)
    total = demo_module.STEPS
    assert steps == [(str(i), str(total)) for i in range(1, total + 1)]


def test_page_has_every_section_and_fetches_nothing(finished):
    _, path = finished
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.sections == SECTIONS
    assert page.links
    assert all(link.startswith("data:image/png;base64,") for link in page.links)
    assert not re.search(r"url\(|@import|<script|<link", text)
    for name in [*SYSTEMS, "0.15", "seed", "numpy", graphlowrank.__version__]:
        assert name in text
    assert list(path.parent.iterdir()) == [path]


def test_pictures_decode_and_are_described(finished):
    _, path = finished
    page = Page(path.read_text(encoding="utf-8"))
    pictures = [np.asarray(Image.open(BytesIO(b64decode(link.split(",")[1])))) for link in page.links]
    assert len(pictures) == 60  # ten digits: clean, corrupted, and recovered by four systems
    for picture in pictures:
        assert picture.shape == (8, 8)
        assert picture.std() > 0.01 * 255  # something is drawn
    assert page.alternatives[:2] == ["clean, digit 0", "clean, digit 1"]
    assert len(set(page.alternatives)) == 60


def test_json_is_all_of_stdout_and_beats_doing_nothing(tmp_path):
    result = run("demo", "-o", tmp_path / "p.html", "--json", "--seed", 3, "--noise", 0.1)
    found = json.loads(result.stdout)
    scores = {score["system"]: score for score in found["scores"]}
    assert list(scores) == SYSTEMS
    errors = {name: score["recovery_error"] for name, score in scores.items()}
    assert all(errors[name] < errors["k-means"] for name in SYSTEMS[1:])
    assert all(0 <= score["clustering_error"] < 0.6 for score in scores.values())
    assert found["parameters"]["seed"] == 3
    assert found["command"] == "graphlowrank demo --seed 3 --noise 0.1"
    sizes = {graph["graph"]: graph["nodes"] for graph in found["graphs"]}
    assert sizes["samples, compressed"] < sizes["samples, full"] == 1797


@pytest.mark.parametrize(
    "args", [["--noise", "2"], ["--noise", "much"], ["--seed", "-1"], ["--nosie", "0.1"], ["-o", "."]]
)
def test_wrong_usage_exits_with_2(args):
    result = run("demo", *args)
    assert result.exit_code == 2
    assert result.stdout == ""


def test_failure_is_one_line_of_cause_and_one_of_remedy(tmp_path, broken):
    broken(RuntimeError("the solver\ngave up"))
    result = run("demo", "-o", tmp_path / "p.html")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "error: the solver gave up",
        "run it again with --debug to see where it failed",
    ]
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_the_failure_itself(tmp_path, broken):
    broken(RuntimeError("the solver gave up"))
    result = run("demo", "--debug", "-o", tmp_path / "p.html")
    assert result.exit_code == 1
    assert isinstance(result.exception, RuntimeError)


def test_interrupt_exits_with_130_and_writes_nothing(tmp_path, broken):
    broken(KeyboardInterrupt())
    result = run("demo", "-o", tmp_path / "p.html")
    assert result.exit_code == 130
    assert result.stderr == "interrupted; no half-written file is left\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_in_the_middle_of_the_work(tmp_path):
    command = [sys.executable, "-m", "graphlowrank", "demo", "-o", str(tmp_path / "p.html")]
    with interruptible(command) as process:
        process.stderr.readline()  # the first step has begun
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1] == "interrupted; no half-written file is left"
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "missing", "cause", "remedy"),
    [("demo", "PIL", "the demo's page needs PIL", "pip install graphlowrank[plots]"),
     ("reproduce", "matplotlib", "the report needs matplotlib", "pip install matplotlib")],
)  # fmt: skip
def test_missing_package_says_what_to_install(tmp_path, monkeypatch, command, missing, cause, remedy):
    monkeypatch.setattr(console, "find_spec", lambda name: None if name == missing else True)
    result = run(command, "--output", tmp_path / "p")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [f"error: {cause}", remedy]


def test_missing_extras_are_noticed(monkeypatch):
    require_packages("the page", *PLOT_EXTRAS)
    monkeypatch.setattr(console, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="the page needs jinja2 and PIL"):
        require_packages("the page", *PLOT_EXTRAS)


def test_unwritable_place_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setattr(demo_module, "run_demo", lambda *args: None)
    result = run("demo", "-o", tmp_path / "file" / "p.html")
    assert result.exit_code == 1
    cause, remedy = result.stderr.splitlines()
    assert cause.startswith(f"error: cannot write {tmp_path / 'file' / 'p.html'}: ")
    assert remedy == "choose another place for the output"


def test_terminal_gets_a_spinner(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with show_progress() as show:
        show("1/6 compiling")
    assert capsys.readouterr().out == ""


def test_version_and_help():
    assert run("--version").stdout == f"graphlowrank {graphlowrank.__version__}\n"
    assert "demo" in run().output


def test_help_as_a_module_loads_nothing_heavy():
    code = (
        "import sys, runpy; sys.argv = ['graphlowrank', '--version']\n"
        "try: runpy.run_module('graphlowrank', run_name='__main__')\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("graphlowrank ")
