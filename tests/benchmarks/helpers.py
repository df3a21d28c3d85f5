"""What tests of the benchmark harness share."""

import os
import platform
import re
import sys
from pathlib import Path

from typer.testing import CliRunner

from graphlowrank.cli import app
from graphlowrank_benchmarks.cells import Outcome
from graphlowrank_benchmarks.jobs.base import Job
from graphlowrank_benchmarks.tables import Table

DIGITS = {
    "kind": "clustering", "data": "digits", "noise": ["none", 0], "method": "pca", "with": {},
    "swept": {"n_components": [4, 16]}, "preparation": [], "runs": 3, "starts": 1, "seed": 0,
}  # fmt: skip


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


def done(wall=1.0, *, stages=None, values=None, **parts):
    return Outcome("done", "", values or {}, {}, wall, {"load": 0.0, **parts}, stages or {}, 10**9)


class Fake(Job):
    """A job whose systems do what the test asks."""

    name = "fake"
    title = "Fake"

    def __init__(self, work):
        self.work = work

    def systems(self, options):
        return ("first", "second")

    def prepare(self, folder, options, record):
        record.values["shape"] = [1, 1]

    def run(self, system, folder, options, record):
        self.work(record)

    def tabulate(self, data, outcomes, options):
        return (Table(self.title, ("system", "status"), [[name, one.status] for name, one in outcomes.items()]),)


def assert_nothing_private(text):
    private = [str(Path.home()), os.getcwd(), sys.prefix]  # noqa: PTH109
    private += [platform.node()] if len(platform.node()) > 3 else []
    for name in private:
        assert name not in text
    assert not re.search(r"[\"' (](/[\w.-]+){2,}", text)
