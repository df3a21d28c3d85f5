"""The record of a separated video; its page is rendered by ``graphlowrank.report``."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from .._files import write_atomically
from .._typing import Array


@dataclass(frozen=True, eq=False)
class Gallery:
    """Some evenly spaced frames, each shown four ways.

    Attributes
    ----------
    numbers, seconds : sequence of int, and of float or None
        Number of each frame in the video, from 0, increasing; its time, None if the frame rate is unknown.
    input, background, foreground : uint8 array (n_pictured, height, width[, 3])
        Images.
    mask : bool array (n_pictured, height, width)
        True on the foreground.
    """

    numbers: Sequence[int]
    seconds: Sequence[float] | None
    input: Array
    background: Array
    foreground: Array
    mask: Array

    def __post_init__(self) -> None:
        shape = self.mask.shape
        if len(shape) != 3 or not self.mask.size:
            raise ValueError(f"mask must be (n_pictured, height, width) and not empty; got shape {shape}.")
        for name in ("input", "background", "foreground"):
            found = getattr(self, name)
            if found.shape not in (shape, (*shape, 3)) or found.dtype != np.uint8:
                raise ValueError(
                    f"{name} must be bytes of shape {shape} or {(*shape, 3)}; got {found.dtype} {found.shape}."
                )
        for name, given in (("numbers", self.numbers), ("seconds", self.seconds)):
            if given is not None and len(given) != shape[0]:
                raise ValueError(
                    f"{name} must have one entry for each of {shape[0]} pictured frames; got {len(given)}."
                )


@dataclass(frozen=True, eq=False)
class VideoReport:
    """Everything the page of a video shows.

    Attributes
    ----------
    title, command : str
        Name of the video; command line that repeats the run, or None.
    summary, warnings : sequence of str
        Sentences.
    gallery : Gallery
        Pictured frames.
    singular_values, rank : array and int
        Of the compressed background matrix, decreasing; rank of the background model.
    foreground_share : array (n_frames,)
        Share of each frame that is foreground, in [0, 1].
    stages : mapping of str to float
        Seconds of each stage.
    n_frames, frames_per_second : int and float
        Length of the video, and speed of the separation, not the frame rate of the video.
    choices : sequence of (parameter, value, reason)
        What was chosen, and why.
    versions : mapping of str to str
        Versions of libraries.
    """

    title: str
    summary: Sequence[str]
    warnings: Sequence[str]
    gallery: Gallery
    singular_values: Array
    rank: int
    foreground_share: Array
    stages: Mapping[str, float]
    n_frames: int
    frames_per_second: float
    choices: Sequence[tuple[str, str, str]]
    command: str | None
    versions: Mapping[str, str]

    def __post_init__(self) -> None:
        if np.shape(self.foreground_share) != (self.n_frames,):
            shape = np.shape(self.foreground_share)
            raise ValueError(f"foreground_share must have one entry for each of {self.n_frames} frames; got {shape}.")
        if not 0 <= min(self.gallery.numbers) <= max(self.gallery.numbers) < self.n_frames:
            raise ValueError(f"numbers of pictured frames must be from 0 to {self.n_frames - 1}.")

    def to_html(self) -> str:
        """Render the page as one self-contained HTML file; needs Jinja and Pillow."""
        from ..report.video_page import render_video

        return render_video(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, atomically."""
        write_atomically(path, self.to_html())

    def _facts(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Key numbers, and seconds of the stages, as text."""
        from ..report.drawing import seconds
        from ..report.video_page import facts

        return facts(self), [(stage, seconds(spent)) for stage, spent in self.stages.items()]

    def __repr__(self) -> str:
        facts, stages = (", ".join(map(" ".join, rows)) for rows in self._facts())
        lines = [f"VideoReport of {self.title!r}", facts, f"stages: {stages}" if stages else ""]
        return "\n  ".join([*filter(None, lines), *(f"warning: {line}" for line in self.warnings)])

    def _repr_html_(self) -> str:
        """Small table for notebooks."""
        facts, stages = self._facts()
        rows = [*facts, *stages, *(("warning", line) for line in self.warnings)]
        cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
        return f"<table><caption>{escape(self.title)}</caption><tbody>{cells}</tbody></table>"
