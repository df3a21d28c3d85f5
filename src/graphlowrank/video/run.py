"""One run over a video: separation block by block, and the report at the end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib.metadata import version

import numpy as np

from .. import __version__
from .._backend import Array
from .._progress import Progress
from .background import Background
from .foreground import MIN_CONTRAST, TIMES_NOISE, Pieces
from .frames import Frames
from .options import Options
from .report import Gallery, VideoReport
from .stream import Scene, evenly_spaced, separate_stream

PICTURED = 24  # frames in the report
PICTURE_WIDTH = 480  # pixels, about
CROWDED = 0.5  # share of a frame that is foreground; more is rarely intended
NOISY = 0.04  # noise level as a fraction of the range of values; fixed cameras had 0.01
MIN_SECONDS = 1e-3  # stages that take less are not reported


class Run:
    """Iterable of (frames, pieces) blocks; afterwards :meth:`report` describes the run."""

    def __init__(self, source: Frames, options: Options, progress: Progress) -> None:
        self.source, self.options, self.progress = source, options, progress
        self.scene = Scene()
        self.n_frames = 0
        self._shares: list[Array] = []
        self._pictures = _Pictures()
        self._seconds = 0.0

    def __iter__(self) -> Iterator[tuple[Array, Pieces]]:
        """Yield blocks in order."""
        begin = time.perf_counter()
        for frames, pieces in separate_stream(self.source, self.options, self.scene, self.progress):
            self._shares.append(pieces.mask.mean(axis=(1, 2)))
            self._pictures.add(self.n_frames, frames, pieces)
            self.n_frames += len(frames)
            yield frames, pieces
        self._seconds = time.perf_counter() - begin
        if self.n_frames < 2:
            count = f"{self.n_frames} frame{'' if self.n_frames == 1 else 's'}"
            raise ValueError(f"at least two frames are needed; the selection of {self.source.name} has {count}.")

    def report(self, command: str | None = None) -> VideoReport:
        """Describe a run that has ended."""
        share, last, source = np.concatenate(self._shares), self._background(), self.source
        size = f"{source.height} x {source.width} pixels{' in color' if source.color else ''}"
        n_chunks = len(self.scene.detectors)
        models = "one background" if n_chunks == 1 else f"{n_chunks} backgrounds, each fading into the next"
        return VideoReport(
            title=source.name,
            summary=[
                f"{self.n_frames} frames of {size}, {models}.",
                f"{100 * float(share.mean()):.1f} % of the pixels are foreground.",
            ],
            warnings=self._warnings(share),
            gallery=self._pictures.gallery(source, self.scene.brightest),
            singular_values=last.singular_values,
            rank=last.rank,
            foreground_share=share,
            stages={stage: seconds for stage, seconds in self.progress.seconds.items() if seconds >= MIN_SECONDS},
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

    def _warnings(self, share: Array) -> list[str]:
        found = []
        if not self.scene.converged:
            found.append("The model of the compressed frames did not converge: the background may be inaccurate.")
        noise = max(detector.noise for detector in self.scene.detectors) / max(self.scene.brightest, 1e-12)
        if noise > NOISY:
            found.append(
                f"The noise level is {100 * noise:.0f} % of the range of values, more than a fixed camera has: has the "
                "camera moved?"
            )
        if crowded := int(np.count_nonzero(share > CROWDED)):
            frames = f"{crowded} frame{'s' if crowded > 1 else ''}"
            found.append(f"In {frames} more than half of the pixels are foreground: has the scene changed?")
        return found

    def _choices(self) -> list[tuple[str, str, str]]:
        options, last, detector = self.options, self._background(), self.scene.detectors[-1]
        thresholds = sorted({f"{found.threshold:.4g}" for found in self.scene.detectors})
        n_sampled = min(self.scene.n_sampled, self.n_frames)

        def reason(given: float | None, automatic: str) -> str:
            return "as given" if given is not None else automatic

        noise = f"{TIMES_NOISE:g} times the noise level, at least {100 * MIN_CONTRAST:g} % of the range"
        shadows, why = "foreground", "as given"
        if detector.darkest < 1:
            shadows = f"down to {100 * detector.darkest:g} % of the background brightness"
            why = "a darker patch with the pattern of the background is shadow"
        return [
            ("solver", options.solver, "model of the compressed frames"),
            (
                "rank",
                str(last.rank),
                reason(options.rank if options.rank == last.rank else None, "light varies little"),
            ),
            ("frames learnt from", str(n_sampled), "evenly spaced, at most so many per chunk"),
            ("pixels learnt from", str(len(last.pixels)), "a lattice, enough to fit the light of a frame"),
            ("threshold", ", ".join(thresholds), reason(options.threshold, noise)),
            ("smallest object", f"{detector.smallest} pixels", reason(options.smallest, "1/2000 of the frame")),
            ("shadows", shadows, why),
        ]


class _Pictures:
    """Evenly spaced frames of a video whose length need not be known."""

    def __init__(self) -> None:
        self.every = 1
        self.kept: list[tuple[int, Array, Array, Array]] = []

    def add(self, first: int, frames: Array, pieces: Pieces) -> None:
        """Keep every n-th frame; when there are too many, drop every other one and double n."""
        step = max(1, frames.shape[2] // PICTURE_WIDTH)
        for index in range(-first % self.every, len(frames), self.every):
            if (first + index) % self.every:
                continue  # n has changed within this block
            images = (part[index, ::step, ::step].copy() for part in (frames, pieces.background, pieces.mask))
            self.kept.append((first + index, *images))  # type: ignore[arg-type]
            if len(self.kept) > 2 * PICTURED:
                self.kept, self.every = self.kept[::2], 2 * self.every

    def gallery(self, source: Frames, brightest: float) -> Gallery:
        """Pictures of uint8."""
        chosen = [self.kept[index] for index in evenly_spaced(len(self.kept), PICTURED)]
        numbers, *images = zip(*chosen, strict=True)
        frames, background, mask = map(np.stack, images)
        pictures = as_bytes(frames, brightest)
        foreground = pictures * (mask if pictures.ndim == 3 else mask[..., None])
        seconds = None if source.fps is None else [number / source.fps for number in numbers]
        return Gallery(list(numbers), seconds, pictures, as_bytes(background, brightest), foreground, mask)


def as_bytes(images: Array, brightest: float) -> Array:
    """Images as uint8, with the brightest value white; floats that stay below 1 are dark."""
    if images.dtype == np.uint8:
        return images
    white = max(1.0, brightest)
    return np.rint(np.clip(images.astype(np.float32) * (255 / white), 0, 255)).astype(np.uint8)
