"""A few squares of the paper's tables, measured anew: ours must not be worse than the paper's."""

import pytest

from graphlowrank_benchmarks.paper.kinds import ERROR, KINDS
from graphlowrank_benchmarks.paper.panels import verdict_of
from graphlowrank_benchmarks.paper.spec import read_experiment
from graphlowrank_benchmarks.runner import measure

pytestmark = pytest.mark.real_data


@pytest.mark.parametrize(
    ("table", "row", "column"),
    [
        ("yale", "FRPCAG", "no noise"),
        ("yale", "CPCA (2,2)", "Gaussian 20 %"),
        ("orl-small", "FRPCAG", "Gaussian 10 %"),
        ("mnist-small", "CPCA (5,1)", "sparse 10 %"),
        ("usps-small", "k-means", "no noise"),
        ("yale", "RPCA", "no noise"),
    ],
)
def test_errors_reach_the_papers(table, row, column):
    experiment = read_experiment(table)
    (cell,) = (
        cell
        for cell in KINDS[experiment.kind].expand(experiment)
        if (cell.row, cell.column, cell.protocol) == (row, column, "paper")
    )
    found = measure(cell.content)
    assert found.done, found.reason
    assert verdict_of(ERROR, found.values["error"], cell.paper["error"]) in ("near", "better")
