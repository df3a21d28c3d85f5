"""The command ``graphlowrank video``, as its users meet it."""

import errno
import json
import os
import re
import signal
import sys
import warnings
from dataclasses import replace
from functools import cache
from unittest.mock import Mock

import numpy as np
import pytest
import typer
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from graphlowrank import _files
from graphlowrank.cli import app
from graphlowrank.cli import video as command
from graphlowrank.datasets import make_moving_square
from graphlowrank.video import open_frames, open_sink, separate, sink
from helpers import interruptible

FPS = 12.5
INPUTS = ["in.mp4", "in.gif", "in.npy", "in.npz", "pictures"]
OUTPUTS = [".mp4", ".webm", "", ".npz", ".npy"]
# Inputs and outputs have only the rate and the colors in common, and two of each suffice for those.
PAIRS = [(a, b) for a in INPUTS for b in OUTPUTS if a in {"in.mp4", "in.npy"} or b in {".mp4", ".npz"}]
HELP = "see graphlowrank video --help, or run it again with --debug to see where it failed"
PLACE = "choose another place for the output"
INPUT = "check the name of the input, and that it may be read"
FULL = OSError(errno.ENOSPC, "no space")
SLOW = """
import signal, sys, time
from graphlowrank.cli import app
from graphlowrank.video import sink
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may ignore it
def wait(*_):
    print("written", file=sys.stderr, flush=True)
    time.sleep(60)
sink.NpzSink._append = wait  # of the last of the outputs
for last in (False, False, True):  # the imports take longer than the rest
    try:
        app()
    except SystemExit as end:
        print(end.code, flush=True)
        if last:
            raise
"""


def make_frames(n=45):
    """A square that moves over a scene whose light changes."""
    return np.rint(255 * make_moving_square(n, (24, 32), light=0.1).X).astype(np.uint8).reshape(n, 24, 32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same frames in every kind of file, and some files that cannot be used."""
    folder, frames = tmp_path_factory.mktemp("videos"), make_frames()
    for name in INPUTS:
        with open_sink(folder / name, fps=FPS) as sink:
            sink.write(frames)
    whole = (folder / "in.mp4").read_bytes()
    (folder / "half.mp4").write_bytes(whole[: len(whole) * 6 // 10])
    (folder / "head.mp4").write_bytes(whole[:200])
    np.save(folder / "one.npy", frames[:1])
    return folder


@cache
def separated(path):
    return separate(path)


@pytest.fixture
def in_chunks(monkeypatch):
    """Cut the 45 frames into three chunks."""
    check = command.check_options
    monkeypatch.setattr(command, "check_options", lambda **given: replace(check(**given), max_chunk=15, min_chunk=15))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(source, words=""):
    plain = {"COLUMNS": "160", "NO_COLOR": "1", "TERM": "dumb"}
    return CliRunner().invoke(app, ["video", str(source), *words.split()], env=plain)


def read(name):
    """Frames, grey, and their rate where there is one."""
    if str(name).endswith((".npy", ".npz")):
        return (np.load(name) if str(name).endswith(".npy") else np.load(name)["frames"]), None
    with open_frames(name) as source:
        frames = np.concatenate(list(source.blocks(100)))
        return (frames if frames.ndim == 3 else frames.mean(axis=-1)), source.fps


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def failure(result):
    """Cause and remedy, if there is nothing else."""
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    cause, remedy = result.stderr.splitlines()
    return cause.removeprefix("error: "), remedy


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_every_input_becomes_every_output(here, folder, name, kind):
    result = run(folder / name, f"--background background{kind} --foreground foreground{kind} --mask mask{kind}")
    assert result.exit_code == 0, result.output
    assert result.stderr == f"wrote background{kind}, foreground{kind}, mask{kind}\n"
    assert len(list(here.iterdir())) == 3
    expected, (frames, fps) = separated(folder / name), read(folder / name)
    assert 0.02 < expected.mask.mean() < 0.2  # something moves
    for part in ("background", "foreground", "mask"):
        (found, rate), wanted = read(f"{part}{kind}"), getattr(expected, part)
        if kind.startswith(".n"):
            assert found.dtype == wanted.dtype
            assert_array_equal(found, wanted)
            continue
        wanted = frames * expected.mask if part == "foreground" else wanted * (255 if part == "mask" else 1.0)
        wanted = wanted.mean(axis=-1) if wanted.ndim == 4 else wanted
        assert found.shape == (45, 24, 32)
        assert np.abs(found - wanted).mean() < (0.7 if kind == "" else 4)
        assert rate == (None if kind == "" else pytest.approx(fps or 25, rel=1e-3))


def test_a_part_of_the_video_and_smaller_frames(here, folder):
    run(folder / "in.mp4", "--start 5 --stop 41 --step 2 --scale 0.5 -b b.mp4 -f f.npy -m m.npz")
    expected = separate(folder / "in.mp4", start=5, stop=41, step=2, scale=0.5)
    assert_array_equal(read("f.npy")[0], expected.foreground)
    assert_array_equal(read("m.npz")[0], expected.mask)
    found, rate = read("b.mp4")
    assert (found.shape, rate) == ((18, 12, 16), pytest.approx(FPS / 2))


def test_rates_that_no_video_has_are_no_hindrance(here):
    with open_sink("slow.avi", fps=0.02) as sink:
        sink.write(make_frames())
    assert run("slow.avi", "--step 5 -m m.npz -b b.avi").exit_code == 0
    assert len(read("m.npz")[0]) == len(read("b.avi")[0]) == 9


@pytest.mark.parametrize(
    ("kind", "of_bytes", "brightness"),
    [("uint16", lambda x: x.astype(np.uint16) * 257, 1.0), ("to 1", lambda x: x / 255, 1.0),
     ("dark", lambda x: x / 2550, 0.1), ("to 1000", lambda x: x * (1000 / x.max()), 255 / make_frames().max())],
)  # fmt: skip
@pytest.mark.parametrize("colour", [False, True])
def test_brightness_of_what_is_not_bytes(here, kind, of_bytes, brightness, colour):
    frames = make_frames()
    np.save("in.npy", of_bytes(np.repeat(frames[..., None], 3, axis=3) if colour else frames))
    assert run("in.npy", "-b b.avi -f f -m m.npy").exit_code == 0
    mask, (background, _), (moving, _) = np.load("m.npy"), read("b.avi"), read("f")
    if kind == "uint16" and not colour:
        assert moving.dtype == np.uint16  # pictures of 16 bits stay so
        moving = moving / 257
    assert np.abs(moving - brightness * frames * mask).max() <= 0.51
    assert np.abs(background - brightness * frames)[~mask].mean() < 4


def test_brightness_is_the_same_in_every_chunk(here, in_chunks):
    frames = np.repeat(np.float32(1000) * make_frames(1) / 255, 45, axis=0)
    frames[30:, :3, :3] = 5000
    np.save("in.npy", frames)
    assert run("in.npy", "-b b").exit_code == 0
    assert np.ptp(read("b")[0][:, 10:].mean(axis=(1, 2))) < 1


@pytest.mark.parametrize("name", ["made.npz", "new.npz/", "new.v2/"])
def test_a_slash_makes_any_name_a_folder(here, folder, name):
    (here / "made.npz").mkdir()
    assert run(folder / "in.npy", f"-f {name}").exit_code == 0
    assert len(list((here / name).glob("frame_*.png"))) == 45


def test_options_reach_the_work(here, folder):
    given = "--rank 1 --shadows-are-foreground --threshold 30 --smallest 7 --solver rpcag --threads 1"
    result = run(folder / "in.npy", f"{given} -b b.npy --json")
    expected = separate(folder / "in.npy", rank=1, shadows=False, threshold=30.0, smallest=7, solver="rpcag")
    assert json.loads(result.stdout)["choices"] == {what: value for what, value, _ in expected.report.choices}
    assert_array_equal(np.load("b.npy"), expected.background)


def test_a_rate_may_be_asked_for(here, folder):
    assert run(folder / "in.npy", "-b b.mp4 --fps 12.5").exit_code == 0
    with open_frames("b.mp4") as frames:
        assert frames.fps == pytest.approx(12.5)


def test_json_is_all_of_stdout(here, folder):
    result = run(folder / "in.gif", "-m m.npy -r r.html --json")
    found = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert (found["frames"], found["height"], found["width"], found["rank"]) == (45, 24, 32, 4)
    assert (found["outputs"], found["report"], found["warnings"]) == ({"mask": "m.npy"}, "r.html", [])
    assert found["foreground_share"] == pytest.approx(np.load("m.npy").mean(axis=(1, 2)), abs=1e-6)


def test_the_report_is_written_if_asked_and_may_be_all(here, folder, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["graphlowrank", "video", "my hall.mp4", "-r", "r.html"])
    assert "45 frames of 24 x 32 pixels" in run(folder / "in.mp4", "--report new/r.html").stdout
    assert tree(here) == ["new", "new/r.html"]
    assert "graphlowrank video &#39;my hall.mp4&#39; -r r.html" in (here / "new" / "r.html").read_text(encoding="utf-8")


@pytest.mark.filterwarnings("default")
def test_a_truncated_video_is_done_as_far_as_it_goes_and_that_is_said(here, folder):
    shown = warnings.showwarning
    result = run(folder / "half.mp4", "-m m.npy -r r.html --json")
    n = len(np.load("m.npy"))
    text = f"{folder / 'half.mp4'} announces 45 frames, only {n} could be read."
    assert result.stderr.splitlines()[0] == f"warning: {text}"  # without a line of our code
    assert json.loads(result.stdout)["warnings"] == [text]
    assert text in (here / "r.html").read_text(encoding="utf-8")
    assert warnings.showwarning is shown


def test_progress_is_lines_where_there_is_no_terminal(here, folder, in_chunks, monkeypatch):
    monkeypatch.setattr(command, "LINE_EVERY", -1.0)
    *lines, last = run(folder / "in.npy", "-m m.npy").stderr.splitlines()
    numbers = [re.fullmatch(r"(\d+) frames of 45, \d+ s left, \d+ frames/s", line)[1] for line in lines]
    assert (numbers, last) == (["15", "30", "45"], "wrote m.npy")


def test_a_terminal_gets_a_bar(folder, monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with open_frames(folder / "in.npy") as frames, command._showing(frames) as told:
        told(12)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert re.search(r"12/45.* \d+ frames/s", shown.err)


def test_help_shows_examples_and_every_option():
    shown = run("--help").stdout
    for option in typer.main.get_command(app).commands["video"].params:
        assert all(name in shown for name in option.opts if name.startswith("-")), option.opts
    assert "graphlowrank video hall.mp4 -b empty.mp4 -f people.mp4 -r report.html\n" in re.sub(" +\n", "\n", shown)


@pytest.mark.parametrize(
    ("given", "text"),
    [("", "nothing to write"), ("-m m.npy --solver pca", "rpcag"), ("-m m.npy --scale 2", "--scale"),
     ("-m m.npy --step 0", "--step"), ("-m m.npy --max-memory -1", "--max-memory"), ("-r .", "--report")],
)  # fmt: skip
def test_wrong_usage_exits_with_2(here, folder, given, text):
    result = run(folder / "in.npy", given)
    assert (result.exit_code, result.stdout, tree(here), text in result.stderr) == (2, "", [], True)


@pytest.mark.parametrize(
    ("source", "given", "cause", "remedy"),
    [
        ("none.mp4", "-m new/m.npy", "there is no file or folder {0}/none.mp4.", INPUT),
        ("head.mp4", "-m m.npy", "{0}/head.mp4 holds no video.", HELP),
        ("one.npy", "-m m.npy", "at least two frames are needed; the selection has 1 of the 1", HELP),
        ("in.npy", "-b b.npy -m m.xyz", "m.xyz is not of a known kind: a file that ends in .mp4", HELP),
        ("in.npy", "-m file/m.npy", "cannot write file/m.npy: ", PLACE),
        ("in.npy", "-r file/r.html", "cannot write file/r.html: ", PLACE),
        ("in.npy", "-b full", "the folder full is not empty", PLACE),
        ("in.npy", "-b link.npy", "--background is the input itself", HELP),
        ("in.npy", "-f x.npy -b ./x.npy", "--background and --foreground are the same place", HELP),
        ("in.npy", "-b x -m x/m.npy", "--background and --mask are the same place, or one is inside the other", HELP),
        (
            "in.npy",
            "-b x/ -r x/r.html",
            "--background and --report are the same place, or one is inside the other",
            HELP,
        ),
    ],
)
def test_refusals_before_any_work(here, folder, monkeypatch, source, given, cause, remedy):
    monkeypatch.setattr(command, "open_sink", lambda *_, **__: pytest.fail("it has begun"))
    (here / "full").mkdir()
    for name in ("file", "full/notes.txt"):
        (here / name).write_text("mine")
    (here / "link.npy").symlink_to(folder / "in.npy")
    before = tree(here)
    said, advice = failure(run(folder / source, given))
    assert said.startswith(cause.format(folder))
    assert (advice, tree(here)) == (remedy, before)


def test_too_little_memory(here, folder):
    cause, remedy = failure(run(folder / "in.mp4", "-b b.mp4 -r r.html --max-memory 0.1"))
    assert re.fullmatch(r"max_memory of 0.1 GB is too little .*: give [\d.]+ GB, or a smaller scale.", cause)
    assert (remedy, tree(here)) == (HELP, [])


def test_an_input_that_may_not_be_read_is_named(here, folder, monkeypatch):
    monkeypatch.setattr(command, "open_frames", Mock(side_effect=PermissionError(errno.EACCES, "not yours", "in.npy")))
    assert failure(run(folder / "in.npy", "-m m.npy")) == ("in.npy: not yours", INPUT)


@pytest.mark.parametrize(
    ("package", "source", "given"),
    [("av", "in.mp4", "-m m.npy"), ("av", "in.npy", "-m m.mp4"), ("PIL", "pictures", "-m m.npy"),
     ("PIL", "in.npy", "-m m"), ("PIL", "in.npy", "-r r.html"), ("jinja2", "in.npy", "-m m.npy -r r.html")],
)  # fmt: skip
def test_a_missing_package_says_what_to_install(here, folder, monkeypatch, package, source, given):
    for name in (package, f"{package}.Image"):
        monkeypatch.setitem(sys.modules, name, None)
    assert failure(run(folder / source, given))[1] == "pip install graphlowrank[video]"
    assert tree(here) == []


def test_arrays_need_no_package(here, folder, monkeypatch):
    for name in ("av", "PIL", "PIL.Image", "jinja2"):
        monkeypatch.setitem(sys.modules, name, None)
    assert run(folder / "in.npy", "-b b.npy -m m.npz").exit_code == 0


@pytest.mark.parametrize(
    ("home", "step", "error", "said"),
    [
        (sink.ImageSink, "_append", FULL, "error: cannot write f: no space"),
        (sink.ImageSink, "_append", KeyboardInterrupt(), "interrupted; no half-written file is left"),
        (command, "render_video", ValueError("no"), "error: no"),
        (sink.VideoSink, "_finish", FULL, "error: cannot write b.mp4: no space"),
        (_files.Path, "replace", FULL, "error: cannot write r.html: no space"),
    ],
)  # fmt: skip
def test_a_failure_leaves_older_files_and_nothing_else(here, folder, in_chunks, monkeypatch, home, step, error, said):
    first = [None] if step == "_append" else []  # it goes well with the first block
    monkeypatch.setattr(home, step, Mock(side_effect=[*first, *[error] * 4]))
    older = ["b.mp4", "m.npz", "r.html"]
    for name in older:
        (here / name).write_text("older")
    result = run(folder / "in.npy", "-b b.mp4 -f f -m m.npz -r r.html")
    assert result.exit_code == (1 if said.startswith("error") else 130)
    assert (result.stdout, result.stderr.splitlines()[0], tree(here)) == ("", said, older)
    assert {path.read_text() for path in here.iterdir()} == {"older"}


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_signal_in_the_middle_leaves_nothing(here, folder):
    words = f"video {folder}/in.npy -b b.webm -f f -m m.npz -r r.html".split()
    with interruptible([sys.executable, "-c", SLOW, *words]) as process:
        for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            assert process.stderr.readline() == "written\n"
            assert len(tree(here)) > 45  # the pictures are there
            process.send_signal(sent)
            assert process.stdout.readline() == "130\n"
            assert process.stderr.readline() == "interrupted; no half-written file is left\n"
            assert tree(here) == []
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_signals_are_given_back_and_nohup_is_respected(here, folder, monkeypatch):
    both, seen = (signal.SIGTERM, signal.SIGHUP), []
    monkeypatch.setattr(command, "_separate", lambda *_: seen.extend(map(signal.getsignal, both)))
    before = list(map(signal.signal, both, (signal.SIG_DFL, signal.SIG_IGN)))
    try:
        run(folder / "in.npy", "-m m.npy")
        assert callable(seen[0])
        assert seen[1] == signal.SIG_IGN
        assert list(map(signal.getsignal, both)) == [signal.SIG_DFL, signal.SIG_IGN]
    finally:
        list(map(signal.signal, both, before))
