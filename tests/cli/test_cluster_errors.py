"""Errors, warnings and interrupts of ``graphlowrank cluster``."""

import json
import os
import signal
import subprocess
import sys
from unittest.mock import Mock

import numpy as np
import pytest
import scipy.sparse as sp
import typer

from command_helpers import failure, invoke, succeeded, tree
from graphlowrank import CompressiveClustering
from graphlowrank.cli import app, outputs
from graphlowrank.cli import cluster as command
from graphlowrank.cli.options import OPTION_NAMES, to_option_names
from graphlowrank.estimators.fit_report import FitReport
from graphlowrank.io import text as text_files
from helpers import interruptible

HELP = "see graphlowrank cluster --help, or run it again with --debug to see where it failed"
PLACE = "choose another place for the output"
INPUT = "check the name of the input, and that it may be read"
SLOW = """
import signal, sys, time
from graphlowrank.cli import app, cluster
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may ignore it
write = cluster.write_labels
def wait(*parts, **named):
    write(*parts, **named)
    print("written", file=sys.stderr, flush=True)
    time.sleep(60)
cluster.write_labels = wait
for last in (False, True):  # the imports take longer than the rest
    try:
        app()
    except SystemExit as end:
        print(end.code, flush=True)
        if last:
            raise
"""


def run(words):
    return invoke("cluster", words)


def done(words):
    return succeeded(run(words))


def test_infinite_values_of_a_sparse_table_are_counted_and_the_first_is_named(here):
    sparse = sp.csr_array(([1.0, np.inf, 2.0], ([0, 2, 2], [1, 0, 3])), shape=(4, 5))
    sp.save_npz("gaps.npz", sparse)
    assert failure(run("gaps.npz -o out.csv"))[0].endswith("has 1 infinite value, the first in row 3, column 1.")
    assert tree(here) == ["gaps.npz", "in.csv"]


@pytest.mark.parametrize(
    ("given", "text"),
    [("in.csv", "--output"), ("in.csv -o out.csv -k 0", "'0' is neither"), ("in.csv -o out.csv -k many", "'many' is"),
     ("in.csv -o out.csv --scaling some", "features"), ("in.csv -o out.csv --draws 0", "--draws"),
     *((f"in.csv -o out.csv --downsampling {words}", text) for words, text in {
         "0.5 2": "'0.5' is not a number >= 1: give two of them, or 'auto' alone", "2 b": "'b' is not a number",
         "inf 2": "'inf' is not a number", "nan 2": "'nan' is not a number", "2 auto": "'auto' is not a number",
         "auto 2": "unexpected extra argument", "2": "--downsampling",
     }.items()),
     ("in.csv -o .", "--output"), ("in.csv -o out.csv --top-features 0", "--top-features"), ("-o out.csv", "FILE")],
)  # fmt: skip
def test_wrong_usage_exits_with_2(here, given, text):
    result = run(given)
    assert (result.exit_code, result.stdout, tree(here), text in result.stderr) == (2, "", ["in.csv"], True)


@pytest.mark.parametrize(
    ("given", "cause", "remedy"),
    [
        ("none.csv -o new/out.csv", "there is no file or folder none.csv.", INPUT),
        ("none -o new/out.csv", "there is no file or folder none.", INPUT),
        ("text.csv -o new/out.csv", "text.csv cannot be read as it is: column 2 ('b') has text", "give --label b"),
        ("in.csv -o out.xyz", "out.xyz is not of a known kind: .csv, .tsv,", HELP),
        ("in.csv -o ./in.csv", "--output is the input itself", HELP),
        ("in.csv -o out.csv -r ./out.csv", "--output and --report are the same place", HELP),
        ("in.csv -o text.csv/out.csv", "cannot write text.csv/out.csv: ", PLACE),
        ("in.csv -o out.csv --key X", "in.csv takes no key", HELP),
        ("in.csv -o out.csv --column confidence", "--column must not be 'confidence'", HELP),
        ("in.csv -o out.csv --normalize-counts", "in.csv has negative values, down to -", "omit --norma"),
        ("in.csv -o out.csv --log1p", "in.csv has values down to -", "omit --log1p"),
    ],
)
def test_refusals_before_any_work(here, monkeypatch, given, cause, remedy):
    monkeypatch.setattr(command, "CompressiveClustering", lambda **_: pytest.fail("it has begun"))
    (here / "text.csv").write_text("a,b\nc,d\n")
    before = tree(here)
    said, advice = failure(run(given))
    assert (said[: len(cause)], advice[: len(remedy)], tree(here)) == (cause, remedy, before)


def test_more_clusters_than_samples(here):
    result = run("in.csv -o out.csv -k 500")
    cause, remedy = failure(result)
    assert cause == "--clusters 500 is more than the 45 samples."
    assert "fitting" not in result.stderr
    assert (remedy, tree(here)) == (HELP, ["in.csv"])


def test_messages_of_the_library_name_the_options(here):
    result = run("in.csv -o out.csv -k 8 --downsampling 7.5 1 -r r.html")
    assert failure(result)[0] == "--clusters 8 is more than the 6 kept samples (see --downsampling)."


@pytest.mark.filterwarnings("default")
def test_more_neighbors_than_samples_are_a_warning(here):
    result = run("in.csv -o out.csv -k 3 --neighbors 45")
    assert "warning: --neighbors 45 is lowered to 44: there are only 45 samples." in result.stderr
    assert tree(here) == ["in.csv", "out.csv"]


@pytest.mark.filterwarnings("default")
def test_warnings_of_the_library_name_the_options(here):
    result = done("in.csv -o out.csv -k 2 --downsampling 7.5 1 --json")
    said = "--downsampling 7.5 1 keeps only 6 of 45 samples; expect a coarse answer."
    assert json.loads(result.stdout)["warnings"][0] == said
    assert f"warning: {said}" in result.stderr.splitlines()


def test_options_that_messages_are_put_in_exist():
    commands = typer.main.get_command(app).commands
    options = {opt for name in ("cluster", "recover") for option in commands[name].params for opt in option.opts}
    assert set(OPTION_NAMES.values()) <= options
    model = {**CompressiveClustering().get_params(), "n_components": None}
    assert {name for name in OPTION_NAMES if name.isidentifier()} <= set(model)


@pytest.mark.parametrize("text", ["n_clusters.csv has text", "/data/downsampling/x.npy is damaged",
                                  "my_n_jobs is", "downsampling-2.csv has 3 columns", "a column of text",
                                  "x.csv has no value in column 2 ('n_jobs')."])  # fmt: skip
def test_names_of_files_and_words_are_left_alone(text):
    assert to_option_names(text) == text


def test_parameters_and_their_values_become_options():
    text = "n_neighbors=10 needs at least 11 samples, got n_samples=5; lower n_neighbors."
    assert to_option_names(text) == "--neighbors 10 needs at least 11 samples, got 5 samples; lower --neighbors."
    text = "downsampling=(100.0, 2.5) keeps only 3 of 300 samples."
    assert to_option_names(text) == "--downsampling 100 2.5 keeps only 3 of 300 samples."


@pytest.mark.parametrize(
    ("package", "given", "cause", "install"),
    [("h5py", "-o out.h5ad", "Writing .h5ad files needs h5py", "graphlowrank[io]"),
     ("pyarrow", "-o out.parquet", "Writing .parquet files needs pyarrow", "graphlowrank[io]"),
     ("jinja2", "-o out.csv -r r.html", "the report needs jinja2", "graphlowrank[plots]")],
)  # fmt: skip
def test_a_missing_package_says_what_to_install(here, monkeypatch, package, given, cause, install):
    monkeypatch.setitem(sys.modules, package, None)
    said, remedy = failure(run(f"in.csv {given}"))
    assert said.startswith(cause)
    assert (remedy, tree(here)) == (f"pip install {install}", ["in.csv"])


def test_debug_shows_the_failure_itself(here):
    assert isinstance(run("none.csv -o out.csv --debug").exception, FileNotFoundError)


@pytest.mark.parametrize(
    ("home", "step", "error", "said"),
    [
        (command, "write_labels", OSError(28, "no space"), "error: no space"),
        (command, "write_labels", KeyboardInterrupt(), "interrupted; no half-written file is left"),
        (FitReport, "to_html", ValueError("no"), "error: no"),
        (outputs, "sync", OSError(28, "no space"), "error: no space"),
        (text_files, "writing", OSError(28, "no space"), "error: no space"),
    ],
)
def test_a_failure_leaves_older_files_and_nothing_else(here, monkeypatch, home, step, error, said):
    for name in ("out.csv", "r.html"):
        (here / name).write_text("older")
    monkeypatch.setattr(home, step, Mock(side_effect=error))
    result = run("in.csv -k 3 -o out.csv -r r.html")
    assert result.exit_code == (1 if said.startswith("error") else 130)
    assert (result.stdout, said in result.stderr.splitlines()) == ("", True)
    assert tree(here) == ["in.csv", "out.csv", "r.html"]
    assert {(here / name).read_text() for name in ("out.csv", "r.html")} == {"older"}


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_signal_in_the_middle_leaves_nothing(here):
    words = ["cluster", "in.csv", "-k", "3", "-o", "out.csv", "-r", "r.html"]
    with interruptible([sys.executable, "-c", SLOW, *words]) as process:
        for sent in (signal.SIGINT, signal.SIGTERM):
            while process.stderr.readline() not in ("written\n", ""):
                pass
            assert len(tree(here)) == 4  # the labels are there, under another name
            process.send_signal(sent)
            assert process.stdout.readline() == "130\n"
            assert process.stderr.readline() == "interrupted; no half-written file is left\n"
            assert tree(here) == ["in.csv"]
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")


def test_too_little_address_space_is_refused_before_any_work(monkeypatch):
    """Under such limits the libraries end the process by a signal, or wait forever."""
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (900_000 * 1024, resource.RLIM_INFINITY))
    cause, remedy = failure(run("none.csv -o labels.csv"))
    assert cause == "the address space is limited to 0.92 GB; compiled libraries crash with so little"
    assert remedy == "allow at least 1.3 GB (ulimit -v 1300000)"


@pytest.mark.parametrize("command", ["cluster", "recover"])  # whose options import pandas
def test_arrow_reserves_nothing_in_a_limited_address_space(tmp_path, command):
    """Its allocator would reserve 1 GiB, which crashed or stopped the other libraries below 2.1 GB."""
    pytest.importorskip("resource")
    code = (
        "import atexit, sys; from graphlowrank.cli import app; import resource\n"
        "resource.setrlimit(resource.RLIMIT_AS, (64 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))\n"
        "atexit.register(lambda: print(__import__('pyarrow').default_memory_pool().backend_name))\n"
        f"app(['{command}', 'none.csv', '-o', 'out.csv'])"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (process.returncode, process.stdout) == (1, "system\n"), process.stderr
