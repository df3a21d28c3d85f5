"""The command ``graphlowrank``; the only package that prints."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from .. import __version__
from .._literals import TomographyLoss
from .console import (
    PLOT_EXTRAS,
    HarnessCommand,
    brief_errors,
    print_result,
    require_packages,
    show_progress,
    spare_address_space,
    to_json,
)
from .fit_commands import NOT_PLANNED, cluster_command, plan_command, recover_command
from .options import AsJson, Debug, FitCommand, ReportPage, Seed, Threads, registered, with_table_options

DEMO_PAGE = Path("demo/report.html")
ANGLES = (
    "Degrees: start:stop:count without the stop, a text file with one per line, or a .npy file. Evenly spaced over "
    "180 if not given."
)

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


def _show_version(asked: bool) -> None:  # noqa: FBT001
    if asked:
        typer.echo(f"graphlowrank {__version__}")
        raise typer.Exit


@app.callback()
def main(
    *,
    version: Annotated[
        bool, Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Low-rank structure on graphs: recover and cluster large noisy matrices."""
    spare_address_space()  # the options of some commands import pandas


@app.command("demo")
def demo_command(
    *,
    output: Annotated[Path, Option("--output", "-o", dir_okay=False, help="HTML report to write.")] = DEMO_PAGE,
    seed: Seed = 0,
    noise: Annotated[float, Option(min=0, max=1, help="Fraction of the pixels to corrupt.")] = 0.15,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Recover and cluster corrupted digits, print a table and write a report. Needs no download."""
    with brief_errors(debug=debug):
        require_packages("the demo's page", *PLOT_EXTRAS)
        with show_progress() as show:
            from .._files import check_writable, write_atomically
            from .demo import run_demo

            check_writable(output)
            record, text, page = run_demo(noise, seed, show)
            write_atomically(output, page)
        print_result({**record, "page": str(output)}, text, [str(output)], as_json=as_json)


app.command("cluster", cls=FitCommand)(with_table_options(cluster_command))
app.command("recover", cls=FitCommand)(with_table_options(recover_command))
app.command("plan", cls=FitCommand)(with_table_options(plan_command, without=NOT_PLANNED))


@app.command("bench", cls=HarnessCommand)
def bench_command() -> None:
    """Benchmark this library against others, each in its own process: time, memory, errors."""


@app.command("reproduce", cls=HarnessCommand)
def reproduce_command() -> None:
    """Reproduce the tables and figures of the CPCA paper, and compare with the published numbers."""


@app.command("warmup")
def warmup_command(*, as_json: AsJson = False, debug: Debug = False) -> None:
    """Compile all kernels into the cache on disk, for instance while a container image is built.

    Without it, the first fit compiles what it needs. Set NUMBA_CACHE_DIR to choose the folder, here and for the fits.
    """
    with brief_errors(debug=debug):
        with show_progress() as show:
            from .warmup import run_warmup

            show("compiling")
            record, text = run_warmup()
        typer.echo(to_json(record) if as_json else text)


@app.command("video")
def video_command(
    *,
    source: Annotated[Path, Argument(metavar="INPUT", help="Video, folder of images, .npy or .npz file.")],
    background: Annotated[str | None, Option("--background", "-b", metavar="PATH", help="Background to write.")] = None,
    foreground: Annotated[str | None, Option("--foreground", "-f", metavar="PATH", help="Foreground to write.")] = None,
    mask: Annotated[str | None, Option("--mask", "-m", metavar="PATH", help="Foreground mask to write.")] = None,
    report: ReportPage = None,
    start: Annotated[int, Option(min=0, help="First frame.")] = 0,
    stop: Annotated[int | None, Option(min=1, help="End frame, exclusive.")] = None,
    step: Annotated[int, Option(min=1, help="Use every n-th frame.")] = 1,
    scale: Annotated[float, Option(min=0, max=1, help="Resize frames by this factor, at most 1.")] = 1.0,
    fps: Annotated[
        float | None, Option(min=0.01, max=1000, help="Frame rate of the outputs; the input's, or 25.")
    ] = None,
    codec: Annotated[
        str | None, Option(help="Of videos: h264, vp9, mpeg4, mjpeg or gif; by the extension if not given.")
    ] = None,
    max_memory: Annotated[float, Option(min=0, help="GB; long videos are processed in chunks.")] = 4.0,
    rank: Annotated[int | None, Option(min=0, help="Rank of the background; 4 if not given.")] = None,
    solver: Annotated[str, registered("graphlowrank.models:SOLVERS", "Model: rpca, rpcag, frpcag or yours.")] = "rpca",
    shadows_too: Annotated[bool, Option("--shadows-are-foreground", help="Count shadows as foreground.")] = False,
    threshold: Annotated[float | None, Option(min=0, help="Gray levels; from the noise if not given.")] = None,
    smallest: Annotated[int | None, Option(min=0, help="Pixels of the smallest object.")] = None,
    threads: Threads = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Separate a video of a fixed camera into background and foreground.

    The extension of an output gives its format: mp4, mov, mkv, avi, webm and gif are videos, npy and npz are arrays, a
    name without extension or with a trailing / is a folder of PNG files. Existing files of these names are replaced.

    For example:

    graphlowrank video hall.mp4 -b empty.mp4 -f people.mp4 -r report.html

    graphlowrank video frames/ -m mask.npz --scale 0.5 --step 2
    """
    outputs = {"background": background, "foreground": foreground, "mask": mask}
    asked = {name: path for name, path in outputs.items() if path is not None}
    if not asked and report is None:
        raise typer.BadParameter("nothing to write: give --background, --foreground, --mask or --report")
    with brief_errors(debug=debug, command="video"):
        from .video import run_video

        options = {
            "rank": rank, "solver": solver, "shadows": not shadows_too, "threshold": threshold, "smallest": smallest,
            "max_memory": max_memory * 1e9,
        }  # fmt: skip
        part = {"start": start, "stop": stop, "step": step, "scale": scale}
        record, text = run_video(
            source, asked, report, part=part, options=options, fps=fps, codec=codec, threads=threads
        )
        print_result(record, text, filter(None, [*asked.values(), record["report"]]), as_json=as_json)


@app.command("reconstruct")
def reconstruct_command(
    *,
    source: Annotated[Path, Argument(metavar="SINOGRAM", help=".npy file, detectors x angles; NaN: missing.")],
    output: Annotated[
        Path, Option("--output", "-o", metavar="IMAGE", dir_okay=False, help=".png or .npy file to write.")
    ],
    report: ReportPage = None,
    angles: Annotated[str | None, Option(help=ANGLES)] = None,
    angles_first: Annotated[bool, Option("--angles-first", help="The sinogram is angles x detectors.")] = False,
    size: Annotated[int | None, Option(min=1, help="Height and width; the detectors' number if not given.")] = None,
    noise: Annotated[float | None, Option(help="Standard deviation of the noise; chooses gamma.")] = None,
    gamma: Annotated[float | None, Option(min=0, help="Smoothness; from held-out readings if not given.")] = None,
    loss: Annotated[TomographyLoss, Option(help="huber and l1 are robust to outliers.")] = "l2",
    signed: Annotated[bool, Option("--signed", help="Allow negative values.")] = False,
    neighbors: Annotated[int, Option(min=1, help="Neighbors of each row and each column.")] = 3,
    max_iter: Annotated[int, Option(min=1, help="Iterations of the final problem.")] = 500,
    bits: Annotated[Literal["8", "16"], Option(help="Bits of a pixel in a PNG file.")] = "8",
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Reconstruct an image from parallel projections at few angles, laid out as in scikit-image.

    Pixels are as wide as detectors, and the rotation axis is in the center. A .npy file holds the values; in a .png
    file the maximum is white, values up to 0 are black. An existing file of that name is replaced.

    For example:

    graphlowrank reconstruct sinogram.npy -o image.png -r report.html

    graphlowrank reconstruct sinogram.npy --angles 0:180:36 --noise 0.5 -o image.npy
    """
    if gamma is not None and noise is not None:
        raise typer.BadParameter("--noise chooses gamma: give --noise or --gamma, not both")
    with brief_errors(debug=debug, command="reconstruct"):
        from .reconstruct import run_reconstruct

        options = {
            "gamma_features": "auto" if gamma is None else gamma, "gamma_samples": "auto" if gamma is None else gamma,
            "noise": noise, "loss": loss, "nonnegative": not signed, "n_neighbors": neighbors,
            "max_iter": max_iter,
        }  # fmt: skip
        with show_progress() as show:
            record, text = run_reconstruct(
                source, output, report, options, show, angles=angles, angles_first=angles_first, size=size,
                bits=int(bits),
            )  # fmt: skip
        print_result(record, text, filter(None, [str(output), record["report"]]), as_json=as_json)
