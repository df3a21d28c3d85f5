"""Run every cell of a job, one after the other."""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from .cells import Cell, run_process, thread_environment
from .jobs import PREPARE, Job, Options
from .results import Results

Say = Callable[[str], None]


def run_job(job: Job, options: Options, results: Results, say: Say = lambda message: None) -> None:
    """Store the data, fill the cache of compiled code, run each system; ``results`` has each cell as it ends.

    Parameters
    ----------
    job, options
        What to run.
    results
        Where it goes; what is in it when an exception or Ctrl-C ends the run is on disk.
    say
        Is told each step as it begins.
    """
    systems = job.systems(options)
    with tempfile.TemporaryDirectory(prefix="graphlowrank-bench-") as temporary:
        folder = Path(temporary)
        say(f"{job.name}: preparing the data")
        results.add_data(run_cell(job, PREPARE, folder, options))
        if not results.data.done:
            return
        for system in job.warm_up(options):
            say(f"{job.name}: {system}, unmeasured, to compile what is not compiled yet")
            run_cell(job, system, folder, options)
        for count, system in enumerate(systems, start=1):
            say(f"{job.name} {count}/{len(systems)}: {system}")
            reason = job.skip(system, options)
            results.add(Cell(system, "not run", reason) if reason else quickest_cell(job, system, folder, options))


def quickest_cell(job: Job, system: str, folder: Path, options: Options) -> Cell:
    """Run a system ``options.repeats`` times, or until it fails; the quickest run, or the failure."""
    done: list[Cell] = []
    for _ in range(options.repeats):
        done.append(run_cell(job, system, folder, options))
        if not done[-1].done:
            return done[-1]
    return min(done, key=lambda cell: cell.start_to_finish or math.inf)


def run_cell(job: Job, system: str, folder: Path, options: Options) -> Cell:
    """Run one system of a job in a process of its own."""
    asked = {"job": job.name, "system": system, "folder": str(folder), "options": asdict(options)}
    command = [sys.executable, "-m", "graphlowrank.bench.worker", json.dumps(asked)]
    environment = {**thread_environment(options.threads), **job.environment(system, folder)}
    return run_process(command, system, timeout=options.timeout, environment=environment)
