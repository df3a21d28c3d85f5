"""The command ``graphlowrank video``: split a video into files, block by block."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import typer

from .._backend import Array
from .._files import check_writable, writing
from .._progress import Progress
from .._threads import limit_threads
from ..video.foreground import Pieces
from ..video.page import VideoReport
from ..video.reading import Frames, open_frames
from ..video.run import Run, check_options
from ..video.stream import Options
from ..video.writing import Sink, check_sink, open_sink
from .console import interrupt_on_termination, print_warnings

ARRAYS = (".npy", ".npz")
PLAIN_EVERY = 5.0  # seconds between lines of progress where there is no terminal
USUAL_FPS = 25.0  # of what has no rate of its own, such as pictures
SLOWEST, FASTEST = 0.01, 1000.0  # frames a second that a video can have
Told = Callable[[int], None]


@dataclass(frozen=True)
class Request:
    """What to read, how to separate it and where to put it."""

    source: Path
    outputs: dict[str, str]  # not of type Path, which drops the / at the end of a folder
    report: Path | None
    part: dict[str, Any]
    options: dict[str, Any]
    fps: float | None
    threads: int | None
    command: str
    checked: Options = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "checked", check_options(**self.options))
        if not self.source.exists():  # before folders are made for its outputs
            raise FileNotFoundError(f"there is no file or folder {self.source}.")
        _check_apart(self.source, self.written)
        for path in self.outputs.values():
            check_sink(path)
        if self.report is not None:
            need_pages()
            check_writable(self.report)

    @property
    def written(self) -> dict[str, str]:
        """Place of each output, the report among them, by the name of its option."""
        return {**self.outputs, **({} if self.report is None else {"report": str(self.report)})}


def _check_apart(source: Path, written: dict[str, str]) -> None:
    """Raise if something would be written over something else, or into the input or another output."""
    places = {f"--{name}": Path(path).resolve() for name, path in written.items()}
    for name, place in places.items():
        if place == source.resolve():
            raise ValueError(f"{name} is the input itself: choose another place.")
        if source.resolve() in place.parents:
            raise ValueError(f"{name} is inside the input: choose another place.")
    for (one, its), (other, others) in combinations(places.items(), 2):
        if its == others:
            raise ValueError(f"{one} and {other} are the same file: choose another place for one of them.")
        if its in others.parents or others in its.parents:
            raise ValueError(f"one of {one} and {other} is inside the other: choose another place for it.")


def need_pages() -> None:
    """Raise if the page cannot be made; before the work, not after it."""
    from importlib.util import find_spec

    if missing := [name for name in ("jinja2", "PIL") if find_spec(name) is None]:
        raise ModuleNotFoundError(f"the report needs {' and '.join(missing)}", name=missing[0])


def run_video(request: Request, *, as_json: bool) -> None:
    """Read, separate and write; nothing appears under its name unless all of it does."""
    progress = Progress()
    with (
        interrupt_on_termination() as hold_on, print_warnings() as heard, limit_threads(request.threads),
        open_frames(request.source, **request.part) as frames,
    ):  # fmt: skip
        run = Run(frames, request.checked, progress)
        with ExitStack() as stack:
            fps = min(max(request.fps or frames.fps or USUAL_FPS, SLOWEST), FASTEST)
            sinks = {name: stack.enter_context(open_sink(path, fps=fps)) for name, path in request.outputs.items()}
            _separate(run, sinks, progress)
            report = run.report(request.command)
            full = replace(report, warnings=[*heard, *report.warnings])
            for sink in sinks.values():
                sink.complete()
            if request.report is not None:
                page = full.to_html().encode()
                file = stack.enter_context(writing(request.report))
                file.write(page)
                file.flush()
            hold_on()  # what is left takes no time: every output gets its name
    typer.echo(json.dumps(_as_record(request, run, full), indent=2) if as_json else _summary(report))
    typer.echo(f"wrote {', '.join(request.written.values())}", err=True)


def _summary(report: VideoReport) -> str:
    slowest = sorted(report.stages.items(), key=lambda stage: -stage[1])[:3]
    stages = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in slowest)
    return "\n".join(
        [
            *report.summary,
            f"{report.frames_per_second:.0f} frames a second; most of the time: {stages}.",
            *report.warnings,
        ]
    )


def _separate(run: Run, sinks: dict[str, Sink], progress: Progress) -> None:
    white = 0.0
    with _showing(run.source) as told:
        for block, pieces in run:
            white = white or max(1.0, run.scene.brightest)  # the same all along, or the video would flicker
            with progress.stage("writing"):
                for name, sink in sinks.items():
                    sink.write(_shown(name, sink.kind, block, pieces, white))
            told(run.n_frames)


def _shown(name: str, kind: str, block: Array, pieces: Pieces, white: float) -> Array:
    """Numbers as they are to arrays; to videos and pictures what an eye can see."""
    if name == "mask":
        return pieces.mask
    if kind in ARRAYS:
        return pieces.background if name == "background" else pieces.foreground
    if name == "background":
        images = pieces.background
    else:  # differences may be negative: show the frame itself where something moves
        images = block * (pieces.mask if block.ndim == 3 else pieces.mask[..., None])
    if images.dtype == np.uint8 or (kind == "" and images.dtype == np.uint16 and images.ndim == 3):
        return images  # grey pictures may have 16 bits
    return np.rint(np.clip(images.astype(np.float32) * (255 / white), 0, 255)).astype(np.uint8)


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
