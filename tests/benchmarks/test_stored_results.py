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


@pytest.mark.parametrize(
    ("page", "rows"),
    [
        ("README.md", {"digits 1797": "digits", "USPS 9298": "usps", "ORL 400": "orl", "MNIST 70000": "mnist-70k"}),
        ("docs/choices.md", {"digits |": "digits", "USPS |": "usps", "MNIST 70000": "mnist-70k"}),
    ],
)
def test_errors_of_other_systems_are_those_of_the_stored_tables(page, rows):
    """The columns k-means, spectral clustering, UMAP + k-means of both tables, each beside our default call."""
    lines = (ROOT.parent / page).read_text(encoding="utf-8").splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("| data | default"))
    names = [name.strip() for name in lines[first].split("|")]
    columns = [names.index("k-means"), names.index("k-means") + 1, names.index("UMAP + k-means")]
    for start, job in rows.items():
        row = next(line for line in lines[first:] if line.startswith(f"| {start}")).replace("*", "").split("|")
        table = {name: error for name, error, *_ in read_job(ROOT / f"results/{job}.json")[0]["tables"][0]["rows"]}
        stored = [table[name].split()[0] for name in ("k-means", "spectral", "umap + k-means")]
        assert [row[at].split(",")[0].strip() for at in columns] == [one.replace("not", "–") for one in stored], start


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
