"""Cells that are run: stored, in processes, with time left."""

import gc
import multiprocessing
import os
import signal
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphlowrank_benchmarks.cells import Cell, Outcome, Record
from graphlowrank_benchmarks.paper.kinds import KINDS, Kind, Measure
from graphlowrank_benchmarks.paper.remaining import Remaining, duration
from graphlowrank_benchmarks.runner import measure, run_cells
from graphlowrank_benchmarks.store import CellStore

from .helpers import DIGITS

# --- the store -------------------------------------------------------------------------------------------------------


def test_what_is_stored_comes_back(tmp_path):
    cell = Cell("t", "r", "c", {"kind": "x", "n": 1})
    picture = np.arange(12, dtype=np.uint8).reshape(3, 4)
    CellStore(tmp_path).put(cell, Outcome("done", "", {"error": 0.25, "list": [1, 2]}, {"frame": picture}, 1.5))
    found = CellStore(tmp_path).get(Cell("other", "table", "", {"n": 1, "kind": "x"}))
    assert found.values == {"error": 0.25, "list": [1, 2]}
    assert found.seconds == 1.5
    np.testing.assert_array_equal(found.pictures["frame"], picture)
    assert CellStore(tmp_path).get(Cell("t", "r", "c", {"kind": "x", "n": 2})) is None


@pytest.mark.parametrize("ending", [".json", ".npz"])
@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b[: len(b) // 2], lambda b: b"\x80" + b, None])
def test_a_damaged_file_is_as_good_as_none(tmp_path, ending, damage):
    cell = Cell("t", "r", "c", {"kind": "x"})
    store = CellStore(tmp_path)
    store.put(cell, Outcome("done", "", {"error": 0.25}, {"frame": np.zeros((4, 4))}))
    path = tmp_path / f"{cell.key}{ending}"
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes()))
    assert store.get(cell) is None


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 7))
def test_a_flipped_bit_never_stops_a_run(position, bit):
    """Whatever is read is what was stored, or nothing."""
    cell, picture = Cell("t", "r", "c", {"kind": "x"}), np.arange(200.0).reshape(20, 10)
    with tempfile.TemporaryDirectory() as folder:
        store = CellStore(Path(folder))
        store.put(cell, Outcome("done", "", {}, {"frame": picture}))
        path = Path(folder) / f"{cell.key}.npz"
        content = bytearray(path.read_bytes())
        content[position % len(content)] ^= 1 << bit
        path.write_bytes(content)
        found = store.get(cell)
        assert found is None or np.array_equal(found.pictures["frame"], picture)


def test_objects_in_a_stored_file_are_not_unpickled(tmp_path):
    cell = Cell("t", "r", "c", {"kind": "x"})
    store = CellStore(tmp_path)
    store.put(cell, Outcome("done", "", {}, {"frame": np.zeros(2)}))
    np.savez(tmp_path / f"{cell.key}.npz", frame=np.array([{"an": "object"}], dtype=object))
    assert store.get(cell) is None


# --- the runner ------------------------------------------------------------------------------------------------------


@pytest.fixture
def toy(monkeypatch):
    """A kind that counts its runs."""
    ran = []

    def run(content):
        ran.append(content["n"])
        if content["n"] == 13:
            raise RuntimeError("unlucky, see /home/ann/thirteen.txt")
        if content["n"] == 14:
            raise FileNotFoundError("no such set")
        if content["n"] == 15:
            raise KeyboardInterrupt
        return Record(values={"value": content["n"] ** 2})

    monkeypatch.setitem(KINDS, "toy", Kind(lambda e: (), run, (Measure("value", "value"),)))
    return ran


def toy_cell(n, **more):
    return Cell("toy", f"row {n}", "", {"kind": "toy", "n": n}, **more)


def test_equal_cells_run_once_and_failures_are_told_but_not_stored(tmp_path, toy):
    told = {}
    cells = [toy_cell(2), Cell("elsewhere", "r", "c", {"n": 2, "kind": "toy"}), toy_cell(13), toy_cell(14)]
    run_cells(cells, CellStore(tmp_path), done=lambda cell, outcome: told.update({cell.name: outcome}))
    assert toy == [2, 13, 14]
    assert [told[cell.name].status for cell in cells] == ["done", "done", "failed", "missing"]
    assert told[cells[2].name].reason == "RuntimeError: unlucky, see thirteen.txt"  # no path of a machine in results
    assert [CellStore(tmp_path).get(cell) is not None for cell in cells] == [True, True, False, False]


def test_what_is_timed_comes_last(tmp_path, toy):
    run_cells([toy_cell(1, alone=True), toy_cell(2), toy_cell(3)], CellStore(tmp_path))
    assert toy == [2, 3, 1]


def test_an_interrupt_keeps_what_was_done(tmp_path, toy):
    with pytest.raises(KeyboardInterrupt):
        run_cells([toy_cell(1), toy_cell(15), toy_cell(3)], CellStore(tmp_path))
    assert [CellStore(tmp_path).get(toy_cell(n)) is not None for n in (1, 15, 3)] == [True, False, False]


def test_processes_give_the_same_values(tmp_path):
    cells = [
        Cell("t", method, "", DIGITS | {"method": method, "swept": {}, "seed": seed})
        for method, seed in (("pca", 0), ("kmeans", 0), ("cpca", 0), ("cpca", 1))
    ]
    stores = CellStore(tmp_path / "one"), CellStore(tmp_path / "two")
    for store, jobs in zip(stores, (1, 2), strict=True):
        run_cells(cells, store, jobs=jobs)
    for cell in cells:
        assert stores[0].get(cell).values == stores[1].get(cell).values
    assert not multiprocessing.active_children()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no such signal")
def test_a_killed_process_takes_nobody_along(tmp_path):
    """The cell that kills its process fails, and only that one: those in flight beside it are run again."""
    told = {}
    cells = [Cell("t", f"row {n}", "", DIGITS | {"method": "kmeans", "swept": {}, "seed": n}) for n in range(4)]
    deadly = Cell("t", "deadly", "", {"kind": "killed.by.the.kernel"})
    run_cells(
        [cells[0], deadly, *cells[1:]], CellStore(tmp_path), jobs=2, done=lambda c, o: told.update({c.row: o}),
        measure=measure_or_die,
    )  # fmt: skip
    assert told.pop("deadly").reason.startswith("its process was killed")
    assert {row: outcome.status for row, outcome in told.items()} == {cell.row: "done" for cell in cells}
    assert not multiprocessing.active_children()


def measure_or_die(content, threads=None):
    if content["kind"] == "killed.by.the.kernel":
        os.kill(os.getpid(), signal.SIGKILL)
    return measure(content, threads)


def test_an_interrupt_stops_the_processes(tmp_path):
    """Ctrl-C while two cells are in flight: what was told before is stored, and no process stays."""
    cells = [Cell("t", f"row {n}", "", DIGITS | {"method": "kmeans", "swept": {}, "seed": n}) for n in range(6)]

    def interrupted(cell, outcome):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, CellStore(tmp_path), jobs=2, done=interrupted)
    assert sum(CellStore(tmp_path).get(cell) is not None for cell in cells) == 1
    gc.collect()  # the generator of outcomes ends here at the latest
    assert not multiprocessing.active_children()


def test_measure_reports_an_unknown_data_set():
    assert measure(DIGITS | {"data": "nowhere"}).reason.startswith("ValueError: no data set 'nowhere'")


# --- time left -------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=20), st.integers(1, 4))
def test_time_left_of_equal_cells_is_their_mean_times_their_number(seconds, jobs):
    cells = [Cell("t", "row", str(i), {}) for i in range(2 * len(seconds))]
    rest = Remaining(cells, jobs)
    assert rest.seconds() is None
    assert rest.text() == ""
    for cell, taken in zip(cells, seconds, strict=False):
        rest.done(cell, taken)
    assert rest.seconds() == pytest.approx(sum(seconds) / jobs)
    assert rest.count == len(seconds)


def test_a_cell_is_guessed_from_its_own_row_first():
    slow, fast, other = (Cell("t", row, c, {"method": row}) for row, c in (("a", "1"), ("b", "1"), ("c", "1")))
    rest = Remaining([slow, fast, *(Cell("t", "a", str(i), {"method": "a"}) for i in range(3)), other], 1)
    rest.done(slow, 100)
    rest.done(fast, 1)
    assert rest.seconds() == pytest.approx(300 + 50.5)
    assert duration(3599) == "1 h 0 min"
