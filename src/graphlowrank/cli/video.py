"""The command ``graphlowrank video``: separate a video into files, block by block."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from .._files import check_writable, writing
from .._progress import Progress
from .._threads import limit_threads
from .._typing import Array
from ..report.video_page import render_video
from ..video.foreground import Pieces
from ..video.frames import Frames, open_frames
from ..video.options import check_options
from ..video.report import VideoReport
from ..video.run import Run, as_bytes
from ..video.sink import ARRAYS, FOLDER, Sink, check_sink, open_sink
from .console import command_line, print_warnings, require_packages, uninterrupted
from .outputs import check_distinct

LINE_EVERY = 5.0  # seconds between progress lines where there is no terminal
DEFAULT_FPS = 25.0  # of inputs without a frame rate, such as images
MIN_FPS, MAX_FPS = 0.01, 1000.0
Update = Callable[[int], None]


def run_video(
    source: Path, outputs: dict[str, str], page: Path | None, *, part: dict[str, Any], options: dict[str, Any],
    fps: float | None, codec: str | None, threads: int | None,
) -> tuple[dict[str, Any], str]:  # fmt: skip
    """Read, separate and write, all files or none; return the record for JSON and the text for the console.

    Outputs are no Path, which would drop the / at the end of a folder.
    """
    checked = check_options(**options)
    _check_places(source, outputs, page, codec)
    with (
        ExitStack() as outer, print_warnings() as heard, limit_threads(threads),
        open_frames(source, **part) as frames,
    ):  # fmt: skip
        run = Run(frames, checked, Progress())
        with ExitStack() as stack:
            rate = min(max(fps or frames.fps or DEFAULT_FPS, MIN_FPS), MAX_FPS)
            sinks = {
                name: stack.enter_context(open_sink(path, fps=rate, codec=codec)) for name, path in outputs.items()
            }
            _separate(run, sinks)
            report = run.report(command_line())
            full = replace(report, warnings=[*heard, *report.warnings])
            for sink in sinks.values():
                sink.complete()
            if page is not None:
                content = render_video(full).encode()
                file = stack.enter_context(writing(page))
                file.write(content)
                file.flush()
            outer.enter_context(uninterrupted())  # only the renaming is left
    record = {
        "input": str(source),
        "outputs": outputs,
        "report": None if page is None else str(page),
        "frames": report.n_frames,
        "height": frames.height,
        "width": frames.width,
        "rank": report.rank,
        "frames_per_second": report.frames_per_second,
        "foreground_share": [round(float(value), 6) for value in report.foreground_share],
        "stage_seconds": dict(report.stages),
        "choices": {name: value for name, value, _ in report.choices},
        "warnings": full.warnings,
    }
    return record, _summary(report)


def _check_places(source: Path, outputs: dict[str, str], page: Path | None, codec: str | None) -> None:
    """Raise before any work."""
    if not source.exists():  # before folders are created for the outputs
        raise FileNotFoundError(f"there is no file or folder {source}.")
    places = {name: Path(path) for name, path in outputs.items()}
    check_distinct({"the input": source}, places if page is None else {**places, "report": page})
    for path in outputs.values():
        check_sink(path, codec=codec)
    if page is not None:
        require_packages("the report", "jinja2", "PIL")
        check_writable(page)


def _summary(report: VideoReport) -> str:
    slowest = sorted(report.stages.items(), key=lambda stage: -stage[1])[:3]
    stages = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in slowest)
    speed = f"{report.frames_per_second:.0f} frames a second; slowest stages: {stages}."
    return "\n".join([*report.summary, speed, *report.warnings])


def _separate(run: Run, sinks: dict[str, Sink]) -> None:
    white = 0.0
    with _showing(run.source) as update:
        for block, pieces in run:
            white = white or max(1.0, run.brightest)  # the same for all blocks, or the video would flicker
            with run.progress.stage("writing"):
                for name, sink in sinks.items():
                    sink.write(_written(name, sink.kind, block, pieces, white))
            update(run.n_frames)


def _written(name: str, kind: str, block: Array, pieces: Pieces, white: float) -> Array:
    """Exact values for arrays; visible ones for videos and images."""
    if name == "mask":
        return pieces.mask
    if kind in ARRAYS:
        return pieces.background if name == "background" else pieces.foreground
    if name == "background":
        images = pieces.background
    else:  # differences may be negative: show the frame itself under the mask
        images = block * (pieces.mask if block.ndim == 3 else pieces.mask[..., None])
    if kind == FOLDER and images.dtype == np.uint16 and images.ndim == 3:
        return images  # gray PNG files may have 16 bits
    return as_bytes(images, white)


@contextmanager
def _showing(frames: Frames) -> Iterator[Update]:
    """Yield a function that shows the number of frames done: a progress bar on a terminal, lines elsewhere."""
    if not sys.stderr.isatty():
        yield _lines(frames)
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}"), bars.BarColumn(), bars.MofNCompleteColumn(),
        bars.TextColumn("{task.fields[rate]} frames/s"), bars.TimeRemainingColumn(),
    )  # fmt: skip
    begin = time.perf_counter()
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("learning the background", total=frames.n_frames, rate="–")

        def update(n_done: int) -> None:
            rate = f"{n_done / (time.perf_counter() - begin):.0f}"
            bar.update(task, description="frames", completed=n_done, rate=rate, total=frames.n_frames)

        yield update


def _lines(frames: Frames) -> Update:
    begin = last = time.perf_counter()

    def update(n_done: int) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last < LINE_EVERY:
            return
        last, rate = now, n_done / (now - begin)
        left = "" if not frames.n_frames else f" of {frames.n_frames}, {(frames.n_frames - n_done) / rate:.0f} s left"
        typer.echo(f"{n_done} frames{left}, {rate:.0f} frames/s", err=True)

    return update
