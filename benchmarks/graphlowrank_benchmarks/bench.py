"""The command ``graphlowrank bench``: run jobs and print their tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import typer

from graphlowrank.cli.console import INTERRUPTED

from .internals import check_writable
from .jobs import FULL_JOBS, JOBS, QUICK_JOBS, JobResults, Options, run_job
from .machine import describe_machine, machine_line

Progress = Callable[[], AbstractContextManager[Callable[[str], None]]]


def print_jobs() -> None:
    """List every job and its systems."""
    width = max(map(len, JOBS))
    for name, job in JOBS.items():
        typer.echo(f"{name.ljust(width)}  {job.title}: {', '.join(job.systems(Options()))}")


def chosen_jobs(names: Sequence[str], *, quick: bool) -> list[str]:
    """Jobs to run; all if none is named, or one of each kind in a quick run."""
    if unknown := [name for name in names if name not in JOBS]:
        raise typer.BadParameter(f"no job {', '.join(map(repr, unknown))}; there are {', '.join(JOBS)}")
    return list(names) or list(QUICK_JOBS if quick else FULL_JOBS)


def run_bench(names: Sequence[str], options: Options, folder: Path, progress: Progress, *, as_json: bool) -> None:
    """Run jobs one after the other and print each as it ends; Ctrl-C prints what is done and exits."""
    names = chosen_jobs(names, quick=options.quick)
    for name in names:  # before hours of work, not after
        check_writable(folder / options.file_name(name))
    machine = describe_machine(options.threads)
    documents = []
    if not as_json:
        typer.echo(machine_line(machine) + "\n")
    try:
        for name in names:
            results = JobResults(JOBS[name], options, machine, folder)
            try:
                with progress() as report:  # closed before printing, because a spinner redirects standard output
                    run_job(results, report)
            finally:
                documents.append(results.document())
                if not as_json:
                    _print_tables(results)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; finished results are in {folder}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    finally:
        if as_json:
            typer.echo(json.dumps(documents, indent=2))
    typer.echo(f"wrote {', '.join(options.file_name(name) for name in names)} to {folder}", err=True)


def _print_tables(results: JobResults) -> None:
    for table in results.tables():
        typer.echo(table.markdown() + "\n")
    typer.echo(f"`{results.options.command(results.job.name)}`\n")
