"""One run over a video of any length: chunk by chunk, in bounded memory, and the report at the end."""

import time
from collections.abc import Iterator
from importlib.metadata import version
from itertools import count, pairwise
from typing import Any

import numpy as np

from .. import __version__
from .._progress import Progress
from .._threads import single_threaded_libraries
from .._typing import Array
from ..decoders.robust import BLOCK_ENTRIES
from .background import AUTO_RANK, Background, learn_background
from .foreground import (
    MIN_CONTRAST,
    TIMES_NOISE,
    Detector,
    Pieces,
    foreground_evidence,
    is_compiled,
    separate_frames,
    signed,
    tune_detector,
)
from .frames import Frames
from .options import Options
from .report import Gallery, VideoReport

FADE = 50  # frames over which one background fades into the next
NOISE_FRAMES = 20  # frames of which the noise level is measured
NOISE_PIXELS = 4_000_000  # pixels of them, about
FEWER_SAMPLED = (70, 50, 35)  # frames to learn from if memory is short
PROGRAM_BYTES = 350e6  # the interpreter, its libraries and compiled code
PICTURED = 24  # frames in the report
PICTURE_WIDTH = 480  # pixels, about
CROWDED = 0.5  # share of a frame that is foreground; more is rarely intended
NOISY = 0.04  # noise level as a fraction of the range of values; fixed cameras had 0.01
MIN_SECONDS = 1e-3  # stages that take less are not reported


class Run:
    """Iterable of (frames, pieces) blocks in order; afterwards :meth:`report` describes the run.

    Each chunk has its own background model, learned from evenly spaced frames of it and from some frames of earlier
    chunks, so that somebody who stands still for most of a chunk does not become background. Over the first frames of a
    chunk the previous background fades into the new one.
    """

    def __init__(self, source: Frames, options: Options, progress: Progress) -> None:
        self.source, self.options, self.progress = source, options, progress
        self.n_frames = 0  # separated so far
        self.brightest = self.darkest = 0.0  # range of the values
        self.detectors: list[Detector] = []  # one for each chunk
        self._chunk, self._n_sampled = plan_chunks(source, options)
        self._models: list[Background] = []  # of this chunk and of the one before
        self._remembered: Array | None = None  # frames of earlier chunks, fewer of older ones
        self._converged = True  # every model
        self._shares: list[Array] = []
        self._pictures = _Pictures()
        self._seconds = 0.0

    def __iter__(self) -> Iterator[tuple[Array, Pieces]]:
        """Yield blocks of frames and their separation."""
        begin = time.perf_counter()
        for chunk in self._read():
            with single_threaded_libraries():  # the matrices are small, and compiled loops have threads of their own
                self._learn(chunk)
            for frames, pieces in self._separate(chunk):
                self._shares.append(pieces.mask.mean(axis=(1, 2)))
                self._pictures.add(self.n_frames, frames, pieces)
                self.n_frames += len(frames)
                yield frames, pieces
        self._seconds = time.perf_counter() - begin
        if self.n_frames < 2:
            count = f"{self.n_frames} frame{'' if self.n_frames == 1 else 's'}"
            raise ValueError(f"at least two frames are needed; the selection of {self.source.name} has {count}.")

    def _read(self) -> Iterator[Array]:
        chunks = self.source.blocks(self._chunk)
        while True:
            with self.progress.stage("reading"):
                chunk = next(chunks, None)
            if chunk is None:
                return
            yield chunk.astype(np.float32, copy=False) if chunk.dtype.kind == "f" else chunk

    def _learn(self, chunk: Array) -> None:
        """Learn the background model and the noise level of a chunk."""
        sample = chunk[evenly_spaced(len(chunk), self._n_sampled)]
        if self._remembered is not None:
            sample = np.concatenate([self._remembered, sample])
        self.brightest = max(self.brightest, _brightest(sample))
        if sample.dtype.kind == "f":  # such as temperatures, whose range need not begin at 0
            self.darkest = min(self.darkest, float(sample.min())) if self.detectors else float(sample.min())
        background = learn_background(sample, self.options, self.progress)
        with self.progress.stage("noise"):
            noise = noise_level(sample[evenly_spaced(len(sample), NOISE_FRAMES)], background)
        detector = tune_detector(
            noise, sample.shape[1:3], contrast=self.brightest - self.darkest, threshold=self.options.threshold,
            smallest=self.options.smallest, darkest=self.options.darkest,
        )  # fmt: skip
        self.detectors.append(detector)
        self._models = [*self._models[-1:], background]
        self._converged = self._converged and background.converged
        self._remembered = sample[::-2][::-1].copy()  # a view would keep the whole sample alive

    def _separate(self, chunk: Array) -> Iterator[tuple[Array, Pieces]]:
        # The same loops for all blocks of a chunk, however small the last one is.
        compiled = is_compiled(self.options.compiled, chunk.size)
        step = max(1, self.options.block_values // chunk[0].size)
        fade = FADE if len(self._models) > 1 else 0
        edges = sorted({*range(0, len(chunk), step), min(fade, len(chunk)), len(chunk)})
        for first, stop in pairwise(edges):
            frames = chunk[first:stop]
            with self.progress.stage("frames"):
                coefficients, factors = mixture(frames, first, self._models, compiled=compiled)
                pieces = separate_frames(frames, coefficients, factors, self.detectors[-1], compiled=compiled)
            yield frames, pieces

    def report(self, command: str | None = None) -> VideoReport:
        """Describe a run that has ended."""
        share, last, source = np.concatenate(self._shares), self._models[-1], self.source
        size = f"{source.height} x {source.width} pixels{' in color' if source.color else ''}"
        n_chunks = len(self.detectors)
        models = "one background" if n_chunks == 1 else f"{n_chunks} backgrounds, each fading into the next"
        return VideoReport(
            title=source.name,
            summary=[
                f"{self.n_frames} frames of {size}, {models}.",
                f"{100 * float(share.mean()):.1f} % of the pixels are foreground.",
            ],
            warnings=self._warnings(share),
            gallery=self._pictures.gallery(source, self.brightest),
            singular_values=last.singular_values,
            rank=last.rank,
            foreground_share=share,
            stages={stage: seconds for stage, seconds in self.progress.seconds.items() if seconds >= MIN_SECONDS},
            n_frames=self.n_frames,
            frames_per_second=self.n_frames / max(self._seconds, 1e-9),
            choices=self._choices(last),
            command=command,
            versions={"graphlowrank": __version__, **{name: version(name) for name in ("numpy", "scipy")}},
        )

    def _warnings(self, share: Array) -> list[str]:
        found = []
        if not self._converged:
            found.append("The model of the compressed frames did not converge: the background may be inaccurate.")
        noise = max(detector.noise for detector in self.detectors) / max(self.brightest, 1e-12)
        if noise > NOISY:
            found.append(
                f"The noise level is {100 * noise:.0f} % of the range of values, more than a fixed camera has: has the "
                "camera moved?"
            )
        if crowded := int(np.count_nonzero(share > CROWDED)):
            frames = f"{crowded} frame{'s' if crowded > 1 else ''}"
            found.append(f"In {frames} more than half of the pixels are foreground: has the scene changed?")
        return found

    def _choices(self, last: Background) -> list[tuple[str, str, str]]:
        def reason(given: float | None, automatic: str) -> str:
            return "as given" if given is not None else automatic

        options, detector = self.options, self.detectors[-1]
        thresholds = ", ".join(sorted({f"{found.threshold:.4g}" for found in self.detectors}))
        noise = f"{TIMES_NOISE:g} times the noise level, at least {100 * MIN_CONTRAST:g} % of the range"
        n_sampled = str(min(self._n_sampled, self.n_frames))
        given_rank = options.rank if options.rank == last.rank else None
        shadows, why = "foreground", "as given"
        if detector.darkest < 1:
            shadows = f"down to {100 * detector.darkest:g} % of the background brightness"
            why = "a darker patch with the pattern of the background is shadow"
        return [
            ("solver", options.solver, "model of the compressed frames"),
            ("rank", str(last.rank), reason(given_rank, "light varies little")),
            ("frames learnt from", n_sampled, "evenly spaced, at most so many per chunk"),
            ("pixels learnt from", str(len(last.pixels)), "a lattice, enough to fit the light of a frame"),
            ("threshold", thresholds, reason(options.threshold, noise)),
            ("smallest object", f"{detector.smallest} pixels", reason(options.smallest, "1/2000 of the frame")),
            ("shadows", shadows, why),
        ]


class _Pictures:
    """Evenly spaced frames of a video whose length need not be known."""

    def __init__(self) -> None:
        self.every = 1
        self.kept: list[tuple[Any, ...]] = []  # number, frame, background, mask

    def add(self, first: int, frames: Array, pieces: Pieces) -> None:
        """Keep every n-th frame; when there are too many, drop every other one and double n."""
        step = max(1, frames.shape[2] // PICTURE_WIDTH)
        for number, *images in zip(count(first), frames, pieces.background, pieces.mask, strict=False):
            if number % self.every == 0:
                self.kept.append((number, *(image[::step, ::step].copy() for image in images)))
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


def evenly_spaced(n: int, at_most: int) -> Array:
    """Return indices of at most so many of n items, rounded to the nearest."""
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).round().astype(int))


def noise_level(frames: Array, background: Background) -> float:
    """Median of the evidence: most of a frame is background, so foreground does not affect it."""
    found = []
    every = -(-frames[0].size * len(frames) // NOISE_PIXELS)
    for frame, coefficients in zip(frames, background.coefficients(frames), strict=True):  # one by one: memory
        behind = (coefficients @ background.factors).T.reshape(1, *frame.shape)
        found.append(foreground_evidence(frame[None], behind, darkest=1.0).ravel()[::every])
    return float(np.median(np.concatenate(found)))


def _brightest(sample: Array) -> float:
    """Largest possible value: of floats the largest found; uint16 often holds 10, 12 or 14 bits of a camera."""
    if sample.dtype == np.uint8:
        return 255.0
    most = np.abs(sample).max()
    return float(most) if sample.dtype.kind == "f" else float(max(255, 2 ** int(most).bit_length() - 1))


def mixture(frames: Array, first: int, models: list[Background], *, compiled: bool) -> tuple[Array, Array]:
    """Coefficients and factors of frames from frame ``first`` of a chunk, while the previous background fades out."""
    *previous, new = models
    if not previous or first >= FADE:
        return new.coefficients(frames, compiled=compiled), new.factors
    share = np.clip((first + np.arange(len(frames)) + 1) / (FADE + 1), 0, 1).astype(np.float32)[:, None]
    fading_out, fading_in = (model.coefficients(frames, compiled=compiled) for model in models)
    coefficients = np.hstack([share * fading_in, (1 - share) * fading_out])
    return coefficients, np.concatenate([new.factors, previous[0].factors], axis=1)


def plan_chunks(source: Frames, options: Options) -> tuple[int, int]:
    """Length of a chunk, and number of its frames to learn from: the largest that fit into memory, up to the given."""
    values, bytes_each = int(np.prod(source.shape)), source.dtype.itemsize
    frame = values * bytes_each
    # Factors of two backgrounds in single precision, and the fit of a channel in double precision.
    factors = values * 8 * ((AUTO_RANK if options.rank is None else options.rank) + 1) * 2
    block = max(Options.block_values, values) * (2 * bytes_each + signed(source.dtype).itemsize + 2)
    room = (options.max_memory - PROGRAM_BYTES - BLOCK_ENTRIES * 16 - factors - block) / frame
    # A sampled frame is held in the sample, in the previous one, and in copies of both.
    for n_sampled in (options.n_sampled, *(n for n in FEWER_SAMPLED if n < options.n_sampled)):
        length = min(int(room - 4 * n_sampled) // 2, options.max_chunk)  # a chunk is read while the last is in use
        if length >= min(2 * n_sampled, options.min_chunk):
            n = source.n_frames
            # Chunks of about equal length; a source that announces too few frames must not get tiny chunks.
            return -(-n // -(-n // length)) if n and n > length else length, n_sampled
    least = options.max_memory - frame * (room - 4 * FEWER_SAMPLED[-1] - 2 * options.min_chunk)
    raise ValueError(
        f"max_memory of {options.max_memory / 1e9:.2g} GB is too little for frames of "
        f"{' x '.join(map(str, source.shape))}: give {least / 1e9:.2g} GB, or a smaller scale."
    )
