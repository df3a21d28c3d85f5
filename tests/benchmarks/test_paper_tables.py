"""Cells arranged as the paper's tables, and counted."""

import csv
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphlowrank_benchmarks.cells import Cell, Outcome
from graphlowrank_benchmarks.paper.kinds import ERROR, Measure
from graphlowrank_benchmarks.paper.markdown import COLUMNS, csv_text, markdown_text, panel_markdown, summary_lines
from graphlowrank_benchmarks.paper.panels import Tally, panels, tally, verdict_of
from graphlowrank_benchmarks.paper.spec import Experiment

TABLE = Experiment("toy", "A toy | table", "Table 0", "clustering", ("A note.",), {})


def cell(row, column, paper=None, protocol="paper", seed=0, method="cpca"):
    content = {"kind": "clustering", "row": row, "column": column, "protocol": protocol, "seed": seed, "method": method}
    return Cell("toy", row, column, content, {} if paper is None else {"error": paper}, protocol, seed)


def done(value, **more):
    return Outcome("done", "", {"error": value, **more}, {}, 2.0)


@pytest.fixture
def table():
    """Two methods, two columns; one square is missing, one failed, one has three runs."""
    cells = [cell("CPCA", "none", 0.20, seed=seed) for seed in range(3)]
    cells += [cell("CPCA", "none", protocol="default"), cell("CPCA", "noise", 0.30)]
    cells += [cell("PCA", "none", 0.10, method="pca"), cell("PCA", "noise", 0.10, method="pca")]
    found = [done(0.10), done(0.11), done(0.12), done(0.4), done(0.33), done(0.2, parameters={"k": 4})]
    outcomes = {one.key: outcome for one, outcome in zip(cells, found, strict=False)}
    outcomes[cells[-1].key] = Outcome("failed", "ValueError: no")
    (panel,) = panels(TABLE, cells, outcomes)
    return panel, outcomes


def test_squares_hold_runs_default_and_paper(table):
    panel, _ = table
    assert panel.rows == ("CPCA", "PCA")
    assert panel.columns == ("none", "noise")
    square = panel.squares["CPCA", "none"]
    assert square.ours == (0.10, 0.11, 0.12)
    assert square.default == (0.4,)
    assert square.difference == pytest.approx(-0.09)
    assert [panel.squares[place].verdict for place in panel.squares] == ["better", "near", "worse", ""]
    assert panel.squares["PCA", "noise"].note == "ValueError: no"
    assert panel.has_defaults
    assert panel.has_paper


def test_only_what_was_measured_is_counted(table):
    panel, _ = table
    assert tally(panel) == Tally(3, 2, 4)
    assert tally(panel, ours_only=True) == Tally(2, 2, 2)
    assert "2 of 2 measured (100%)" in summary_lines([panel])[0]
    assert str(Tally(0, 0, 5)) == "0 of 0 measured; 5 in the paper"


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_smaller_error_is_never_judged_worse(one, other):
    order = {"better": 0, "near": 1, "worse": 2}
    paper = 0.5
    verdicts = [order[verdict_of(ERROR, value, paper)] for value in sorted((one, other))]
    assert verdicts == sorted(verdicts)


def test_ranks_differ_both_ways_and_times_not_at_all():
    rank = Measure("rank", "rank", compare="same", tolerance=1)
    assert [verdict_of(rank, value, 10) for value in (8, 9, 10, 11, 12)] == [
        "differs",
        "near",
        "near",
        "near",
        "differs",
    ]
    assert verdict_of(Measure("seconds", "s", compare="time"), 1, 100) == ""


def test_csv_has_a_line_for_each_cell(table):
    panel, outcomes = table
    lines = list(csv.DictReader(StringIO(csv_text([panel], outcomes))))
    assert tuple(lines[0]) == COLUMNS
    assert len(lines) == 7
    assert [line["status"] for line in lines].count("failed") == 1
    assert {line["run"] for line in lines if line["row"] == "CPCA" and line["protocol"] == "paper"} == {"0", "1", "2"}
    first = lines[0]
    assert (float(first["ours"]), float(first["paper"]), float(first["difference"])) == (0.10, 0.20, -0.10)
    assert next(line["parameters"] for line in lines if line["row"] == "PCA") == '{"k": 4}'


def test_markdown_shows_ours_the_papers_and_the_default(table):
    panel, _ = table
    assert panel_markdown(panel).splitlines()[2:] == [
        "| CPCA | 0.110 ▼ / 0.2 / 0.400 | 0.330 / 0.3 / – |",
        "| PCA | 0.200 ▲ / 0.1 / – | ValueError: no / 0.1 / – |",
    ]
    text = markdown_text([panel], "graphlowrank reproduce toy", "2 cores")
    assert "## A toy | table" in text
    assert "A note." in text


def test_nothing_measured_gives_a_table_of_what_the_paper_has():
    cells = [cell("CPCA", "none", 0.2)]
    (panel,) = panels(TABLE, cells, {})
    assert panel.squares["CPCA", "none"].note == "not run"
    assert panels(TABLE, [cell("CPCA", "none")], {}) == []
