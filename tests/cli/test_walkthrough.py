"""docs/walkthrough.md shows what the commands print today."""

from pathlib import Path

from sklearn.datasets import load_digits

from graphlowrank import CompressivePCA

WALKTHROUGH = Path(__file__).parents[2] / "docs/walkthrough.md"


def test_choices_of_a_recovery_are_those_that_are_printed():
    shown = WALKTHROUGH.read_text(encoding="utf-8").partition("Recovered a matrix of rank 15")[2].partition("```")[0]
    # The check for outliers is a third of the time, and its line is the same as in other outputs.
    report = CompressivePCA(15, robust_graphs=False, random_state=0).fit(load_digits().data).report_
    choices = str(report).split("\n\n")[1].splitlines()
    assert len(choices) == len(report.choices)
    assert [line for line in choices if "robust_graphs" not in line and line not in shown] == []
