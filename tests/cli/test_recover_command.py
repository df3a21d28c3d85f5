"""The command ``graphlowrank recover``, end to end."""

import json
import os
import re
import signal
import sys
from functools import cache
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import typer
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from command_helpers import failure, invoke, succeeded, tree
from graphlowrank import CompressivePCA, FastRobustPCAOnGraphs
from graphlowrank.cli import app, outputs
from graphlowrank.cli import recover as command
from graphlowrank.estimators.fit_report import FitReport
from graphlowrank.io import read, write_matrix
from helpers import interruptible

HELP = "see graphlowrank recover --help, or run it again with --debug to see where it failed"
PLACE = "choose another place for the output"
SLOW = """
import sys, time
from graphlowrank.cli import app, recover
write = recover.write_matrix
def wait(path, *rest, **more):
    write(path, *rest, **more)
    if "errors" in path.name:
        print("written", file=sys.stderr, flush=True)
        time.sleep(60)
recover.write_matrix = wait
app()
"""
N_ROWS = 45  # too few for the check for outliers, which would be most of the work
NAMES = [f"day {row}" for row in range(N_ROWS)], [f"s{column}" for column in range(12)]


def make_matrix(seed=0):
    """Rank two, smooth from row to row, with one entry in twenty an outlier."""
    rng = np.random.default_rng(seed)
    times = np.linspace(0, 3, N_ROWS)[:, None]
    clean = np.hstack([np.sin(times), np.cos(times)]) @ rng.standard_normal((2, 12)) + 4
    return clean, np.where(rng.random(clean.shape) < 0.05, 9.0, clean)


@cache
def answer_of_the_library():
    return CompressivePCA(2, random_state=0, n_jobs=1).fit(make_matrix()[1])


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(make_matrix()[1], *NAMES).to_csv("in.csv")
    return tmp_path


def run(words):
    return invoke("recover", words)


def done(words):
    return succeeded(run(words))


def test_the_matrix_is_that_of_the_library_and_closer_to_the_truth(here):
    clean, X = make_matrix()
    result = done("in.csv --rank 2 -o new/out.csv -s new/errors.csv --threads 1")
    wanted = answer_of_the_library().low_rank_.to_array()
    found, errors = read("new/out.csv"), read("new/errors.csv")
    assert_allclose(found.values, wanted, rtol=1e-9)
    assert_allclose(found.values + errors.values, X)
    assert np.linalg.norm(found.values - clean) < 0.6 * np.linalg.norm(X - clean)
    for table in (found, errors):
        assert (list(table.sample_names), list(table.feature_names)) == NAMES
    share = np.linalg.norm(X - wanted) / np.linalg.norm(X - answer_of_the_library().offset_)
    assert result.stdout.splitlines()[:2] == [
        "45 samples x 12 features of in.csv.",
        f"Recovered a matrix of rank 2; the residual is {share:.3f} of the data, centered.",
    ]
    assert result.stderr.splitlines()[-1] == "wrote new/out.csv, new/errors.csv"
    assert tree(here) == ["in.csv", "new", "new/errors.csv", "new/out.csv"]


@pytest.mark.parametrize("kind", ["tsv", "parquet", "npy", "npz", "mat", "h5", "h5ad", "zarr"])
def test_names_survive_in_every_format_that_has_them(here, kind):
    for _ in range(2):  # again: the older one is replaced
        done(f"in.csv --rank 2 -o out.{kind}")
    found = read(f"out.{kind}")
    assert_allclose(found.values, answer_of_the_library().low_rank_.to_array())
    if kind != "npy":
        assert (list(found.sample_names), list(found.feature_names)) == NAMES
    assert {name.split("/")[0] for name in tree(here)} == {"in.csv", f"out.{kind}"}


def test_the_whole_matrix_without_compression(here):
    result = done("in.csv --no-compression -o out.npy -r r.html")
    wanted = FastRobustPCAOnGraphs(random_state=0).fit(make_matrix()[1])
    assert_allclose(np.load("out.npy"), wanted.low_rank_)
    assert f"rank about {wanted.n_components_};" in result.stdout


def test_models_are_compared(here):
    done("in.csv -o out.npy -r r.html")
    wanted = CompressivePCA(random_state=0).fit(make_matrix()[1])
    assert_allclose(np.load("out.npy"), wanted.low_rank_.to_array())
    assert "validation on held-out entries" in Path("r.html").read_text()


def test_one_model_can_be_chosen(here):
    done("in.csv --solver rpca -o out.npy")
    wanted = CompressivePCA(solver="rpca", random_state=0).fit(make_matrix()[1])
    assert_allclose(np.load("out.npy"), wanted.low_rank_.to_array())


def test_options_reach_the_model(here, monkeypatch):
    seen = Mock(side_effect=ValueError("enough"))
    monkeypatch.setattr(command, "CompressivePCA", seen)
    run("in.csv -o out.npy")
    default = {
        "n_components": None,
        "loss": "l1",
        "random_state": 0,
        "n_jobs": None,
        "scaling": "auto",
        "solver": "auto",
    }
    assert seen.call_args.kwargs == default
    run("in.csv -o out.npy --rank 3 --loss huber --seed 5 --threads 2 --neighbors 4 --gamma-samples 1 "
        "--gamma-features 0 --downsampling 3 1 --scaling features")  # fmt: skip
    assert seen.call_args.kwargs == {
        "n_components": 3, "loss": "huber", "random_state": 5, "n_jobs": 2, "n_neighbors": 4, "gamma_samples": 1.0,
        "gamma_features": 0.0, "downsampling": (3.0, 1.0), "scaling": "features", "solver": "auto",
    }  # fmt: skip


def test_the_residual_of_a_table_in_different_units_is_scaled(here):
    clean = make_matrix()[0]
    X = clean + 0.05 * np.random.default_rng(1).standard_normal(clean.shape)
    units = np.r_[1e5, 1e4, np.full(10, 0.01)]
    pd.DataFrame(X * units, *NAMES).to_csv("mixed.csv")
    assert "each feature in its own unit" in done("mixed.csv --rank 2 -o out.npy -s errors.npy").stdout
    record = json.loads(done("mixed.csv --rank 2 -o again.npy -r page.html --json").stdout)
    M = np.load("out.npy")
    assert (np.sqrt(np.mean((M / units - clean) ** 2, axis=0)) < 0.5 * clean.std(axis=0)).all()
    assert_allclose(np.load("errors.npy"), X * units - M, atol=1e-9)
    model = CompressivePCA(2, random_state=0).fit(X * units)
    away, data = ((X * units - other) / model.feature_scale_ for other in (M, model.offset_))
    assert record["residual"] == pytest.approx(np.linalg.norm(away) / np.linalg.norm(data))
    assert "each feature in its own unit" in Path("page.html").read_text()
    assert "--no-compression works in the units" in run("in.csv -o x.npy --no-compression --scaling features").stderr


def test_one_seed_gives_the_same_bytes_whatever_the_threads(here):
    contents = []
    for threads in (1, 2):
        done(f"in.csv --seed 7 --threads {threads} -o out.npy -s errors.npy")
        contents.append((here / "out.npy").read_bytes() + (here / "errors.npy").read_bytes())
    assert contents[0] == contents[1]


def test_chosen_features_keep_their_names(here):
    done("in.csv --top-features 5 --rank 2 -o out.csv")
    found, X = read("out.csv"), make_matrix()[1]
    kept = np.sort(np.argsort(-X.var(axis=0))[:5])
    assert list(found.feature_names) == [f"s{column}" for column in kept]


def test_images_are_shown_as_images(here):
    Path("faces").mkdir()
    for row in range(20):
        grey = np.add.outer(np.arange(6) * 20, np.arange(8) * (row % 5)).astype(np.uint8)
        Image.fromarray(grey).save(f"faces/{row}.png")
    done("faces --rank 2 -o out.npy -r r.html")
    text = (here / "r.html").read_text(encoding="utf-8")
    assert text.count("data:image/png;base64,") == 24  # eight samples: input, recovered, residual
    low_rank = np.load("out.npy")
    assert low_rank.shape == (20, 48)
    done("faces --rank 2 -o cleaned/")  # written as images, under their names
    cleaned = read("cleaned")
    assert cleaned.sample_names == tuple(f"{row}.png" for row in range(20))
    assert_array_equal(cleaned.values, np.rint(np.clip(low_rank, 0, 255)))
    before = tree(here)
    assert failure(run("faces --rank 2 -o cleaned"))[0].startswith("cleaned is a folder with other files")
    for words in ("in.csv -o new", "faces --top-features 20 -o new", "faces -o clean.npy -s new"):
        assert failure(run(words))[0].startswith("new is not of a known kind: .csv, ")
    assert tree(here) == before


def test_json_is_all_of_stdout(here):
    result = done("in.csv --rank 2 -o out.npy -s errors.npy -r r.html --json")
    found = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert (found["samples"], found["features"], found["rank"]) == (45, 12, 2)
    assert found["written"] == {"output": "out.npy", "sparse": "errors.npy", "report": "r.html"}
    values = answer_of_the_library().singular_values_
    assert found["singular_values"] == pytest.approx(values.tolist())
    assert 0 < found["residual"] < 1


@pytest.mark.parametrize(
    ("given", "text"),
    [("", "--output"), ("-o out.npy --rank 0", "--rank"), ("-o out.npy --loss l3", "huber"),
     ("-o out.npy --gamma-samples -1", "--gamma-samples"), ("-o out.npy --downsampling 0 1", "--downsampling"),
     ("-o out.npy --downsampling 2 1 --no-compression", "--no-compression works on the whole matrix"),
     ("-o out.npy --solver svd", "'svd' is not one of 'auto', 'frpcag'"),
     ("-o out.npy --solver rpca --no-compression", "--no-compression is FRPCAG")],
)  # fmt: skip
def test_wrong_usage_exits_with_2(here, given, text):
    result = run(f"in.csv {given}")
    assert (result.exit_code, result.stdout, tree(here), text in result.stderr) == (2, "", ["in.csv"], True)


@pytest.mark.parametrize(
    ("given", "cause", "remedy"),
    [
        ("none.csv -o new/out.csv", "there is no file or folder none.csv.", "check the name of the input"),
        ("in.csv -o out.json", "out.json is not of a known kind: .csv, ", HELP),
        ("in.csv -o out.csv -s out.xyz", "out.xyz is not of a known kind: .csv, ", HELP),
        ("in.csv -o in.csv", "--output is the input itself", HELP),
        ("in.csv -o x.csv -s ./x.csv", "--output and --sparse are the same place", HELP),
        ("in.csv -o x.zarr -s x.zarr/y.npy", "--output and --sparse are the same place, or one is inside", HELP),
        ("in.csv -o mine.zarr", "mine.zarr is a folder with other files, which is not replaced.", PLACE),
        ("in.csv -o file/out.npy", "cannot write file/out.npy: ", PLACE),
        ("in.csv -o out.npy --graph g", "in.csv takes no graph", HELP),
        ("missing.csv -o out.npy", "missing.csv has no value in row 2.", "remove rows without any value"),
        ("inf.csv -o out.npy", "inf.csv has 1 infinite value, the first in row 2", "replace them by numbers"),
    ],
)
def test_refusals_before_any_work(here, monkeypatch, given, cause, remedy):
    monkeypatch.setattr(command, "CompressivePCA", lambda **_: pytest.fail("it has begun"))
    (here / "mine.zarr").mkdir()
    for name in ("mine.zarr/notes.txt", "file"):
        (here / name).write_text("mine")
    (here / "missing.csv").write_text("a,b\n1,2\n,\n3,4\n")
    (here / "inf.csv").write_text("a,b\n1,2\n3,inf\n")
    before = tree(here)
    said, advice = failure(run(given))
    assert (said[: len(cause)], advice[: len(remedy)], tree(here)) == (cause, remedy, before)


def test_too_high_a_rank(here):
    result = run("in.csv -o out.npy --rank 13")
    cause, remedy = failure(result)
    assert "fitting" not in result.stderr
    assert cause.startswith("--rank 13 is more than the 12")
    assert (remedy, tree(here)) == (HELP, ["in.csv"])


def failing_with(error, name):
    """Write as ever, but fail on a file of this name after half of it."""

    def write(path, *rest, **more):
        write_matrix(path, *rest, **more)
        if path.name == name:
            path.write_text("half")
            raise error

    return write


@pytest.mark.parametrize(
    ("home", "step", "broken", "said"),
    [
        (command, "write_matrix", failing_with(OSError(28, "no space"), "errors.csv"), "error: no space"),
        (command, "write_matrix", failing_with(KeyboardInterrupt(), "out.csv"), "interrupted; no half-written file"),
        (FitReport, "to_html", Mock(side_effect=ValueError("no")), "error: no"),
        (outputs, "sync", Mock(side_effect=OSError(28, "no space")), "error: no space"),
    ],
)
def test_a_failure_leaves_older_files_and_nothing_else(here, monkeypatch, home, step, broken, said):
    older = ["errors.csv", "out.csv", "r.html"]
    for name in older:
        (here / name).write_text("older")
    monkeypatch.setattr(home, step, broken)
    result = run("in.csv --rank 2 -o out.csv -s errors.csv -r r.html")
    assert result.exit_code == (1 if said.startswith("error") else 130)
    assert (result.stdout, said in result.stderr) == ("", True)
    assert tree(here) == ["errors.csv", "in.csv", "out.csv", "r.html"]
    assert {(here / name).read_text() for name in older} == {"older"}


def test_errors_name_the_file_that_was_asked_for(here, monkeypatch):
    def write(path, *_, **__):
        raise OSError(28, f"cannot write {path}: no space")

    monkeypatch.setattr(command, "write_matrix", write)
    assert failure(run("in.csv --rank 2 -o out.csv")) == (
        "cannot write out.csv: no space",
        f"free some space on the disk, or {PLACE}",
    )


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_in_the_middle_leaves_nothing(here):
    words = ["recover", "in.csv", "--rank", "2", "-o", "out.csv", "-s", "errors.csv", "-r", "r.html"]
    with interruptible([sys.executable, "-c", SLOW, *words]) as process:
        while process.stderr.readline() not in ("written\n", ""):
            pass
        assert len(tree(here)) == 6  # both matrices are there, under other names
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "interrupted; no half-written file is left\n")
    assert tree(here) == ["in.csv"]


def test_help_shows_examples_and_every_option():
    shown = run("--help").stdout
    options = typer.main.get_command(app).commands["recover"].params
    assert all(name in shown for option in options for name in option.opts if name.startswith("-"))
    assert "graphlowrank recover sensors.csv -o clean.csv -s errors.csv" in shown


def test_both_commands_have_the_same_options_for_the_same_things():
    commands = typer.main.get_command(app).commands
    one, other = ({option.name: option for option in commands[name].params} for name in ("cluster", "recover"))
    shared = one.keys() & other.keys()
    assert shared >= {"key", "header", "index", "transpose", "graph", "normalize_counts", "log1p", "top_features",
                      "seed", "threads", "report", "as_json", "debug", "neighbors", "downsampling"}  # fmt: skip
    for name in shared - {"output", "scaling"}:
        assert (one[name].opts, one[name].default, one[name].help) == (
            other[name].opts, other[name].default, other[name].help
        )  # fmt: skip


# --- sparse data, and missing values ---


def incomplete(seed=0):
    """Data with zeros and missing values, and a low-rank matrix."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((N_ROWS, 12)) < 0.4, make_matrix()[1], 0.0)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 0] = np.arange(N_ROWS)  # every sample has a value
    return X, make_matrix()[0]


@pytest.mark.parametrize("sparse", [False, True])
def test_missing_values_in_every_output(here, sparse):
    X, _ = incomplete()
    sp.save_npz("missing.npz", sp.csr_array(X))
    np.save("missing.npy", X)
    result = done(f"{'missing.npz' if sparse else 'missing.npy'} --rank 2 -o out.npy -s errors.npy -r r.html --json")
    n_missing = np.isnan(X).sum()
    assert json.loads(result.stdout)["prepared"] == [f"{n_missing} of 540 values are missing"]
    assert_allclose(np.load("out.npy") + np.load("errors.npy"), X)  # NaN where the data have it
    page = (here / "r.html").read_text(encoding="utf-8")
    assert f"{n_missing} values (7.8 %) were missing and are imputed." in page
    assert not re.search(r"[ML ]nan|>nan<", page)  # nothing is drawn or said of what is not there


def test_the_whole_matrix_is_made_dense(here):
    sp.save_npz("in.npz", sp.csr_array(make_matrix()[1]))
    done("in.npz --no-compression -o out.npy")
    assert_allclose(np.load("out.npy"), FastRobustPCAOnGraphs(random_state=0).fit(make_matrix()[1]).low_rank_)
