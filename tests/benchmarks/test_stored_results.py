"""Committed results stay readable, and the commands explain what to install without the harness."""

import csv
import importlib.util
from pathlib import Path

import pytest

from graphlowrank_benchmarks.jobs import JOBS, Options
from graphlowrank_benchmarks.paper.kinds import KINDS
from graphlowrank_benchmarks.paper.spec import experiment_names, read_experiment
from graphlowrank_benchmarks.store import read_job

from .helpers import run

ROOT = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("name", [name for name in JOBS if (ROOT / f"results/{name}.json").exists()])
def test_stored_jobs_are_read_and_give_the_stored_numbers(name):
    document, data, outcomes = read_job(ROOT / f"results/{name}.json")
    assert [cell["start_to_finish"] for cell in document["cells"]] == [one.start_to_finish for one in outcomes.values()]
    tables = JOBS[name].tabulate(data, outcomes, Options())
    assert [table.rows for table in tables] == [table["rows"] for table in document["tables"]]


def test_the_page_of_results_is_that_of_the_stored_tables():
    spec = importlib.util.spec_from_file_location("report", ROOT / "report.py")
    report = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(report)
    page = (ROOT / "RESULTS.md").read_text(encoding="utf-8")
    sections = [
        report.section(read_job(ROOT / f"results/{name}.json")[0])
        for name in JOBS
        if (ROOT / f"results/{name}.json").exists()
    ]
    assert page.partition(report.MARK)[2] == "\n\n" + "\n\n".join(sections) + "\n"


README_SETS = {
    "digits 1797 x 64": "digits",
    "USPS 9298 x 256": "usps-large",
    "MNIST 70000 x 784": "mnist-70000",
    "ORL 400 x 2576": "orl-large",
    "COIL-20 1440 x 1024": "coil-20",
    "worm neurons 4186 x 2000": "worm",
    "wine 178 x 13": "wine",
}


def test_errors_of_the_readme_and_the_page_of_clusters_are_those_stored():
    spec = importlib.util.spec_from_file_location("label_free", ROOT / "studies/label_free.py")
    study = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(study)
    assert (ROOT / "LABEL_FREE.md").read_text(encoding="utf-8").endswith(study.report() + "\n")
    shown = [line.replace("*", "").split("|") for line in (ROOT.parent / "README.md").read_text("utf-8").splitlines()]
    table = {cells[1].strip(): [cell.strip() for cell in cells[2:7]] for cells in shown if len(cells) == 9}
    rows = study.stored()
    for title, name in README_SETS.items():
        found = [study.errors(rows, name, system)[0] for system in (study.OURS, *study.PEERS)]
        expected = [f"{one.mean():.3f} ± {one.std():.3f}" if len(one) else "–" for one in found]
        assert table[title] == expected, title


def test_stored_cells_of_the_paper_are_those_of_its_files():
    with (ROOT / "reproduction/results.csv").open(newline="", encoding="utf-8") as file:
        stored = {(row["experiment"], row["row"], row["column"], row["protocol"]) for row in csv.DictReader(file)}
    known = {
        (cell.experiment, cell.row, cell.column, cell.protocol)
        for experiment in map(read_experiment, experiment_names())
        for cell in KINDS[experiment.kind].expand(experiment)
    }
    assert stored <= known


@pytest.mark.parametrize(
    "command",
    [["bench"], ["bench", "--help"], ["bench", "--list"], ["reproduce", "--list"], ["reproduce", "circle", "--bogus"]],
)
def test_without_the_harness_the_commands_say_what_to_install(command, monkeypatch):
    monkeypatch.setattr("graphlowrank.cli.console.find_spec", lambda name: None)
    result = run(*command)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert "clone the graphlowrank repository and run `pip install -e" in result.stderr
