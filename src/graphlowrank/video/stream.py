"""Separation of a video of any length, chunk by chunk, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._backend import Array
from .._progress import Progress
from .._threads import single_threaded_libraries
from ..decoders.robust import BLOCK_ENTRIES
from .background import AUTO_RANK, Background, learn_background
from .foreground import COMPILED_FROM, Detector, Pieces, foreground_evidence, separate_frames, signed, tune_detector
from .frames import Frames
from .options import Options

FADE = 50  # frames over which one background fades into the next
NOISE_FRAMES = 20  # frames of which the noise level is measured
NOISE_PIXELS = 4_000_000  # pixels of them, about
FEWER_SAMPLED = (70, 50, 35)  # frames to learn from if memory is short
PROGRAM_BYTES = 350e6  # the interpreter, its libraries and compiled code


@dataclass(eq=False)
class Scene:
    """State of a separation, updated by each chunk."""

    background: Background | None = None  # model of this chunk
    previous: Background | None = None  # model of the chunk before
    remembered: Array | None = None  # frames of earlier chunks, fewer of older ones
    detectors: list[Detector] = field(default_factory=list)  # one for each chunk
    brightest: float = 0.0  # range of the values
    darkest: float = 0.0
    n_sampled: int = 0  # frames of a chunk that its background is learned from
    converged: bool = True  # of every model


def separate_stream(
    source: Frames, options: Options, scene: Scene, progress: Progress
) -> Iterator[tuple[Array, Pieces]]:
    """Yield blocks of frames and their separation, in order.

    Each chunk has its own background model, learned from evenly spaced frames of it and from some frames of earlier
    chunks, so that somebody who stands still for most of a chunk does not become background. Over the first frames of a
    chunk the previous background fades into the new one.

    Parameters
    ----------
    source : Frames
        The video.
    options : Options
        How to separate it.
    scene : Scene
        State; pass an empty one.
    progress : Progress
        Times the stages.
    """
    plan = plan_chunks(source, options)
    scene.n_sampled = plan.n_sampled
    for chunk in _timed(source.blocks(plan.chunk), progress):
        if chunk.dtype.kind == "f":
            chunk = chunk.astype(np.float32, copy=False)  # noqa: PLW2901
        with single_threaded_libraries():  # the matrices are small, and compiled loops have threads of their own
            background = learn(chunk, options, scene, progress)
        # The same loops for all blocks of a chunk, however small the last one is.
        compiled = chunk.size >= COMPILED_FROM if options.compiled is None else options.compiled
        step = max(1, options.block_values // chunk[0].size)
        fade = FADE if scene.previous is not None else 0
        edges = sorted({*range(0, len(chunk), step), min(fade, len(chunk)), len(chunk)})
        for first, stop in pairwise(edges):
            frames = chunk[first:stop]
            with progress.stage("frames"):
                coefficients, factors = mixture(frames, first, scene.previous, background, compiled=compiled)
                pieces = separate_frames(frames, coefficients, factors, scene.detectors[-1], compiled=compiled)
            yield frames, pieces


def _timed(blocks: Iterator[Array], progress: Progress) -> Iterator[Array]:
    while True:
        with progress.stage("reading"):
            block = next(blocks, None)
        if block is None:
            return
        yield block


def learn(chunk: Array, options: Options, scene: Scene, progress: Progress) -> Background:
    """Learn the background model and the noise level of a chunk; update the scene."""
    sample = chunk[evenly_spaced(len(chunk), scene.n_sampled)]
    if scene.remembered is not None:
        sample = np.concatenate([scene.remembered, sample])
    scene.brightest = max(scene.brightest, _brightest(sample))
    if sample.dtype.kind == "f":  # such as temperatures, whose range need not begin at 0
        scene.darkest = min(scene.darkest, float(sample.min())) if scene.detectors else float(sample.min())
    background = learn_background(sample, options, progress)
    with progress.stage("noise"):
        noise = noise_level(sample[evenly_spaced(len(sample), NOISE_FRAMES)], background)
        scene.detectors.append(
            tune_detector(
                noise, sample.shape[1:3], contrast=scene.brightest - scene.darkest, threshold=options.threshold,
                smallest=options.smallest, darkest=options.darkest,
            )
        )  # fmt: skip
    scene.previous, scene.background = scene.background, background
    scene.converged = scene.converged and background.converged
    scene.remembered = sample[::-2][::-1].copy()  # a view would keep the whole sample alive
    return background


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


def mixture(
    frames: Array, first: int, previous: Background | None, new: Background, *, compiled: bool
) -> tuple[Array, Array]:
    """Coefficients and factors of frames from frame ``first`` of a chunk, while the previous background fades out."""
    if previous is None or first >= FADE:
        return new.coefficients(frames, compiled=compiled), new.factors
    share = np.clip((first + np.arange(len(frames)) + 1) / (FADE + 1), 0, 1).astype(np.float32)[:, None]
    fading_in, fading_out = (model.coefficients(frames, compiled=compiled) for model in (new, previous))
    coefficients = np.hstack([share * fading_in, (1 - share) * fading_out])
    return coefficients, np.concatenate([new.factors, previous.factors], axis=1)


def evenly_spaced(n: int, at_most: int) -> Array:
    """Return indices of at most so many of n items, rounded to the nearest."""
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).round().astype(int))


class Plan(NamedTuple):
    """Length of a chunk, and number of its frames that the background is learned from."""

    chunk: int
    n_sampled: int


def plan_chunks(source: Frames, options: Options) -> Plan:
    """Choose the longest chunk and the largest sample that fit into memory, up to the given ones."""
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
            return Plan(-(-n // -(-n // length)) if n and n > length else length, n_sampled)
    least = options.max_memory - frame * (room - 4 * FEWER_SAMPLED[-1] - 2 * options.min_chunk)
    raise ValueError(
        f"max_memory of {options.max_memory / 1e9:.2g} GB is too little for frames of "
        f"{' x '.join(map(str, source.shape))}: give {least / 1e9:.2g} GB, or a smaller scale."
    )
