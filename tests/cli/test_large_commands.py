"""The commands ``cluster``, ``recover`` and ``plan`` for data that do not fit in memory."""

import json
import os
import shutil
import signal
import subprocess
import sys
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from command_helpers import failure, invoke, succeeded, tree
from graphlowrank import CompressiveClustering, CompressivePCA
from graphlowrank.cli import large_answers, workers
from graphlowrank.outofcore import resume
from graphlowrank.outofcore.settings import large_data
from graphlowrank.preprocessing import rows

zarr = pytest.importorskip("zarr")
pytest.importorskip("dask")

N, P, BLOCK = 300, 6, 64
HELP = "see graphlowrank cluster --help, or run it again with --debug to see where it failed"
TWO_LEVEL = "in.npy -k 3 --scaling none --method two_level --threads 1"
KILLED = f"""
import os, signal, sys
from graphlowrank.outofcore import resume
from graphlowrank.preprocessing import rows
rows.BLOCK_ENTRIES, rows.MIN_BLOCK_ROWS = {BLOCK * P}, {BLOCK}
add = resume.PartialOutput.add
def add_some(self, arrays, facts):
    add(self, arrays, facts)
    if len(self.facts) == 2:
        os.kill(os.getpid(), signal.{{}})
resume.PartialOutput.add = add_some
from graphlowrank.cli import app
app(sys.argv[1:])
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Three clear groups in a zarr group, in blocks of 64 rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rows, "BLOCK_ENTRIES", BLOCK * P)
    monkeypatch.setattr(rows, "MIN_BLOCK_ROWS", BLOCK)
    rng = np.random.default_rng(0)
    X = 4 * rng.standard_normal((3, P))[rng.integers(3, size=N)] + 0.5 * rng.standard_normal((N, P))
    X = X.astype(np.float32)
    zarr.open_group("in.zarr", mode="w").create_array("X", data=X, chunks=(50, P))
    np.save("in.npy", X)
    return tmp_path


def cluster(words):
    return invoke("cluster", words)


def fitted(cls, *arguments, method, **options):
    with large_data(method=method):
        return cls(*arguments, random_state=0, n_jobs=1, **options).fit("in.npy")


@pytest.fixture
def expected(here, cache={}):  # noqa: B006 (the data are the same in each test)
    """Labels and confidence that the library finds."""
    if not cache:
        model = fitted(CompressiveClustering, 3, scaling="none", method="two_level")
        cache["found"] = model.labels_.compute(), model.confidence_.compute()
    return cache["found"]


def assert_found(name, expected):
    for one, other in zip(labels_of(name), expected, strict=True):
        assert_array_equal(one, other)


def labels_of(name):
    group = zarr.open_group(name, mode="r")
    return group["label"][:], group["confidence"][:]


def stop_after(monkeypatch, n_blocks, error):
    """Let a run fail once so many blocks are written."""
    add = resume.PartialOutput.add

    def add_some(self, arrays, facts):
        if len(self.facts) == n_blocks:
            raise error
        add(self, arrays, facts)

    monkeypatch.setattr(resume.PartialOutput, "add", add_some)


def stopped(monkeypatch, words, n_blocks=2, command="cluster", error=None):
    with monkeypatch.context() as patch:
        stop_after(patch, n_blocks, KeyboardInterrupt() if error is None else error)
        return invoke(command, words)


def test_labels_of_all_rows_are_those_of_the_library(here, expected):
    result = succeeded(cluster(f"{TWO_LEVEL} -o new/out.zarr".replace("npy", "zarr")))
    assert_found("new/out.zarr", expected)
    first, second, third, fourth, empty, *table = result.stdout.splitlines()
    assert first == f"{N} samples x {P} features of in.zarr."
    assert "names of samples and features are neither read nor written" in second
    one, two, three = sorted(np.bincount(expected[0]).tolist(), reverse=True)
    assert third == f"3 clusters of {one}, {two} and {three} samples; mean confidence {expected[1].mean():.2f}."
    assert fourth.startswith("Method two_level: as given.")
    assert empty == ""
    assert table[0].split() == ["n_clusters", "3", "as", "given"]
    assert result.stderr.splitlines()[-1] == "wrote new/out.zarr"
    assert [one.name for one in (here / "new").iterdir()] == ["out.zarr"]


@pytest.mark.parametrize("name", ["out.npy", "out.csv", "out.parquet", "out.zarr"])
def test_labels_are_gathered_in_other_formats(here, name):
    blocks, labels, confidence = [slice(0, 3), slice(3, 5)], np.array([0, 1, 1, 0, 2]), np.linspace(0, 1, 5)
    columns = [resume.Column("label", labels.dtype), resume.Column("confidence", confidence.dtype)]
    with resume.begun(here / "p", {}, {}, blocks, columns) as partial:
        for block in blocks:
            partial.add({"label": labels[block], "confidence": confidence[block]}, {})
        large_answers.LabelAnswer("label").finish(partial, here / name)
    if name == "out.npy":
        assert_array_equal(np.load(name), labels)
    elif name == "out.zarr":
        assert_found(name, (labels, confidence))
    else:
        table = pd.read_csv(name) if name == "out.csv" else pd.read_parquet(name)
        assert_array_equal(table["label"], labels)
        assert_array_equal(table["confidence"], confidence)


def test_data_that_fit_have_the_labels_of_the_command_without_memory(here):
    succeeded(cluster("in.npy -k 3 -o whole.npy"))
    record = json.loads(succeeded(cluster("in.npy -k 3 -o out.zarr --memory 4GB --json")).stdout)
    assert_array_equal(labels_of("out.zarr")[0], np.load("whole.npy"))
    assert (record["method"], sum(record["sizes"]), record["resumed_blocks"]) == ("whole", N, 0)
    assert sorted(one.name for one in here.iterdir()) == ["in.npy", "in.zarr", "out.zarr", "whole.npy"]


@pytest.mark.parametrize("method", ["two_level", "out_of_core", "whole"])
def test_recovered_rows_are_those_of_the_library(here, method):
    X = np.load("in.npy")
    result = succeeded(invoke("recover", f"in.npy -o out.zarr --method {method} --threads 1"))
    model = fitted(CompressivePCA, method=method)
    found = zarr.open_group("out.zarr", mode="r")["X"][:]
    assert found.dtype == np.float32
    expected = model.inverse_transform(model.transform(X)) if method == "two_level" else np.asarray(model.low_rank_)
    assert_allclose(found, expected, atol=1e-5)
    units = 1 if model.feature_scale_ is None else model.feature_scale_
    residual = np.linalg.norm((X - found) / units) / np.linalg.norm((X - model.offset_) / units)
    assert f"rank {model.n_components_}; the residual is {residual:.3f} of the data" in result.stdout


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_stopped_command_continues_without_a_fit(here, monkeypatch, expected, error):
    zarr.open_group("out.zarr", mode="w").create_array("old", data=np.ones(3))
    old = tree(here / "out.zarr")
    result = stopped(monkeypatch, f"{TWO_LEVEL} -o out.zarr", error=error)
    kept = "2 of 5 blocks are kept in "
    if isinstance(error, KeyboardInterrupt):
        assert result.exit_code == 130
        assert result.stderr.splitlines()[-1].startswith(f"interrupted; {kept}")
    else:
        assert failure(result) == (
            "No space left on device", "free some space on the disk, or choose another place for the output"
        )  # fmt: skip
        assert kept in result.stderr
    assert tree(here / "out.zarr") == old
    with monkeypatch.context() as patch:
        patch.setattr(large_answers.LabelAnswer, "estimator", None)  # a fit would fail
        result = succeeded(cluster(f"{TWO_LEVEL} -o out.zarr --memory 1GB --json"))
    assert "2 of 5 blocks are done, and the model is that of the first run" in result.stderr
    record = json.loads(result.stdout)
    assert record["resumed_blocks"] == 2
    assert sum(record["sizes"]) == N
    assert_found("out.zarr", expected)
    assert not (here / "out.zarr.partial").exists()


def test_a_recovery_that_is_fitted_again_continues(here, monkeypatch):
    words = "in.npy -o out.zarr --method out_of_core --threads 1"
    assert stopped(monkeypatch, words, command="recover").exit_code == 130
    result = succeeded(invoke("recover", words))
    assert "2 of 5 blocks are done; the model is fitted again, with the same seed" in result.stderr
    model = fitted(CompressivePCA, method="out_of_core")
    assert_allclose(zarr.open_group("out.zarr", mode="r")["X"][:], np.asarray(model.low_rank_), atol=1e-5)


def test_other_options_or_another_input_are_refused(here, monkeypatch):
    stopped(monkeypatch, f"{TWO_LEVEL} -o out.zarr")
    remedy = "repeat the options of that run to continue it, or give --restart to begin anew and remove what it kept"
    folder = here / "out.zarr.partial"
    for words, changed in {
        TWO_LEVEL.replace("-k 3", "-k 4"): "--clusters was 3, is 4",
        f"{TWO_LEVEL} --seed 5 --column kind": "--column was label, is kind; --seed was 0, is 5",
    }.items():
        assert failure(cluster(f"{words} -o out.zarr")) == (
            f"{folder} is of a run that differs: {changed}.", remedy
        )  # fmt: skip
    np.save("in.npy", np.load("in.npy") + 1)
    cause, _ = failure(cluster(f"{TWO_LEVEL} -o out.zarr"))
    assert "files of the input was" in cause
    assert stopped(monkeypatch, f"{TWO_LEVEL} -o out.zarr --restart", 1).exit_code == 130
    assert len((folder / resume.LOG).read_text().splitlines()) == 1
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "mine.txt").touch()
    cause, _ = failure(cluster(f"{TWO_LEVEL} -o out.zarr --restart"))
    assert cause == f"{folder} is in the way: it was not made by this command."
    assert (folder / "mine.txt").exists()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no such signal")
def test_a_killed_command_continues_with_the_same_labels(here, expected):
    words = f"{TWO_LEVEL} -o out.zarr"
    code = [sys.executable, "-c", KILLED.format("SIGKILL"), "cluster", *words.split()]
    assert subprocess.run(code, check=False, capture_output=True).returncode == -signal.SIGKILL
    assert not (here / "out.zarr").exists()
    assert "2 of 5 blocks are done" in succeeded(cluster(words)).stderr
    assert_found("out.zarr", expected)


def test_workers_give_the_same_labels_and_leave_nothing(here, expected):
    pytest.importorskip("distributed")
    scratch = here / "scratch"
    scratch.mkdir()
    result = succeeded(cluster(f"{TWO_LEVEL} -o two.zarr --workers 1 --scratch scratch --memory 1GB"))
    assert "starting 1 worker\n" in result.stderr
    assert_found("two.zarr", expected)
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("answer", "cause", "remedy"),
    [
        (["tcp://a:1"], "worker tcp://a:1 does not see ", "put the input where all workers see it"),
        (RuntimeError("the dask cluster has no workers; add"), "the scheduler has no workers.", workers.NO_WORKER),
        (RuntimeError("worker a has graphlowrank 0.1"), "worker a has graphlowrank 0.1", "install the same version"),
    ],
)
def test_workers_of_a_scheduler_are_checked(here, monkeypatch, answer, cause, remedy):
    monkeypatch.setattr(workers, "_connect", lambda *given: None)
    check = Mock(side_effect=[answer])
    monkeypatch.setattr(workers, "check_versions", check)
    found = failure(cluster(f"{TWO_LEVEL} -o out.zarr --cluster tcp://a:1"))
    assert found[0].startswith(cause)
    assert found[1].startswith(remedy)


def test_a_chunk_that_cannot_be_read_is_named_with_its_rows(here):
    (chunk,) = (path for path in (here / "in.zarr" / "X").rglob("*") if path.parts[-2:] == ("3", "0"))
    chunk.write_bytes(b"broken")
    cause, _ = failure(cluster(f"{TWO_LEVEL} -o out.zarr".replace("npy", "zarr")))
    assert cause.startswith(f"rows 128 to 191 of in.zarr: {here / 'in.zarr'} cannot be read: ")
    assert tree(here)[0] == "in.npy"
    assert not (here / "out.zarr").exists()


def test_columns_of_text_are_refused_not_dropped(here):
    table = pd.DataFrame(np.load("in.npy"), columns=list("abcdef")).assign(name="x")
    table.to_parquet("in.parquet")
    cause, _ = failure(cluster("in.parquet -o out.zarr --memory 1GB"))
    assert cause.startswith("in.parquet has columns that are no numbers ('name'), which are not left out in silence")


@pytest.mark.parametrize(
    ("words", "cause", "remedy"),
    [
        ("no.zarr -o x.zarr --memory 1GB", "there is no file or folder no.zarr.",
         "check the name of the input, and that it may be read"),
        ("in.npy -o x.zarr --memory 4", "--memory 4 is too little: Python with its libraries takes 0.38 GB, and with "
         "a fit of 300 samples x 6 features 0.3", "give at least --memory 0."),
        ("in.npy -o x.zarr --memory 4XB", "--memory '4XB' is not understood: write a number and a unit", HELP),
        ("in.npy -o x.zarr --workers 1 --scratch no", "--scratch no is not a folder.", "make it, or choose"),
        ("in.zarr -o in.zarr --memory 1GB", "--output is the input itself", HELP),
        ("in.zarr -o in.zarr/y.npy --memory 1GB", "--output is inside the input", HELP),
        ("in.npy -o x.xyz --memory 1GB", "x.xyz is not of a known kind: .csv, ", HELP),
        ("in.npy -o full.zarr --memory 1GB", "full.zarr is a folder with other files, which is not replaced.",
         "choose another place"),
        ("in.npy -o /dev/null/x.zarr --memory 1GB", "cannot write /dev/null/x.zarr: ", "choose another place"),
        ("in.csv -o x.zarr --memory 1GB", "in.csv is not read in parts.", "convert it to .npy, .zarr, .h5 or .parquet"),
        ("in.npy -k 301 -o x.zarr --memory 1GB", "--clusters 301 is more than the 300 samples", HELP),
        ("in.npy -o x.zarr --column confidence --memory 1GB", "--column must not be 'confidence'", HELP),
        ("in.zarr -o x.zarr --key Y --memory 1GB", "in.zarr holds no 'Y'; it holds X (300, 6).", HELP),
        ("in.npy -o x.zarr --cluster tcp://127.0.0.1:9", "no scheduler of dask answers at tcp://127.0.0.1:9 within ",
         workers.NO_WORKER),
    ],
)  # fmt: skip
@pytest.mark.skipif(os.name == "nt", reason="/dev/null")
def test_errors_come_before_the_work(here, monkeypatch, words, cause, remedy):
    monkeypatch.setattr(workers, "CONNECT", 0.5)
    (here / "in.csv").write_text("1,2\n3,4\n")
    (here / "full.zarr").mkdir()
    (here / "full.zarr" / "mine.txt").touch()
    before = tree(here)
    found = failure(cluster(words))
    assert found[0].startswith(cause)
    assert found[1].startswith(remedy)
    assert tree(here) == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("-o x.zarr --memory 1GB --label 3", "it needs the whole table in memory, and --memory reads it in parts"),
        ("-o x.zarr --workers 1 -r x.html", "it needs the whole table in memory, and --workers reads it in parts"),
        ("-o x.zarr --workers 1 --cluster tcp://a:1", "--workers starts processes here, --cluster uses those of a"),
        ("-o x.zarr --cluster 10", "'10' is no address of a scheduler, such as tcp://10.0.0.1:8786 (--clusters is"),
        ("-o x.zarr --method both", "'both' is not one of 'auto', 'whole', 'out_of_core', 'two_level'"),
        ("-o x.h5ad --memory 1GB", "an .h5ad output needs the names of the samples"),
        ("-o x.csv --restart", "there is something to continue only with --memory, --workers or --cluster"),
        ("-o .", "File '.' is a directory."),
    ],
)
def test_options_that_contradict_each_other_are_usage_errors(here, words, sentence):
    result = cluster(f"in.npy {words}")
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.replace("│", " ").split())


def test_recovery_writes_zarr_only(here):
    result = invoke("recover", "in.npy -o x.npy --memory 1GB")
    assert result.exit_code == 2
    assert "x.npy cannot be written in parts; give a name that ends in .zarr" in result.stderr
    assert invoke("recover", "in.npy -o x.zarr -s y.zarr --memory 1GB").exit_code == 2


def test_labels_that_do_not_fit_in_memory_are_not_gathered(here, monkeypatch):
    monkeypatch.setitem(large_answers.LABEL_BYTES, ".npy", 10**8)
    cause, remedy = failure(cluster("in.npy -o x.npy --memory 1GB"))
    assert cause == "labels of 300 samples as .npy need about 30 GB of memory, and 1 GB may be used."
    assert remedy == "give a name that ends in .zarr, which is written in parts"


def test_without_dask_it_is_named(here, monkeypatch):
    monkeypatch.setattr("graphlowrank.io.contents.find_spec", lambda name: None)
    assert failure(cluster("in.npy -o x.zarr --memory 1GB"))[1] == "pip install graphlowrank[dask]"
    monkeypatch.undo()


def test_the_plan_names_the_method_and_what_each_needs(here, tmp_path):
    rows = np.lib.format.open_memmap(tmp_path / "big.npy", mode="w+", dtype=np.float32, shape=(2_000_000, 20))
    del rows  # a file without content on disk
    text = succeeded(invoke("plan", "big.npy -k 10 --memory 1GB")).stdout
    assert text.startswith("cluster 2000000 samples x 20 features with 1 GB of memory: two_level\n")
    assert "all data in memory need " in text
    assert "samples, extended to all" in text
    record = json.loads(succeeded(invoke("plan", "big.npy --recover --memory 1GB --json")).stdout)
    assert record["method"] == "out_of_core"
    assert record["needed"]["out_of_core"] < 1e9 < record["needed"]["whole"]
    found = json.loads(succeeded(invoke("plan", "big.npy -k 5 --recover --memory 1GB --json")).stdout)
    assert found["needed"]["out_of_core"] is None
    assert "the rank is given" in found["obstacle"]
