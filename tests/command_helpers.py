"""What tests of commands have in common."""

import numpy as np
from typer.testing import CliRunner

from graphlowrank.cli import app


def invoke(command, words):
    """Outcome of a command, given its words, on a wide terminal without colours."""
    return CliRunner().invoke(app, [command, *words.split()], env={"COLUMNS": "160", "TERM": "dumb"})


def succeeded(result):
    """The same outcome, of a command that must not have failed."""
    assert result.exit_code == 0, result.output
    return result


def tree(folder):
    """Everything in a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def failure(result):
    """Cause and remedy that a command gave up with, whatever it said of its progress before."""
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    *_, cause, remedy = result.stderr.splitlines()
    return cause.removeprefix("error: "), remedy


def make_counts(seed=0):
    """Counts of 90 cells of three kinds, of unequal depth, and 40 genes of which the first 15 differ."""
    rng = np.random.default_rng(seed)
    rates = np.ones((3, 40))
    for kind in range(3):
        rates[kind, 5 * kind : 5 * kind + 5] = 12
    kinds = np.repeat(np.arange(3), 30)
    return rng.poisson(rates[kinds] * rng.uniform(1, 5, (90, 1))), kinds
