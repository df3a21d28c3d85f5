"""One run over a video: its options, what is kept of it for the report, and the report."""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.metadata import version
from numbers import Real
from typing import Any

import numpy as np

from .. import __version__
from .._backend import Array
from .._progress import Progress
from ..models import SOLVERS
from .background import Background
from .foreground import DARKEST, LEAST_CONTRAST, TIMES_NOISE, Pieces
from .page import Gallery, VideoReport
from .reading import Frames
from .stream import Options, Scene, evenly, separate_stream

PICTURED = 24  # frames in the report
WIDEST = 480  # pixels of its pictures, about
CROWDED = 0.5  # share of a frame: more than that is rarely what is looked for
NOISY = 0.04  # share of the range of values; cameras that stand still had 0.01
SHORTEST_STAGE = 1e-3  # seconds; what was not done at all takes less
PIXEL_GRAPHS = ("grid", "knn")
MAY_BE_NONE = ("rank", "smallest", "threshold")


def check_options(*, shadows: bool | float, **options: Any) -> Options:
    """Options of a run, or an error that says which of them is wrong."""
    darkest = (DARKEST if shadows else 1.0) if isinstance(shadows, (bool, np.bool_)) else shadows
    found = Options(darkest=darkest, **options)
    if found.solver not in tuple(SOLVERS):
        raise ValueError(f"solver must be one of {', '.join(map(repr, tuple(SOLVERS)))}; got {found.solver!r}.")
    if found.pixel_graph not in PIXEL_GRAPHS:
        raise ValueError(f"pixel_graph must be 'grid' or 'knn'; got {found.pixel_graph!r}.")
    for name, least in (("rank", 0), ("n_sampled", 2), ("smallest", 0), ("seed", 0)):
        value = getattr(found, name)
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not ((value is None and name in MAY_BE_NONE) or (whole and value >= least)):
            name = "random_state" if name == "seed" else name  # noqa: PLW2901
            raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}.")
    off = isinstance(shadows, (bool, np.bool_)) and not shadows
    if not off and not (_is_number(found.darkest) and 0 < found.darkest < 1):
        raise ValueError(f"shadows must be True, False or a number between 0 and 1; got {shadows!r}.")
    for name in ("threshold", "max_memory"):
        value = getattr(found, name)
        if not ((value is None and name in MAY_BE_NONE) or (_is_number(value) and value > 0)):
            raise ValueError(f"{name} must be a positive number; got {value!r}.")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))


class Run:
    """Iterate over it for blocks of frames and what they fall into; then ask for the report."""

    def __init__(self, source: Frames, options: Options, progress: Progress) -> None:
        self.source, self.options, self.progress = source, options, progress
        self.scene = Scene()
        self.n_frames = 0
        self._shares: list[Array] = []
        self._pictures = _Pictures()
        self._seconds = 0.0

    def __iter__(self) -> Iterator[tuple[Array, Pieces]]:
        """Yield blocks, in the order of time."""
        begin = time.perf_counter()
        for frames, pieces in separate_stream(self.source, self.options, self.scene, self.progress):
            self._shares.append(pieces.mask.mean(axis=(1, 2)))
            self._pictures.look(self.n_frames, frames, pieces)
            self.n_frames += len(frames)
            yield frames, pieces
        self._seconds = time.perf_counter() - begin
        if self.n_frames < 2:
            count = f"{self.n_frames} frame{'' if self.n_frames == 1 else 's'}"
            raise ValueError(f"at least two frames are needed; the selection of {self.source.name} has {count}.")

    def report(self, command: str | None = None) -> VideoReport:
        """Everything there is to say about a run that has ended."""
        share = np.concatenate(self._shares)
        last = self._background()
        return VideoReport(
            title=self.source.name,
            summary=self._summary(float(share.mean())),
            warnings=self._warnings(share),
            gallery=self._pictures.gallery(self.source, self.scene.brightest),
            singular_values=last.singular_values,
            rank=last.rank,
            foreground_share=share,
            stages={stage: seconds for stage, seconds in self.progress.seconds.items() if seconds >= SHORTEST_STAGE},
            n_frames=self.n_frames,
            frames_per_second=self.n_frames / max(self._seconds, 1e-9),
            choices=self._choices(),
            command=command,
            versions={"graphlowrank": __version__, **{name: version(name) for name in ("numpy", "scipy")}},
        )

    def _background(self) -> Background:
        if self.scene.background is None:
            raise ValueError("there is nothing to report before the run.")
        return self.scene.background

    def _summary(self, share: float) -> list[str]:
        size = f"{self.source.height} x {self.source.width} pixels{' in colour' if self.source.colour else ''}"
        chunks = len(self.scene.detectors)
        parts = "one background" if chunks == 1 else f"{chunks} backgrounds, each fading into the next"
        return [
            f"{self.n_frames} frames of {size}, {parts}.",
            f"{100 * share:.1f} % of the pixels are foreground.",
        ]

    def _warnings(self, share: Array) -> list[str]:
        found = []
        if not self.scene.converged:
            found.append("The model of the compressed frames did not converge: the background may be rough.")
        noise = max(detector.noise for detector in self.scene.detectors) / max(self.scene.brightest, 1e-12)
        if noise > NOISY:
            found.append(
                f"The background is {100 * noise:.0f} % of the range of values away from most of the video: has the "
                "camera moved?"
            )
        if crowded := int(np.count_nonzero(share > CROWDED)):
            frames = f"{crowded} frame{'s' if crowded > 1 else ''}"
            found.append(f"In {frames} more than half of the picture is foreground: has the scene changed?")
        return found

    def _choices(self) -> list[tuple[str, str, str]]:
        options, last, detector = self.options, self._background(), self.scene.detectors[-1]
        thresholds = sorted({f"{found.threshold:.4g}" for found in self.scene.detectors})

        def why(given: Any, reason: str) -> str:
            return "as asked" if given is not None else reason

        noise = f"{TIMES_NOISE:g} times the noise, at least {100 * LEAST_CONTRAST:g} % of the range"
        shadows = "foreground" if detector.darkest == 1 else f"excused down to {detector.darkest:g} of the light"
        return [
            ("solver", options.solver, "model of the compressed frames"),
            (
                "rank",
                str(last.rank),
                why(options.rank if options.rank == last.rank else None, "light changes in few ways"),
            ),
            (
                "frames learnt from",
                str(min(self.scene.n_sampled, self.n_frames)),
                "at most, evenly spread in a chunk",
            ),
            ("pixels learnt from", str(len(last.pixels)), "a lattice, enough to tell the light of a frame"),
            ("threshold", ", ".join(thresholds), why(options.threshold, noise)),
            ("smallest object", f"{detector.smallest} pixels", why(options.smallest, "a two-thousandth of the frame")),
            ("shadows", shadows, "as asked" if detector.darkest == 1 else "a patch of the background in less light"),
        ]


class _Pictures:
    """Some of the frames, evenly spread, of a video whose length need not be known."""

    def __init__(self) -> None:
        self.every = 1
        self.kept: list[tuple[int, Array, Array, Array]] = []

    def look(self, first: int, frames: Array, pieces: Pieces) -> None:
        """Keep every n-th; once there are too many, drop every other and look half as often."""
        for index in range(-first % self.every, len(frames), self.every):
            number = first + index
            if number % self.every:
                continue  # the step has changed within this block
            step = max(1, frames.shape[2] // WIDEST)  # the page would shrink large ones anyway
            self.kept.append(
                (
                    number,
                    frames[index, ::step, ::step].copy(),
                    pieces.background[index, ::step, ::step].copy(),
                    pieces.mask[index, ::step, ::step].copy(),
                )
            )
            if len(self.kept) > 2 * PICTURED:
                self.kept, self.every = self.kept[::2], 2 * self.every

    def gallery(self, source: Frames, brightest: float) -> Gallery:
        """Pictures of bytes."""
        chosen = [self.kept[index] for index in evenly(len(self.kept), PICTURED)]
        numbers, frames, backgrounds, masks = zip(*chosen, strict=True)
        mask = np.stack(masks)
        pictures = _as_bytes(np.stack(frames), brightest)
        cut_out = pictures * (mask if pictures.ndim == 3 else mask[..., None])
        seconds = None if source.fps is None else [number / source.fps for number in numbers]
        return Gallery(list(numbers), seconds, pictures, _as_bytes(np.stack(backgrounds), brightest), cut_out, mask)


def _as_bytes(images: Array, brightest: float) -> Array:
    if images.dtype == np.uint8:
        return images
    white = max(1.0, brightest)  # floats that are darker than 1 all along are dark
    return np.rint(np.clip(images.astype(np.float32) * (255 / white), 0, 255)).astype(np.uint8)
