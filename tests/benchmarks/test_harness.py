"""The harness: formats of numbers, description of the machine, cells in fresh processes."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from graphlowrank_benchmarks.data import clouds
from graphlowrank_benchmarks.machine import describe_machine, machine_line
from graphlowrank_benchmarks.memory import StagePeaks, current_memory, peak_memory
from graphlowrank_benchmarks.runner import run_process, thread_environment, without_folders
from graphlowrank_benchmarks.tables import Table, mean_text, ratio, seconds, slope

from .helpers import assert_nothing_private, done


def python(code):
    return [sys.executable, "-c", code]


# --- figures


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_slope_of_a_power_law_is_its_power(power):
    sizes = [10**4, 3 * 10**4, 10**5, 10**6]
    assert slope(sizes, [7.0 * n**power for n in sizes]) == pytest.approx(power, abs=1e-6)
    assert slope(sizes[1:3], [3.0 * n**power for n in sizes[1:3]]) == pytest.approx(power, abs=1e-6)


@pytest.mark.parametrize("values", [[1.0, None], [0.0, 1.0], [-1.0, 2.0]])
def test_no_slope_of_what_is_not_known(values):
    assert slope([10, 100], values) is None


def test_markdown_has_every_row_of_the_same_width_and_keeps_bars():
    table = Table("t", ("system", "s", "note"), [["a", "1", "|x|"], ["b", "failed: no"]], ["a remark"])
    lines = table.markdown().splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert rows[1] == "|---|---:|---:|"
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {4}
    assert lines[-1] == "- a remark"


def test_figures_as_text():
    assert [seconds(value) for value in (None, 0.0005, 0.5, 12.34, 1234.5)] == ["–", "5.0e-04", "0.500", "12.3", "1234"]
    assert ratio(3.0, 2.0) == "1.50"
    assert ratio(None, 2.0) == ratio(1.0, None) == ratio(1.0, 0.0) == "–"
    assert mean_text([0.25]) == "0.250"
    assert mean_text([0.2, 0.4]) == "0.300 ± 0.100 (2 runs)"


def test_start_to_finish_leaves_out_loading_scoring_and_repeats():
    cell = done(10.0, load=1.0, score=2.0, repeat=3.0, graphs=0.5, after=0.5, **{"import": 1.0})
    assert cell.start_to_finish == pytest.approx(4.0)


# --- the machine


def test_memory_is_measured():
    before = current_memory()
    if before is None:
        pytest.skip("this system does not say")
    held = np.ones(50_000_000, dtype=np.uint8)
    assert current_memory() - before > 0.9 * held.nbytes
    assert peak_memory() >= current_memory() - 10**6


def test_peak_of_each_stage_is_noted():
    from graphlowrank import CompressiveClustering

    X = clouds(300)[0]
    with StagePeaks() as found:
        model = CompressiveClustering(10, downsampling=(2, 1), random_state=0, verbose=1, n_jobs=1).fit(X)
    assert list(found.peaks) == list(model.stage_seconds_)
    assert {"sample graph", "feature graph", "sampling", "reduction", "frpcag", "decoding"} <= set(found.peaks)
    assert all(peak > 10**7 for peak in found.peaks.values())


def test_machine_is_described_without_names():
    machine = describe_machine(3)
    text = json.dumps(machine) + machine_line(machine)
    assert machine["threads"] == 3
    assert {"graphlowrank", "numpy", "scikit-learn"} <= set(machine["versions"])
    assert_nothing_private(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cannot open /home/ann/x/data.npz", "cannot open data.npz"),
        (r"cannot open C:\Users\ann\data.npz now", "cannot open data.npz now"),
        ("3 / 4 of usps/a.mat\n in '/tmp/q/r'", "3 / 4 of usps/a.mat in 'r'"),
    ],
)
def test_messages_lose_their_folders(text, expected):
    assert without_folders(text) == expected


# --- cells


def test_a_record_is_read_from_the_last_line():
    record = {"seconds": {"load": 0.0, "after": 1.0}, "stages": {}, "values": {"x": 1}, "peak_bytes": 5}
    answer = {"status": "done", "reason": "", "record": record}
    cell = run_process(python(f"print('chatter'); print('''{json.dumps(answer)}''')"), timeout=30)
    assert cell.done
    assert cell.values["x"] == 1
    assert cell.peak == 5
    assert 0 < cell.start_to_finish == cell.seconds


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        ("raise ValueError('gave up')", "failed", "ended with code 1: ValueError: gave up"),
        ("print('no record')", "failed", "ended with code 0"),
        ("import time; time.sleep(60)", "timed out", "not done after 1 s"),
        ("""print('{"status": "missing", "reason": "needs umap"}')""", "missing", "needs umap"),
    ],
)
def test_whatever_befalls_a_process_is_a_row(code, status, reason):
    cell = run_process(python(code), timeout=1 if "sleep" in code else 30)
    assert (cell.status, cell.reason) == (status, reason)
    assert cell.start_to_finish is None
    assert not cell.parts
    assert not cell.values
    assert cell.peak is None


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_killed_process_is_a_row():
    cell = run_process(python("import os; os.kill(os.getpid(), 9)"), timeout=30)
    assert (cell.status, cell.reason) == ("failed", "killed by signal 9")


def test_a_program_that_is_not_there_is_a_row():
    assert run_process(["/no/such/program"], timeout=5).status == "failed"


def test_threads_are_told_to_every_library():
    cell = run_process(
        python(
            "import os, json; values = {'n': os.environ['OMP_NUM_THREADS']}; "
            "print(json.dumps({'status': 'done', 'record': {'values': values}}))"
        ),
        timeout=30, environment=thread_environment(3),
    )  # fmt: skip
    assert cell.values["n"] == "3"
    assert thread_environment(None) == {}


def test_a_fresh_process_loads_nothing_heavy_before_its_system():
    heavy = ("sklearn", "scipy", "numba", "faiss", "matplotlib", "graphlowrank.estimators", "graphlowrank.graphs")
    code = (
        f"import sys, graphlowrank_benchmarks.worker, graphlowrank_benchmarks.jobs; "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    path = os.pathsep.join(filter(None, sys.path))
    out = subprocess.run(
        python(code), capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert out.stdout.strip() == "[]"
