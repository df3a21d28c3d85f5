"""The command ``graphlowrank reproduce``: run the paper's tables and figures; write CSV, markdown and a page."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from graphlowrank.cli.console import INTERRUPTED, Show, brief_errors, require_packages, show_progress
from graphlowrank.cli.options import Debug, output_option

from .cells import NOT_RUN, Cell, Outcome, Status
from .internals import check_writable, write_atomically
from .machine import describe_machine, machine_line
from .paper.kinds import KINDS
from .paper.markdown import csv_text, markdown_text, summary_lines
from .paper.page import render_page, sections_of
from .paper.panels import panels
from .paper.remaining import Remaining, duration
from .paper.spec import Experiment, experiment_names, read_experiment
from .runner import run_cells
from .store import CellStore

FOLDER = Path("reproduction")
FILES = ("results.csv", "results.md", "report.html")

app = typer.Typer(add_completion=False)


@app.command()
def reproduce(
    *,
    names: Annotated[list[str] | None, Argument(help="Tables and figures; all if none is given.")] = None,
    show_list: Annotated[bool, Option("--list", help="List the tables and figures and exit.")] = False,
    quick: Annotated[bool, Option("--quick", help="Coarser grids and fewer columns; takes minutes.")] = False,
    output: Annotated[Path, output_option("--output", "-o", file_okay=False, help="Folder for the results.")] = FOLDER,
    only: Annotated[
        list[str] | None, Option(help="Run only cells whose name contains this, such as 'CPCA'; may be repeated.")
    ] = None,
    jobs: Annotated[int, Option("--jobs", "-j", min=0, help="Worker processes; 0 for none.")] = 1,
    debug: Debug = False,
) -> None:
    """Reproduce the tables and figures of the CPCA paper, and compare with the published numbers.

    Writes results.csv, results.md and report.html. Finished cells are stored in the folder: run the same command again
    to resume. Real data sets are searched for in the folder GRAPHLOWRANK_DATA; cells without their data are marked.

    Examples: graphlowrank reproduce --quick -j 2; graphlowrank reproduce usps-small yale
    """
    if show_list:
        print_experiments()
        return
    with brief_errors(debug=debug):
        require_packages("the report", "matplotlib", "jinja2")
        run_reproduction(names or [], output, quick=quick, jobs=jobs, only=only or [])


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Experiments, their cells, and the outcomes so far."""

    experiments: Sequence[Experiment]
    cells: Sequence[Cell]
    quick: bool
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def not_done(self) -> list[Cell]:
        """Cells that have no value yet."""
        return [cell for cell in self.cells if not self.outcomes.get(cell.key, NOT_RUN).done]

    def ended(self, status: Status) -> list[Cell]:
        """Cells with a status, such as "failed", or "missing" for lack of data."""
        return [cell for cell in self.cells if self.outcomes.get(cell.key, NOT_RUN).status == status]


def chosen_experiments(names: Sequence[str], *, quick: bool) -> Reproduction:
    """Read the experiments; all of them if none is named."""
    known = experiment_names()
    if unknown := [name for name in names if name not in known]:
        raise typer.BadParameter(f"no table or figure {', '.join(map(repr, unknown))}; there are {', '.join(known)}")
    experiments = [read_experiment(name, quick=quick) for name in dict.fromkeys(names) or known]
    cells = [cell for experiment in experiments for cell in KINDS[experiment.kind].expand(experiment)]
    return Reproduction(experiments, cells, quick)


def print_experiments() -> None:
    """List every table and figure."""
    names = experiment_names()
    width = max(map(len, names))
    for name in names:
        experiment = read_experiment(name)
        n_cells = sum(1 for _ in KINDS[experiment.kind].expand(experiment))
        typer.echo(f"{name.ljust(width)}  {experiment.place}: {experiment.title} ({n_cells} cells)")


def run_reproduction(names: Sequence[str], folder: Path, *, quick: bool, jobs: int, only: Sequence[str] = ()) -> None:
    """Run the cells that are not stored yet and write the results, even if the run is interrupted or terminated."""
    todo = chosen_experiments(names, quick=quick)
    command = " ".join(["graphlowrank reproduce", *names, *(["--quick"] if quick else [])])
    try:
        with show_progress() as report:
            _run_cells(todo, folder, command, report, jobs=jobs, only=only)
    except KeyboardInterrupt:
        rest = f"{len(todo.not_done())} of {len(todo.cells)} cells to go"
        typer.echo(f"interrupted with {rest}; run it again to go on", err=True)
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(f"wrote {', '.join(FILES[:-1])} and {FILES[-1]} to {folder}", err=True)
    if unfed := todo.ended("missing"):
        typer.echo(f"cells without their data: {len(unfed)}, the first is {unfed[0].name}", err=True)
    if failed := todo.ended("failed"):
        typer.echo(f"failed cells: {len(failed)}, the first is {failed[0].name}", err=True)
        raise typer.Exit(1)


def _run_cells(todo: Reproduction, folder: Path, command: str, report: Show, *, jobs: int, only: Sequence[str]) -> None:
    signal.signal(signal.SIGTERM, _as_interrupt)
    for name in FILES:  # before hours of work, not after
        check_writable(folder / name)
    store = CellStore(folder / "cells")
    for cell in todo.cells:
        if (stored := store.get(cell)) is not None:
            todo.outcomes[cell.key] = stored
    waiting = [cell for cell in todo.not_done() if not only or any(text in cell.name for text in only)]
    remaining = Remaining(waiting, jobs)
    report(f"{len(todo.cells)} cells, {len(todo.cells) - len(todo.not_done())} of them stored, {len(waiting)} to run")

    def done(cell: Cell, outcome: Outcome) -> None:
        todo.outcomes[cell.key] = outcome
        remaining.done(cell, outcome.seconds)
        problem = "" if outcome.done else f" {outcome.status}: {outcome.reason};"
        report(f"{remaining.count}/{len(waiting)} {cell.name}: {outcome.seconds:.1f} s;{problem} {remaining.text()}")

    begin, machine = time.perf_counter(), machine_line(describe_machine(None))
    try:
        run_cells(waiting, store, jobs=jobs, done=done)
    finally:
        write_results(todo, folder, command, machine)
    report(f"done in {duration(time.perf_counter() - begin)}")


def _as_interrupt(signum: int, frame: object) -> None:
    raise KeyboardInterrupt


def write_results(todo: Reproduction, folder: Path, command: str, machine: str) -> None:
    """Write CSV, markdown and page of the outcomes so far."""
    found = [
        panel
        for experiment in todo.experiments
        for panel in panels(
            experiment, [cell for cell in todo.cells if cell.experiment == experiment.name], todo.outcomes
        )
    ]
    write_atomically(folder / "results.csv", csv_text(found, todo.outcomes))
    write_atomically(folder / "results.md", markdown_text(found, command, machine))
    sections = sections_of(found, todo.outcomes, todo.experiments, todo.cells)
    page = render_page(sections, summary=summary_lines(found), command=command, machine=machine, quick=todo.quick)
    write_atomically(folder / "report.html", page)
    for line in summary_lines(found):
        typer.echo(line)
