"""The command ``graphlowrank video``: split a video into files, block by block."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import typer

from .._backend import Array
from .._files import check_writable
from .._progress import Progress
from .._threads import limit_threads
from ..video.foreground import Pieces
from ..video.reading import Frames, open_frames
from ..video.run import Run, check_options
from ..video.stream import Options
from ..video.writing import Sink, check_sink, open_sink

ARRAYS = (".npy", ".npz")
PLAIN_EVERY = 5.0  # seconds between lines of progress where there is no terminal
USUAL_FPS = 25.0  # of what has no rate of its own, such as pictures
Told = Callable[[int], None]


@dataclass(frozen=True)
class Request:
    """What to read, how to separate it and where to put it."""

    source: Path
    outputs: dict[str, Path]
    report: Path | None
    part: dict[str, Any]
    options: dict[str, Any]
    threads: int | None
    command: str
    checked: Options = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "checked", check_options(**self.options))
        places = [path.resolve() for path in (self.source, *self.outputs.values(), *filter(None, [self.report]))]
        if len(set(places)) < len(places):
            raise ValueError("input and outputs must be different files.")
        for path in self.outputs.values():
            check_sink(path)
        if self.report is not None:
            need_pages()
            check_writable(self.report)


def need_pages() -> None:
    """Raise if the page cannot be made; before the work, not after it."""
    from importlib.util import find_spec

    if missing := [name for name in ("jinja2", "PIL") if find_spec(name) is None]:
        raise ModuleNotFoundError(f"the report needs {' and '.join(missing)}", name=missing[0])


def run_video(request: Request, *, as_json: bool) -> None:
    """Read, separate and write; nothing appears under its name unless all of it does."""
    signal.signal(signal.SIGTERM, _as_interrupt)
    progress = Progress()
    with open_frames(request.source, **request.part) as frames, limit_threads(request.threads):
        run = Run(frames, request.checked, progress)
        with ExitStack() as stack, _showing(frames) as told:
            sinks = {
                name: stack.enter_context(open_sink(path, fps=frames.fps or USUAL_FPS))
                for name, path in request.outputs.items()
            }
            for block, pieces in run:
                with progress.stage("writing"):
                    for name, sink in sinks.items():
                        _write(name, sink, request.outputs[name], block, pieces, frames)
                told(run.n_frames)
    report = run.report(request.command)
    if request.report is not None:
        report.save(request.report)
    if as_json:
        typer.echo(json.dumps(_as_record(request, run, report), indent=2))
    else:
        typer.echo(repr(report))
    written = [*request.outputs.values(), *filter(None, [request.report])]
    typer.echo(f"wrote {', '.join(map(str, written))}", err=True)


def _as_interrupt(signum: int, frame: object) -> None:
    raise KeyboardInterrupt


def _write(name: str, sink: Sink, path: Path, block: Array, pieces: Pieces, frames: Frames) -> None:
    """Numbers as they are to arrays; to videos and pictures what an eye can see."""
    if name == "mask":
        sink.write(pieces.mask)
        return
    images = pieces.background if name == "background" else pieces.foreground
    if path.suffix.lower() not in ARRAYS:
        if name == "foreground":  # differences may be negative: show the frame itself where something moves
            images = block * (pieces.mask if block.ndim == 3 else pieces.mask[..., None])
        images = _visible(images, frames)
    sink.write(images)


def _visible(images: Array, frames: Frames) -> Array:
    if frames.dtype == np.uint8:
        return images
    if frames.dtype == np.uint16:
        return (images >> 8).astype(np.uint8)
    return np.rint(255 * np.clip(images, 0, 1)).astype(np.uint8)


def _as_record(request: Request, run: Run, report: Any) -> dict[str, Any]:
    share = [round(float(value), 6) for value in report.foreground_share]
    return {
        "input": str(request.source),
        "outputs": {name: str(path) for name, path in request.outputs.items()},
        "report": None if request.report is None else str(request.report),
        "frames": report.n_frames,
        "height": run.source.height,
        "width": run.source.width,
        "rank": report.rank,
        "frames_per_second": report.frames_per_second,
        "foreground_share": share,
        "stage_seconds": dict(report.stages),
        "choices": {what: value for what, value, _ in report.choices},
        "warnings": list(report.warnings),
    }


@contextmanager
def _showing(frames: Frames) -> Iterator[Told]:
    """Yield what is told of the frames done: a bar with rate and time left on a terminal, lines elsewhere."""
    if not sys.stderr.isatty():
        yield _plain(frames)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]} frames/s"),
        TimeRemainingColumn(),
    )  # fmt: skip
    begin = time.perf_counter()
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("learning the background", total=frames.n_frames, rate="–")

        def told(n_done: int) -> None:
            rate = f"{n_done / (time.perf_counter() - begin):.0f}"
            bar.update(task, description="frames", completed=n_done, rate=rate, total=frames.n_frames)

        yield told


def _plain(frames: Frames) -> Told:
    begin = last = time.perf_counter()

    def told(n_done: int) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last < PLAIN_EVERY:
            return
        last = now
        rate = n_done / (now - begin)
        left = "" if not frames.n_frames else f" of {frames.n_frames}, {(frames.n_frames - n_done) / rate:.0f} s left"
        typer.echo(f"{n_done} frames{left}, {rate:.0f} frames/s", err=True)

    return told
