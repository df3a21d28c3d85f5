"""The jobs of ``graphlowrank bench``: each compares systems on one data set, every system in a fresh process.

.. autosummary::
    JOBS      every job by name
    Options   options of the command
    run_job   run every system of a job
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..cells import Outcome, Record
from ..runner import run_fresh, thread_environment
from ..store import PREPARE, JobResults
from .base import Job, Options
from .clustering import CLUSTERING_JOBS
from .growth import GrowthJob
from .steps import StepsJob
from .video import VideoJob

JOBS: dict[str, Job] = {job.name: job for job in (*CLUSTERING_JOBS, VideoJob(), StepsJob(), GrowthJob())}
FULL_JOBS = tuple(JOBS)
QUICK_JOBS = ("usps", "video", "steps", "growth")  # one of each kind

__all__ = ["FULL_JOBS", "JOBS", "PREPARE", "QUICK_JOBS", "Job", "JobResults", "Options", "run_job"]

RunCell = Callable[[Job, str, Path, Options], Outcome]


def run_content(content: Mapping[str, Any], jobs: Mapping[str, Job] = JOBS) -> Record:
    """Measure the cell of a job in this process."""
    job, folder, options = jobs[content["job"]], Path(content["folder"]), Options(**content["options"])
    record = Record()
    if content["system"] == PREPARE:
        job.prepare(folder, options, record)
    else:
        job.run(content["system"], folder, options, record)
    return record


def run_cell(job: Job, system: str, folder: Path, options: Options) -> Outcome:
    """Run one system of a job in a fresh process."""
    content = {
        "kind": "bench", "job": job.name, "system": system, "folder": str(folder), "options": asdict(options),
    }  # fmt: skip
    environment = {**thread_environment(options.threads), **job.environment(system, folder)}
    return run_fresh(content, timeout=options.timeout, environment=environment)


def fastest_run(job: Job, system: str, folder: Path, options: Options, run: RunCell = run_cell) -> Outcome:
    """Run a system ``options.repeats`` times; the fastest run, or the first that fails."""
    done: list[Outcome] = []
    for _ in range(options.repeats):
        done.append(run(job, system, folder, options))
        if not done[-1].done:
            return done[-1]
    return min(done, key=lambda outcome: outcome.start_to_finish or math.inf)


def run_job(
    results: JobResults, report: Callable[[str], None] = lambda message: None, run: RunCell | None = None
) -> None:
    """Store the data, fill the cache of compiled code, run each system.

    Parameters
    ----------
    results
        Job and options, and where outcomes go: they are on disk if an exception or Ctrl-C ends the run.
    report
        Called with a message at the start of each step.
    run
        Runs one system; None for :func:`run_cell`.
    """
    job, options, run = results.job, results.options, run or run_cell
    systems = job.systems(options)
    with tempfile.TemporaryDirectory(prefix="graphlowrank-bench-") as temporary:
        folder = Path(temporary)
        report(f"{job.name}: preparing the data")
        results.add_data(run(job, PREPARE, folder, options))
        if not results.data.done:
            return
        for system in job.warm_up(options):
            report(f"{job.name}: {system}, unmeasured, to compile what is not compiled yet")
            run(job, system, folder, options)
        for count, system in enumerate(systems, start=1):
            report(f"{job.name} {count}/{len(systems)}: {system}")
            reason = job.skip(system, options)
            outcome = Outcome("not run", reason) if reason else fastest_run(job, system, folder, options, run)
            results.add(system, outcome)
