"""A video of any length, chunk by chunk, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

import numpy as np

from .._backend import Array
from .._progress import Progress
from .._threads import single_threaded_libraries
from ..decoders.robust import BLOCK_ENTRIES
from . import foreground
from .background import AUTO_RANK, Background, learn_background
from .foreground import DARKEST, Detector, Pieces, foreground_evidence, separate_frames, signed, tune_detector

CHUNK = 2000  # frames, at most, that one background serves: scenes change
FADE = 50  # frames over which a background gives way to the next
TUNED_ON = 20  # frames that the noise is measured on
MEDIAN_OF = 4_000_000  # pixels of them, about
BLOCK_VALUES = 10_000_000  # of frames that are separated at a time
FEWER = (70, 50, 35)  # frames to learn from if memory is short
LEAST_CHUNK = 100  # frames; fewer tell too little of a scene
PROGRAM_BYTES = 350e6  # the interpreter and its libraries, compiled code among them


@dataclass(frozen=True)
class Options:
    """How to separate; see :func:`graphlowrank.video.separate` for the meaning."""

    rank: int | None = None
    solver: str = "rpca"
    pixel_graph: str = "grid"
    n_sampled: int = 100
    darkest: float = DARKEST
    threshold: float | None = None
    smallest: int | None = None
    max_memory: float = 4e9
    block_values: int = BLOCK_VALUES
    seed: int = 0


class Source(Protocol):
    """Frames that come in blocks; :class:`~graphlowrank.video.reading.Frames` is one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one frame."""
        ...

    @property
    def dtype(self) -> np.dtype:
        """Of all frames."""
        ...

    @property
    def n_frames(self) -> int | None:
        """How many there are, if that is known."""
        ...

    def blocks(self, n: int) -> Iterator[Array]:
        """Yield arrays of at most n frames."""
        ...


@dataclass(eq=False)
class Scene:
    """What has been learnt so far; changes from chunk to chunk."""

    background: Background | None = None
    last: Background | None = None  # that of the chunk before; older ones are let go, or a long video would fill memory
    remembered: Array | None = None  # frames of earlier chunks, ever fewer the longer ago
    detectors: list[Detector] = field(default_factory=list)
    brightest: float = 0.0
    darkest: float = 0.0
    n_sampled: int = 0
    converged: bool = True


def separate_stream(
    source: Source, options: Options, scene: Scene, progress: Progress
) -> Iterator[tuple[Array, Pieces]]:
    """Yield blocks of frames and what they fall into, in the order of time.

    Each chunk of the video has a background of its own, learnt from frames spread over it and from some that are
    remembered of earlier chunks, so that whoever stands still for most of a chunk is not furniture yet. Over the first
    frames of a chunk the last background fades into the new one: there is no seam.

    Parameters
    ----------
    source
        Frames.
    options
        How to separate them.
    scene
        An empty one; it is filled in.
    progress
        Told of the stages.
    """
    plan = plan_chunks(source, options)
    scene.n_sampled = plan.n_sampled
    for chunk in _reading(source.blocks(plan.chunk), progress):
        if chunk.dtype.kind == "f":
            chunk = chunk.astype(np.float32, copy=False)  # noqa: PLW2901
        with single_threaded_libraries():  # the matrices are small, and the compiled loops have threads of their own
            learn(chunk, options, scene, progress)
        assert scene.background is not None  # just learnt
        step = max(1, options.block_values // chunk[0].size)
        fade = FADE if scene.last is not None else 0
        edges = sorted({*range(0, len(chunk), step), min(fade, len(chunk)), len(chunk)})
        for first, stop in pairwise(edges):
            frames = chunk[first:stop]
            with progress.stage("frames"):
                # One way for all blocks of a chunk, however small the last may be.
                compiled = chunk.size >= foreground.COMPILED_FROM
                coefficients, factors = mixture(frames, first, scene.last, scene.background, compiled=compiled)
                pieces = separate_frames(frames, coefficients, factors, scene.detectors[-1], compiled=compiled)
            yield frames, pieces


def _reading(blocks: Iterator[Array], progress: Progress) -> Iterator[Array]:
    """Time what the source takes."""
    while True:
        with progress.stage("reading"):
            block = next(blocks, None)
        if block is None:
            return
        yield block


def learn(chunk: Array, options: Options, scene: Scene, progress: Progress) -> None:
    """Learn the background of a chunk and how much noise there is around it."""
    sample = chunk[evenly(len(chunk), scene.n_sampled)]
    if scene.remembered is not None:
        sample = np.concatenate([scene.remembered, sample])
    scene.brightest = max(scene.brightest, _brightest(sample))
    if sample.dtype.kind == "f":  # such as degrees, which need not begin at 0
        scene.darkest = min(scene.darkest, float(sample.min())) if scene.detectors else float(sample.min())
    background = learn_background(
        sample, rank=options.rank, solver=options.solver, pixel_graph=options.pixel_graph, seed=options.seed,
        progress=progress,
    )  # fmt: skip
    with progress.stage("noise"):
        scene.detectors.append(
            tune_detector(
                measure_noise(sample[evenly(len(sample), TUNED_ON)], background), sample.shape[1:3],
                contrast=scene.brightest - scene.darkest, threshold=options.threshold, smallest=options.smallest,
                darkest=options.darkest,
            )
        )  # fmt: skip
    scene.last, scene.background = scene.background, background
    scene.converged = scene.converged and background.converged
    scene.remembered = sample[::-2][::-1].copy()  # a view would keep the rest alive


def measure_noise(frames: Array, background: Background) -> float:
    """Median of the evidence: most of a frame is background, so it is that of noise, whatever moves."""
    found = []
    every = -(-frames[0].size * len(frames) // MEDIAN_OF)
    for frame, coefficients in zip(frames, background.coefficients(frames), strict=True):  # one by one: memory
        behind = (coefficients @ background.factors).T.reshape(1, *frame.shape)
        found.append(foreground_evidence(frame[None], behind, darkest=1.0).ravel()[::every])
    return float(np.median(np.concatenate(found)))


def _brightest(sample: Array) -> float:
    """Largest value there can be: of floats the largest there is; uint16 often holds 10, 12 or 14 bits of a camera."""
    if sample.dtype == np.uint8:
        return 255.0
    most = np.abs(sample).max()
    return float(most) if sample.dtype.kind == "f" else float(max(255, 2 ** int(most).bit_length() - 1))


def mixture(
    frames: Array, first: int, last: Background | None, new: Background, *, compiled: bool
) -> tuple[Array, Array]:
    """Coefficients and factors of frames that follow frame ``first`` of a chunk, the last background fading out."""
    if last is None or first >= FADE:
        return new.coefficients(frames, compiled=compiled), new.factors
    share = np.clip((first + np.arange(len(frames)) + 1) / (FADE + 1), 0, 1).astype(np.float32)[:, None]
    fading_in, fading_out = (model.coefficients(frames, compiled=compiled) for model in (new, last))
    coefficients = np.hstack([share * fading_in, (1 - share) * fading_out])
    return coefficients, np.concatenate([new.factors, last.factors], axis=1)


def evenly(n: int, at_most: int) -> Array:
    """Choose at most so many of n things, evenly spread; return their indices."""
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).round().astype(int))


@dataclass(frozen=True)
class Plan:
    """How a video is cut.

    Attributes
    ----------
    chunk
        Frames that share a background.
    n_sampled
        Frames of a chunk that it is learnt from.
    """

    chunk: int
    n_sampled: int


def plan_chunks(source: Source, options: Options) -> Plan:
    """Learn from as many frames as asked and make chunks as long as scenes last, or less of both if memory is short."""
    values, bytes_each = int(np.prod(source.shape)), source.dtype.itemsize
    frame = values * bytes_each
    # Factors of two backgrounds in single precision, and the fit of a channel in double.
    factors = values * 8 * ((AUTO_RANK if options.rank is None else options.rank) + 1) * 2
    block = max(BLOCK_VALUES, values) * (2 * bytes_each + signed(source.dtype).itemsize + 2)
    room = (options.max_memory - PROGRAM_BYTES - BLOCK_ENTRIES * 16 - factors - block) / frame
    # A frame that is learnt from is held in the sample, in the one before it, and in copies of both.
    for n_sampled in (options.n_sampled, *(n for n in FEWER if n < options.n_sampled)):
        length = min(int(room - 4 * n_sampled) // 2, CHUNK)  # the next is read while the last is in use
        if length >= min(2 * n_sampled, LEAST_CHUNK):
            n = source.n_frames
            # Of about one length; a source that announces too few must not be cut into crumbs.
            return Plan(-(-n // -(-n // length)) if n and n > length else length, n_sampled)
    least = options.max_memory - frame * (room - 4 * FEWER[-1] - 2 * LEAST_CHUNK)
    raise ValueError(
        f"max_memory of {options.max_memory / 1e9:.2g} GB is too little for frames of "
        f"{' x '.join(map(str, source.shape))}: give {least / 1e9:.2g} GB, or a smaller scale."
    )
