"""The benchmark suite: what its figures mean, and that nothing a system does can end the run."""

import json
import os
import signal
import sys
from dataclasses import replace

import numpy as np
import pytest

from graphlowrank.metrics import best_f1
from graphlowrank_benchmarks import jobs
from graphlowrank_benchmarks.cells import Outcome, Record
from graphlowrank_benchmarks.data import clouds
from graphlowrank_benchmarks.jobs import (
    FULL_JOBS,
    JOBS,
    QUICK_JOBS,
    JobResults,
    Options,
    fastest_run,
    run_content,
    run_job,
)
from graphlowrank_benchmarks.jobs.clustering import CPCA, FRPCAG, K_MEANS, ROWS, SPECTRAL, UMAP, WARM_UP, comparisons
from graphlowrank_benchmarks.runner import measure
from graphlowrank_benchmarks.scenes import moving_square
from graphlowrank_benchmarks.store import PREPARE
from helpers import interruptible

from .helpers import Fake, assert_nothing_private, done, run


def asked(system="first"):
    options = {"quick": True, "seeds": 1, "threads": None, "timeout": 9.0}
    return {"kind": "bench", "job": "fake", "system": system, "folder": ".", "options": options}


def answer(content, work):
    return measure(content, run=lambda content: run_content(content, {"fake": Fake(work)}))


def test_comparisons_are_of_the_right_figures():
    found = {
        CPCA: done(4.0, graphs=2.0, after=0.5),
        FRPCAG: done(20.0, stages={"k-means": 5.0}, graphs=2.0, after=15.0),
        K_MEANS: done(8.0, after=7.0),
        UMAP: Outcome("missing", "needs umap"),
    }
    assert comparisons(found) == [
        "after graphs: cpca is 30.0 x faster than frpcag + k-means (20.0 x without k-means)",
        "cpca, after graphs / graphs = 25%",
        "start to finish, in cpca's times: 2.00 x k-means",
    ]
    assert comparisons({K_MEANS: found[K_MEANS]}) == []


def test_clustering_table_says_why_a_row_is_empty_and_shows_umap_twice():
    data = done(values={"shape": [5, 2], "source": "s", "dtype": "float32", "clusters": 2})
    outcomes = {
        CPCA: done(2.0, graphs=1.0, after=0.5, values={"errors": [0.1]}),
        UMAP: done(9.0, graphs=1.0, after=1.0, values={"errors": [0.2], "again": {"graphs": 0.5, "after": 0.5}}),
        SPECTRAL: Outcome("timed out", "not done after 9 s"),
    }
    (table,) = JOBS["usps"].tabulate(data, outcomes, Options())
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows[CPCA][-1] == "1.00"
    assert rows[UMAP][-1] == "4.50"
    assert rows["umap + k-means, second fit"][3] == "1.00 (no start)"
    assert rows[SPECTRAL] == ["timed out: not done after 9 s"]


def test_synthetic_video_is_its_masks_apart_from_a_low_rank_scene():
    scene = moving_square()
    background = np.median(scene.X, axis=0)
    assert scene.X.dtype == np.float32
    assert scene.masks.shape == (len(scene.scored), scene.X.shape[1])
    assert best_f1(scene.masks, scene.X[scene.scored] - background).f1 > 0.95
    assert scene.score(background).f1 > 0.95


def test_clouds_are_of_ten_dimensions_and_start_alike():
    X, labels = clouds(2000)
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    assert values[9] > 10 * values[10]
    assert X.dtype == np.float32
    assert len(np.unique(labels)) == 10


def test_a_cell_of_a_job_is_measured():
    def work(record):
        with record.timing("after"):
            record.values["error"] = 0.5

    found = answer(asked(), work)
    assert found.values == {"error": 0.5}
    assert found.parts["after"] >= 0
    assert answer(asked(PREPARE), work).values == {"shape": [1, 1]}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ModuleNotFoundError("No module named 'umap'", name="umap"), ("missing", "needs umap")),
        (FileNotFoundError("usps is not there"), ("missing", "usps is not there")),
        (ValueError("gave up"), ("failed", "ValueError: gave up")),
    ],
)
def test_a_cell_that_fails_has_its_reason(error, expected):
    def work(record):
        raise error

    found = answer(asked(), work)
    assert (found.status, found.reason) == expected


def test_warm_up_needs_no_row():
    for job in JOBS.values():
        for quick in (False, True):
            options = Options(quick=quick)
            rows = job.systems(options)
            assert len(set(rows)) == len(rows) > 1
            assert not any(name.startswith("(") for name in rows)


def test_what_would_take_forever_is_not_run():
    assert JOBS["mnist-15k"].skip(SPECTRAL, Options())
    assert JOBS["usps"].skip(SPECTRAL, Options()) is None
    assert JOBS["usps"].skip(UMAP, Options()) is None


@pytest.mark.filterwarnings("ignore")  # NMF stops early on data this small
@pytest.mark.parametrize("system", [WARM_UP, *(name for name in ROWS if name != UMAP)])
def test_every_clustering_system_labels_every_sample(system):
    X = np.abs(clouds(300)[0])
    record = Record()
    job, y = replace(JOBS["usps"], downsampling=(2, 1)), np.arange(300) % 10
    labels = job.cluster(system, X, y, 0, Options(threads=1), record)
    assert labels.shape == (300,)
    assert record.seconds["after"] > 0
    assert ("graphs" in record.seconds) == any(
        name in system for name in ("cpca", "default", "frpcag", "spectral", "warm")
    )


# --- results on disk


def test_results_are_on_disk_after_every_cell_and_survive_an_interrupt(tmp_path):
    def cell(job, system, folder, options):
        if system == "second":
            raise KeyboardInterrupt
        return done(values={"shape": [1, 1]})

    results = JobResults(Fake(None), Options(quick=True), {"cpu": "x"}, tmp_path / "new")
    with pytest.raises(KeyboardInterrupt):
        run_job(results, run=cell)
    assert list((tmp_path / "new").iterdir()) == [results.path]
    kept = json.loads(results.path.read_text())
    assert [cell["system"] for cell in kept["cells"]] == ["first"]
    assert kept["tables"][0]["rows"] == [["first", "done"]]
    assert kept["command"] == "graphlowrank bench fake --quick"


def test_a_job_without_data_is_a_table_that_says_so(tmp_path):
    results = JobResults(JOBS["usps"], Options(), {}, tmp_path)
    run_job(results, run=lambda *_: Outcome("missing", "no usps.mat"))
    assert results.outcomes == {}
    assert results.tables()[0].rows == [["missing: no usps.mat"]]


def test_command_repeats_the_options():
    assert Options().command("usps") == "graphlowrank bench usps"
    given = Options(quick=True, seeds=2, threads=1, timeout=90, repeats=3)
    assert given.command("usps") == "graphlowrank bench usps --quick --seeds 2 --threads 1 --timeout 90 --repeats 3"


@pytest.mark.parametrize(("seconds", "told"), [([3.0, 1.0, 2.0], 1.0), ([3.0, None, 2.0], None)])
def test_the_fastest_of_several_runs_is_reported_or_the_failure(tmp_path, seconds, told):
    runs = iter(seconds)

    def cell(job, system, folder, options):
        wall = next(runs)
        return done(wall) if wall else Outcome("failed", "no memory")

    assert fastest_run(Fake(None), "first", tmp_path, Options(repeats=3), cell).start_to_finish == told


# --- the command


def test_list_names_every_job():
    result = run("bench", "--list")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(FULL_JOBS)
    assert set(QUICK_JOBS) <= set(FULL_JOBS)


@pytest.mark.parametrize("args", [["nonsense"], ["usps", "--seeds", "0"], ["usps", "--timeout", "0"]])
def test_wrong_usage_exits_with_2(args, tmp_path):
    result = run("bench", *args, "-o", tmp_path)
    assert result.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_one_quick_job_from_end_to_end(tmp_path):
    result = run("bench", "growth", "--quick", "--threads", 1, "--timeout", 60, "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert result.stdout.count("| n |") == 2
    assert "slope 1000 to 4000" in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["growth-quick.json"]
    text = (tmp_path / "growth-quick.json").read_text()
    kept = json.loads(text)
    assert [cell["status"] for cell in kept["cells"]] == ["done"] * 3
    assert_nothing_private(text)
    for cell in kept["cells"]:
        parts = cell["record"]["seconds"]
        assert sum(parts.values()) < cell["wall"]
        assert parts["graphs"] + parts["after"] < cell["start_to_finish"]
        assert cell["record"]["values"]["errors"][0] < 0.2


def test_json_is_all_of_stdout(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "run_cell", lambda *_: Outcome("failed", "no luck"))
    result = run("bench", "usps", "video", "--json", "-o", tmp_path)
    assert result.exit_code == 0
    assert [document["job"] for document in json.loads(result.stdout)] == ["usps", "video"]


def test_unwritable_place_is_noticed_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs, "run_cell", None)
    (tmp_path / "file").write_text("not a folder")
    result = run("bench", "growth", "-o", tmp_path / "file" / "below")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == "choose another place for the output"


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_keeps_what_was_done(tmp_path):
    command = [sys.executable, "-m", "graphlowrank", "bench", "growth", "--quick", "-o", str(tmp_path)]
    with interruptible(command) as process:
        while "2/3" not in process.stderr.readline():  # the first size is done
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "| 1000 |" in out
    assert err.splitlines()[-1] == f"interrupted; finished results are in {tmp_path}"
    assert "Traceback" not in err
    kept = json.loads((tmp_path / "growth-quick.json").read_text())
    assert [cell["system"] for cell in kept["cells"]] == ["1000"]
    assert len(list(tmp_path.iterdir())) == 1
