"""The command ``graphlowrank``. Only this folder prints."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import __version__
from .fit_commands import cluster_command, plan_command, recover_command
from .harness import require_harness
from .options import Bits, Loss, PairCommand, Solver
from .shell import INTERRUPTED, _progress, failing_briefly, reconstruct_remedy, video_remedy

if TYPE_CHECKING:
    from ..report import Report

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


def _show_version(asked: bool) -> None:  # noqa: FBT001
    if asked:
        typer.echo(f"graphlowrank {__version__}")
        raise typer.Exit


@app.callback()
def main(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Low-rank structure on graphs: recover and cluster large noisy matrices."""


@app.command("demo")
def demo_command(
    *,
    output: Annotated[Path, typer.Option("--output", "-o", dir_okay=False, help="HTML page to write.")] = Path(
        "demo/report.html"
    ),
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of noise and systems.")] = 0,
    noise: Annotated[float, typer.Option(min=0, max=1, help="Share of each image to corrupt.")] = 0.15,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")] = False,
) -> None:
    """Recover and cluster corrupted digits, print a table and write a page. Needs no download."""
    with failing_briefly(debug=debug):
        from ..report import missing_extras

        if missing := missing_extras():
            raise ModuleNotFoundError(f"the demo's page needs {' and '.join(missing)}", name=missing[0])
        with _progress() as say:
            from .._files import check_writable, write_atomically
            from ..report import render_page
            from .demo import run_demo

            check_writable(output)
            report = run_demo(noise, seed, say)
            write_atomically(output, render_page(report))
        if as_json:
            typer.echo(_as_json(report, output))
        else:
            _print_table(report)
        typer.echo(f"wrote {output}", err=True)


app.command("cluster", cls=PairCommand)(cluster_command)
app.command("recover", cls=PairCommand)(recover_command)
app.command("plan", cls=PairCommand)(plan_command)


@app.command("bench")
def bench_command(
    *,
    jobs: Annotated[list[str] | None, typer.Argument(help="Jobs to run; all of them if none is named.")] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the jobs and stop.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Tiny data: does everything run?")] = False,
    output: Annotated[Path, typer.Option("--output", "-o", file_okay=False, help="Folder for the results.")] = Path(
        "bench-results"
    ),
    seeds: Annotated[int, typer.Option(min=1, help="Runs to average errors over.")] = 1,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads of every system; all cores if not given.")] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds that one system may take in a job.")] = 3600,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each system; the quickest is told.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")] = False,
) -> None:
    """Compare our systems with others, each in a process of its own: seconds, memory, errors.

    Real data sets are looked for in the folder that GRAPHLOWRANK_DATA names; the peers come with the extra
    ``bench`` of the package. What is missing becomes a row that says so.
    """
    require_harness()
    from .bench import Options, chosen_jobs, print_jobs, run_bench

    if show_list:
        print_jobs()
        return
    names = chosen_jobs(jobs or [], quick=quick)
    options = Options(quick=quick, seeds=seeds, threads=threads, timeout=timeout, repeats=repeats)
    with failing_briefly(debug=debug):
        try:
            run_bench(names, options, output, _progress, as_json=as_json)
        except KeyboardInterrupt:
            typer.echo(f"interrupted; what was done is in {output}", err=True)
            raise typer.Exit(INTERRUPTED) from None
    typer.echo(f"wrote {', '.join(options.file_name(name) for name in names)} to {output}", err=True)


@app.command("reproduce")
def reproduce_command(
    *,
    names: Annotated[list[str] | None, typer.Argument(help="Tables and figures; all of them if none is named.")] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the tables and figures and stop.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Coarser grids and fewer columns: minutes.")] = False,
    output: Annotated[Path, typer.Option("--output", "-o", file_okay=False, help="Folder for the results.")] = Path(
        "reproduction"
    ),
    only: Annotated[
        list[str] | None, typer.Option(help="Run only cells with this in their name, such as 'CPCA'; may be repeated.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=0, help="Processes that run cells; 0 for this one.")] = 1,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")] = False,
) -> None:
    """Run the tables and figures of the CPCA paper and put our numbers beside the paper's.

    Writes results.csv, results.md and report.html. Finished cells are kept in the folder: run the same command again to
    go on where it stopped. Real data sets are looked for in the folder that GRAPHLOWRANK_DATA names; what is missing
    becomes a cell that says so.

    Examples: graphlowrank reproduce --quick -j 2; graphlowrank reproduce usps-small yale
    """
    require_harness()
    from .reproduce import chosen_experiments, print_experiments, run_reproduction

    if show_list:
        print_experiments()
        return
    todo = chosen_experiments(names or [], quick=quick)
    command = " ".join(["graphlowrank reproduce", *(names or []), *(["--quick"] if quick else [])])
    with failing_briefly(debug=debug):
        from ..report import missing_extras

        if missing := missing_extras():
            raise ModuleNotFoundError(f"the report needs {' and '.join(missing)}", name=missing[0])
        try:
            with _progress() as say:
                run_reproduction(todo, output, command, say, jobs=jobs, only=only or [])
        except KeyboardInterrupt:
            rest = len(todo.not_done())
            typer.echo(f"interrupted with {rest} of {len(todo.cells)} cells to go; run it again to go on", err=True)
            raise typer.Exit(INTERRUPTED) from None
    typer.echo(f"wrote results.csv, results.md and report.html to {output}", err=True)
    if unfed := todo.ended("missing"):
        typer.echo(f"cells without their data: {len(unfed)}, the first is {unfed[0].name}", err=True)
    if failed := todo.ended("failed"):
        typer.echo(f"failed cells: {len(failed)}, the first is {failed[0].name}", err=True)
        raise typer.Exit(1)


@app.command("video")
def video_command(
    *,
    source: Annotated[Path, typer.Argument(metavar="INPUT", help="Video, folder of pictures, .npy or .npz file.")],
    background: Annotated[
        str | None, typer.Option("--background", "-b", metavar="PATH", help="Where to put the scene.")
    ] = None,
    foreground: Annotated[
        str | None, typer.Option("--foreground", "-f", metavar="PATH", help="Where to put what moves.")
    ] = None,
    mask: Annotated[str | None, typer.Option("--mask", "-m", metavar="PATH", help="Where to put the mask.")] = None,
    report: Annotated[Path | None, typer.Option("--report", "-r", dir_okay=False, help="HTML page to write.")] = None,
    start: Annotated[int, typer.Option(min=0, help="First frame.")] = 0,
    stop: Annotated[int | None, typer.Option(min=1, help="Frame to end before.")] = None,
    step: Annotated[int, typer.Option(min=1, help="Take every n-th frame.")] = 1,
    scale: Annotated[float, typer.Option(min=0, max=1, help="Shrink frames by this factor, at most 1.")] = 1.0,
    fps: Annotated[
        float | None, typer.Option(min=0.01, max=1000, help="Rate of written videos; the input's, or 25.")
    ] = None,
    max_memory: Annotated[float, typer.Option(min=0, help="GB to work in; long videos go in chunks.")] = 4.0,
    rank: Annotated[int | None, typer.Option(min=0, help="Ways in which the light changes; 4 if not given.")] = None,
    solver: Annotated[Solver, typer.Option(help="Model of the compressed frames.")] = Solver.RPCA,
    shadows_too: Annotated[
        bool, typer.Option("--shadows-are-foreground", help="Take shadows for foreground like anything else.")
    ] = False,
    threshold: Annotated[float | None, typer.Option(min=0, help="Grey levels; from the noise if not given.")] = None,
    smallest: Annotated[int | None, typer.Option(min=0, help="Pixels of the smallest object.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="All cores if not given.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")] = False,
) -> None:
    """Split a video of a fixed camera into its background and what moves in front of it.

    Outputs are named by their extension: mp4, mov, mkv, avi, webm and gif are videos, npy and npz are arrays, a name
    without extension or with a / at its end is a folder of PNG files. Older files of these names are replaced.

    For example:

    graphlowrank video hall.mp4 -b empty.mp4 -f people.mp4 -r report.html

    graphlowrank video frames/ -m mask.npz --scale 0.5 --step 2
    """
    outputs = {"background": background, "foreground": foreground, "mask": mask}
    asked = {name: path for name, path in outputs.items() if path is not None}
    if not asked and report is None:
        raise typer.BadParameter("nothing to write: give --background, --foreground, --mask or --report")
    with failing_briefly(debug=debug, remedy=video_remedy):
        from .video import Request, run_video

        options = {
            "rank": rank, "solver": solver.value, "pixel_graph": "grid", "n_sampled": 100, "shadows": not shadows_too,
            "threshold": threshold, "smallest": smallest, "max_memory": max_memory * 1e9,
        }  # fmt: skip
        part = {"start": start, "stop": stop, "step": step, "scale": scale}
        command = "graphlowrank " + shlex.join(sys.argv[1:])
        run_video(Request(source, asked, report, part, options, fps, threads, command), as_json=as_json)


@app.command("reconstruct")
def reconstruct_command(
    *,
    source: Annotated[Path, typer.Argument(metavar="SINOGRAM", help=".npy file, detectors x angles; NaN: no reading.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="IMAGE", dir_okay=False, help=".png or .npy file to write.")
    ],
    angles: Annotated[
        str | None,
        typer.Option(
            help="Degrees: start:stop:count without the stop, a text file with one a line, or a .npy file. "
            "Evenly over 180 if not given."
        ),
    ] = None,
    angles_first: Annotated[bool, typer.Option("--angles-first", help="The sinogram is angles x detectors.")] = False,
    size: Annotated[int | None, typer.Option(min=1, help="Height and width; number of detectors if not given.")] = None,
    noise: Annotated[float | None, typer.Option(help="Standard deviation of a reading; chooses gamma.")] = None,
    gamma: Annotated[float | None, typer.Option(min=0, help="Smoothness; by held-out readings if not given.")] = None,
    loss: Annotated[Loss, typer.Option(help="huber or l1 if some readings may be grossly wrong.")] = Loss.L2,
    signed: Annotated[bool, typer.Option("--signed", help="Allow negative values.")] = False,
    neighbors: Annotated[int, typer.Option(min=1, help="Neighbours of each row and each column.")] = 3,
    max_iter: Annotated[int, typer.Option(min=1, help="Iterations of the last problem.")] = 500,
    bits: Annotated[Bits, typer.Option(help="Of a pixel in a PNG file.")] = Bits.EIGHT,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")] = False,
) -> None:
    """Reconstruct an image from parallel projections at few angles, laid out as in scikit-image.

    Pixels are as wide as detectors, and the axis is in the middle. A .npy file gets the values themselves; in a .png
    file the largest is white, 0 and less are black. An older file of that name is replaced.

    For example:

    graphlowrank reconstruct sinogram.npy -o image.png

    graphlowrank reconstruct sinogram.npy --angles 0:180:36 --noise 0.5 -o image.npy
    """
    if gamma is not None and noise is not None:
        raise typer.BadParameter("--noise chooses gamma: give --noise or --gamma, not both")
    with failing_briefly(debug=debug, remedy=reconstruct_remedy):
        from .reconstruct import Request, run_reconstruct

        options = {
            "gamma_features": "auto" if gamma is None else gamma, "gamma_samples": "auto" if gamma is None else gamma,
            "noise": noise, "loss": loss.value, "nonnegative": not signed, "n_neighbors": neighbors,
            "max_iter": max_iter,
        }  # fmt: skip
        request = Request(source, output, angles, angles_first, size, int(bits.value), options)
        with _progress() as say:
            run_reconstruct(request, say, as_json=as_json)


def _print_table(report: Report) -> None:
    """Print the scores: ruled on a terminal, aligned text elsewhere."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    terminal = sys.stdout.isatty()
    table = Table(box=box.SIMPLE_HEAD if terminal else None, pad_edge=terminal)
    table.add_column("system", no_wrap=True)
    for heading in ("recovery error", "seconds", "clustering error", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for score in report.scores:
        figures = (
            score.recovery_error, score.recovery_seconds, score.clustering_error, score.clustering_seconds
        )  # fmt: skip
        table.add_row(score.system, *("-" if value is None else f"{value:.3f}" for value in figures))
    Console(width=None if terminal else 100, highlight=False).print(table)


def _as_json(report: Report, output: Path) -> str:
    return json.dumps(
        {
            "scores": [asdict(score) for score in report.scores],
            "graphs": [asdict(graph) for graph in report.graphs],
            "stage_seconds": {model: dict(seconds) for model, seconds in report.stages.items()},
            "parameters": dict(report.parameters),
            "versions": dict(report.versions),
            "command": report.command,
            "page": str(output),
        },
        indent=2,
    )
