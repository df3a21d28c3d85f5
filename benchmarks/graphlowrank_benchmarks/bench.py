"""The command ``graphlowrank bench``: run jobs and print their tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from graphlowrank.cli.console import INTERRUPTED, brief_errors, show_progress
from graphlowrank.cli.options import AsJson, Debug, Threads, output_option

from .internals import check_writable
from .jobs import FULL_JOBS, JOBS, QUICK_JOBS, JobResults, Options, run_job
from .machine import describe_machine, machine_line

FOLDER = Path("bench-results")

app = typer.Typer(add_completion=False)


@app.command()
def bench(
    *,
    jobs: Annotated[list[str] | None, Argument(help="Jobs to run; all if none is given.")] = None,
    show_list: Annotated[bool, Option("--list", help="List the jobs and exit.")] = False,
    quick: Annotated[bool, Option("--quick", help="Tiny data, to test that everything runs.")] = False,
    output: Annotated[Path, output_option("--output", "-o", file_okay=False, help="Folder for the results.")] = FOLDER,
    seeds: Annotated[int, Option(min=1, help="Number of runs to average errors over.")] = 1,
    threads: Threads = None,
    timeout: Annotated[float, Option(min=1, help="Seconds for one system in a job.")] = 3600,
    repeats: Annotated[int, Option(min=1, help="Runs of each system; the fastest is reported.")] = 1,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Benchmark this library against others, each in its own process: time, memory, errors.

    Real data sets are searched for in the folder GRAPHLOWRANK_DATA; the other libraries are in the extra ``bench``.
    Missing data sets and libraries are reported in the tables.
    """
    if show_list:
        print_jobs()
        return
    options = Options(quick=quick, seeds=seeds, threads=threads, timeout=timeout, repeats=repeats)
    with brief_errors(debug=debug):
        run_bench(jobs or [], options, output, as_json=as_json)


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


def run_bench(names: Sequence[str], options: Options, folder: Path, *, as_json: bool) -> None:
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
                with show_progress() as report:  # closed before printing, because a spinner redirects standard output
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
