"""What holds for the inputs and outputs of every command: none is lost, and the message helps."""

import errno
import os
import signal
import socket
import stat
from pathlib import Path

import numpy as np
import pytest

from command_helpers import failure, invoke, succeeded, tree
from graphlowrank import cli
from graphlowrank.cli.console import _remedy
from graphlowrank.cli.outputs import check_distinct
from helpers import received

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX modes, pipes and signals")


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, shape in {"x": (12, 5), "frames": (4, 6, 6), "sino": (8, 6), "angles": (6,)}.items():
        np.save(f"{name}.npy", np.arange(np.prod(shape), dtype=float).reshape(shape))
    (tmp_path / "angles.png").write_text("0\n30\n60\n90\n120\n150\n")
    (tmp_path / "link.npy").symlink_to("x.npy")
    os.link("angles.npy", "hard.npy")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "words", "option", "what"),
    [
        ("cluster", "x.npy -o x.npy", "output", "the input"),
        ("cluster", "x.npy -o out.csv -r x.npy", "report", "the input"),
        ("cluster", "x.npy -o link.npy", "output", "the input"),
        ("recover", "x.npy -o x.npy", "output", "the input"),
        ("recover", "x.npy -o out.npy -s x.npy", "sparse", "the input"),
        ("recover", "x.npy -o out.npy -r x.npy", "report", "the input"),
        ("video", "frames.npy -b frames.npy", "background", "the input"),
        ("video", "frames.npy -m frames.npy", "mask", "the input"),
        ("video", "frames.npy -b out.npy -r frames.npy", "report", "the input"),
        ("reconstruct", "sino.npy -o sino.npy", "output", "the input"),
        ("reconstruct", "sino.npy --angles angles.npy -o angles.npy", "output", "the file of --angles"),
        ("reconstruct", "sino.npy --angles angles.npy -o ./../{here}/angles.npy", "output", "the file of --angles"),
        ("reconstruct", "sino.npy --angles angles.npy -o hard.npy", "output", "the file of --angles"),
        ("reconstruct", "sino.npy --angles angles.png -o angles.png", "output", "the file of --angles"),
    ],
)
def test_no_input_is_overwritten(inputs, command, words, option, what):
    before = {path.name: path.read_bytes() for path in inputs.iterdir()}
    cause, _ = failure(invoke(command, words.format(here=inputs.name)))
    assert cause == f"--{option} is {what} itself: choose another place."
    assert {path.name: path.read_bytes() for path in inputs.iterdir()} == before


def test_a_folder_around_an_input_is_no_output(tmp_path):
    with pytest.raises(ValueError, match=r"--output is a folder that contains the input"):
        check_distinct({"the input": tmp_path / "out.zarr" / "x.npy"}, {"output": tmp_path / "out.zarr"})


@posix
def test_outputs_keep_their_modes_and_pipes_stay(inputs):
    before = os.umask(0o022)
    os.mkfifo("pipe")  # not /dev/null, which a fault would replace on the machine that runs the tests
    try:
        (inputs / "out.npy").touch(0o600)
        with received((inputs / "pipe").read_text) as pages:
            succeeded(invoke("recover", "x.npy --rank 1 -o out.npy -s new.npy -r pipe"))
            assert (inputs / "pipe").is_fifo()
    finally:
        os.umask(before)
    assert pages[0].rstrip().endswith("</html>")
    assert [stat.S_IMODE((inputs / name).stat().st_mode) for name in ("out.npy", "new.npy")] == [0o600, 0o644]


@posix
def test_a_pipe_is_no_folder_of_frames(inputs):
    os.mkfifo("pipe")
    assert failure(invoke("video", "frames.npy -b pipe"))[0].startswith("pipe is a file, so it cannot be a folder")


RUNS = {
    "demo": ("demo:run_demo", "-o new/demo.html"),
    "cluster": ("cluster:run_cluster", "x.npy -o out.csv"),
    "recover": ("recover:run_recover", "x.npy -o out.csv"),
    "plan": ("plan:run_plan", "x.npy"),
    "warmup": ("warmup:run_warmup", ""),
    "video": ("video:run_video", "frames.npy -b out.npy"),
    "reconstruct": ("reconstruct:run_reconstruct", "sino.npy -o out.npy"),
}


@posix
@pytest.mark.parametrize("command", RUNS)
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_every_command_ends_on_a_signal_as_on_an_interrupt(inputs, monkeypatch, command, sent):
    place, words = RUNS[command]
    module, _, function = place.partition(":")
    monkeypatch.setattr(f"{cli.__name__}.{module}.{function}", lambda *_, **__: signal.raise_signal(sent))
    before = signal.signal(sent, signal.SIG_DFL)
    try:
        result = invoke(command, words)
        assert signal.getsignal(sent) == signal.SIG_DFL
    finally:
        signal.signal(sent, before)
    assert result.exit_code == 130
    assert "interrupted; no half-written file is left" in result.stderr


def test_every_command_has_such_a_test():
    assert {each.name for each in cli.app.registered_commands} - set(RUNS) == {"bench", "reproduce"}  # of the harness


LONG = "a" * 300


@pytest.mark.parametrize("words", [f"x.npy -o {LONG}.csv", f"x.npy -o out.csv -r {LONG}.html", f"{LONG}.npy -o o.csv"])
def test_a_name_that_is_too_long_is_refused_before_the_work(inputs, monkeypatch, words):
    monkeypatch.setattr("graphlowrank.cli.cluster.CompressiveClustering", lambda **_: pytest.fail("it has begun"))
    before = tree(inputs)
    cause, remedy = failure(invoke("cluster", words))
    assert (cause.lower().endswith("file name too long"), remedy) == (True, "choose a shorter name")
    assert tree(inputs) == before


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "no space"), OSError(errno.EDQUOT, "quota"), OSError(errno.ENOSPC, "cannot write x: no"),
     OSError("Can't write data (errno = 28, error message = 'No space left on device')")],
)  # fmt: skip
@pytest.mark.parametrize("command", RUNS)
def test_a_full_disk_is_not_a_wrong_input(command, error):
    assert _remedy(error, command) == "free some space on the disk, or choose another place for the output"


@posix
def test_a_socket_without_a_reader_is_named(inputs):
    with socket.socket(socket.AF_UNIX) as unheard:
        unheard.bind("socket")
        cause, remedy = failure(invoke("recover", "x.npy --rank 1 -o out.npy -r socket"))
    assert (cause, remedy) == ("cannot write socket: Connection refused", "choose another place for the output")


@pytest.mark.parametrize(
    ("command", "words"), [("recover", "x.npy --rank 1 -o o.npy"), ("reconstruct", "sino.npy -o o.npy")]
)
def test_a_page_that_the_disk_has_no_room_for_is_named(inputs, monkeypatch, command, words):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail)
    before = tree(inputs)
    cause, remedy = failure(invoke(command, f"{words} -r page.html"))
    assert cause == "cannot write page.html: No space left on device"
    assert remedy == "free some space on the disk, or choose another place for the output"
    assert tree(inputs) == before
