"""The command ``graphlowrank reproduce``."""

import csv

import pytest
from typer.testing import CliRunner

from graphlowrank.cli import app
from graphlowrank.cli.console import INTERRUPTED
from graphlowrank_benchmarks.cells import Cell, Record
from graphlowrank_benchmarks.paper.kinds import KINDS, Kind, Measure
from graphlowrank_benchmarks.paper.spec import experiment_names

runner = CliRunner()


@pytest.fixture
def toy(monkeypatch):
    """Six cells in the place of the circle; what the set ``bad`` names goes wrong. Yields (bad, ran)."""
    bad, ran = {}, []

    def run(content):
        ran.append(content["n"])
        if content["n"] in bad:
            raise bad[content["n"]]
        return Record(values={"value": content["n"] / 7, "parameters": {"n": content["n"]}})

    def expand(experiment):
        return [Cell("circle", f"row {n % 2}", f"column {n // 2}", {"kind": "circle", "n": n}) for n in range(6)]

    monkeypatch.setitem(KINDS, "circle", Kind(expand, run, (Measure("value", "a value", decimals=3),)))
    return bad, ran


def reproduce(folder, *arguments):
    return runner.invoke(app, ["reproduce", "circle", "phantom", "--output", str(folder), "--jobs", "0", *arguments])


def test_every_table_and_figure_is_listed():
    listed = runner.invoke(app, ["reproduce", "--list"])
    assert listed.exit_code == 0
    assert [line.split()[0] for line in listed.output.splitlines()] == experiment_names()


def test_an_unknown_table_is_a_usage_error():
    found = runner.invoke(app, ["reproduce", "table-99"])
    assert found.exit_code == 2
    assert "table-99" in found.output


def test_results_are_written_and_a_second_run_repeats_nothing(tmp_path, toy):
    _, ran = toy
    first = reproduce(tmp_path)
    assert first.exit_code == 0, first.output
    assert ran == list(range(6))
    lines = list(csv.DictReader((tmp_path / "results.csv").read_text(encoding="utf-8").splitlines()))
    assert [float(line["ours"]) for line in lines] == pytest.approx([n / 7 for n in (0, 1, 2, 3, 4, 5)], abs=1e-6)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "0.714" in page
    assert "0.714" in (tmp_path / "results.md").read_text(encoding="utf-8")
    again = reproduce(tmp_path)
    assert ran == list(range(6))
    assert "6 of them stored" in again.output


def test_an_interrupted_run_goes_on_where_it_was(tmp_path, toy):
    bad, ran = toy
    bad[3] = KeyboardInterrupt()
    stopped = reproduce(tmp_path)
    assert stopped.exit_code == INTERRUPTED
    assert "3 of 6 cells to go" in stopped.output
    assert "not run" in (tmp_path / "results.csv").read_text(encoding="utf-8")
    assert not list(tmp_path.rglob("*.part"))
    bad.clear()
    assert reproduce(tmp_path).exit_code == 0
    assert ran == [0, 1, 2, 3, 3, 4, 5]


def test_a_failed_cell_is_told_and_tried_again(tmp_path, toy):
    bad, ran = toy
    bad[4] = ValueError("no luck")
    failed = reproduce(tmp_path)
    assert failed.exit_code == 1
    assert "failed cells: 1, the first is circle · row 0 · column 2" in failed.output
    assert "no luck" in (tmp_path / "results.csv").read_text(encoding="utf-8")
    bad.clear()
    assert reproduce(tmp_path).exit_code == 0
    assert ran == [*range(6), 4]


def test_missing_data_are_no_failure(tmp_path, toy):
    bad, _ = toy
    bad[0] = FileNotFoundError("usps/usps_9298.mat is not in the folder")
    found = reproduce(tmp_path)
    assert found.exit_code == 0
    assert "cells without their data: 1, the first is circle · row 0" in found.output
    assert "usps_9298.mat" in (tmp_path / "results.md").read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_written_is_told_before_the_work(tmp_path, toy):
    _, ran = toy
    (tmp_path / "file").write_text("")
    found = reproduce(tmp_path / "file" / "folder")
    assert found.exit_code != 0
    assert ran == []


def test_a_part_of_the_cells_can_be_run(tmp_path, toy):
    _, ran = toy
    assert reproduce(tmp_path, "--only", "row 1", "--only", "column 0").exit_code == 0
    assert ran == [0, 1, 3, 5]
    assert (tmp_path / "results.csv").read_text(encoding="utf-8").count("not run") == 2 * 2  # status and note


def test_a_table_named_twice_is_run_once(tmp_path, toy):
    _, ran = toy
    assert reproduce(tmp_path, "circle").exit_code == 0
    assert ran == list(range(6))


def test_a_quick_run_says_so(tmp_path):
    """The circle for real: seconds, and no data set."""
    quick = runner.invoke(app, ["reproduce", "circle", "--quick", "--output", str(tmp_path)])
    assert quick.exit_code == 0, quick.output
    assert "--quick" in (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "quick" in (tmp_path / "report.html").read_text(encoding="utf-8")
