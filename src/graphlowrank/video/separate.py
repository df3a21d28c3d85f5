"""The front door: a video in, its background and foreground out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._backend import Array
from .._progress import Progress
from .._threads import limit_threads
from .foreground import Pieces
from .page import VideoReport
from .reading import open_frames
from .run import Run, check_options


@dataclass(frozen=True, eq=False, repr=False)
class Separation:
    """Answer of :func:`separate`.

    Attributes
    ----------
    background
        Of the shape and type of the frames as they were read: shrunk by ``scale``, without opacity, floats as float32.
    foreground
        Frames less background where the mask is, zero elsewhere: int16 for frames of bytes, int32 for uint16.
    mask
        (time, height, width) booleans, True on the foreground.
    report
        What was chosen and why, times, and a page to look at: ``report.save("report.html")``.
    """

    background: Array
    foreground: Array
    mask: Array
    report: VideoReport

    def __repr__(self) -> str:
        return f"Separation of {self.report!r}"


def separate(
    frames: Any,
    *,
    rank: int | None = None,
    solver: str = "rpca",
    pixel_graph: str = "grid",
    n_sampled: int = 100,
    shadows: bool | float = True,
    threshold: float | None = None,
    smallest: int | None = None,
    start: int = 0,
    stop: int | None = None,
    step: int = 1,
    scale: float = 1.0,
    max_memory: float = 4e9,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Separation:
    """Split a video of a fixed camera into the scene and what moves in front of it.

    Frames spread over the video are compressed to a lattice of pixels and robustly split into a low-rank part and
    gross errors; the factors are carried to all pixels and all frames by regressions that ignore what moves
    (``CompressivePCA`` with ``decoder="robust"``). So the background follows light and shadow.

    Parameters
    ----------
    frames
        Array (time, height, width) or (time, height, width, 3) of uint8, uint16 or floats; or the path of a video
        (mp4, avi, mov, mkv, webm, gif), of a folder of pictures, or of an .npy or .npz file.
    rank
        Ways in which the light of the scene may change. None for four, fewer in short videos.
    solver
        Model of the compressed matrix: "rpca" needs no graphs; "rpcag" uses a graph of the frames, "frpcag" that and
        one of the pixels.
    pixel_graph
        For "frpcag": "grid", neighbours in the image, or "knn", pixels of like history.
    n_sampled
        Frames that the background is learnt from, in each chunk of at most 2000.
    shadows
        Do not take shadows for foreground: where a patch of the frame is the background in less light, but in at least
        this share of it. True for 0.65; False treats shadows like anything else.
    threshold
        Grey levels between frame and background, smoothed, from which a pixel is foreground. None for nine times the
        noise, and at least 2 % of the range of values.
    smallest
        Pixels that an object has at least. None for a two-thousandth of the frame.
    start, stop, step, scale
        Frames to use, and a factor of at most 1 to shrink them by.
    max_memory
        Bytes to work in, beside what is given and returned. Where they are few, chunks are shorter and are learnt from
        fewer frames.
    n_jobs
        Threads; None for every core. The answer does not depend on them.
    random_state
        Seed of the neighbour search of graphs.
    verbose
        1 reports the stages on standard error.

    Returns
    -------
    separation
        ``background``, ``foreground``, ``mask`` and ``report``.

    Examples
    --------
    >>> from graphlowrank.datasets import make_moving_square
    >>> from graphlowrank.video import separate
    >>> video = make_moving_square(60, (24, 32), light=0.1)
    >>> frames = (255 * video.X).astype("uint8").reshape(60, 24, 32)
    >>> found = separate(frames)
    >>> found.mask.shape, bool((found.mask.reshape(60, -1) == video.masks).mean() > 0.95)
    ((60, 24, 32), True)
    """
    options = check_options(
        rank=rank, solver=solver, pixel_graph=pixel_graph, n_sampled=n_sampled, shadows=shadows, threshold=threshold,
        smallest=smallest, max_memory=max_memory, seed=random_state,
    )  # fmt: skip
    with open_frames(frames, start=start, stop=stop, step=step, scale=scale) as source, limit_threads(n_jobs):
        run = Run(source, options, Progress(verbose))
        whole: Pieces | None = None
        for _, pieces in run:
            # Into place at once: a list of blocks beside their concatenation would take twice the memory.
            if whole is None:
                whole = _room(pieces, source.n_frames or 2 * len(pieces.mask))
            if run.n_frames > len(whole.mask):
                whole = _enlarged(whole, run.n_frames)
            for place, part in zip(_arrays(whole), _arrays(pieces), strict=True):
                place[run.n_frames - len(part) : run.n_frames] = part
        report = run.report()
        assert whole is not None  # a run without frames has raised an error
        background, foreground, mask = (array[: run.n_frames] for array in _arrays(whole))
        return Separation(background, foreground, mask, report)


def _arrays(pieces: Pieces) -> tuple[Array, Array, Array]:
    return pieces.background, pieces.foreground, pieces.mask


def _room(like: Pieces, n_frames: int) -> Pieces:
    """Make room for so many frames."""
    return Pieces(*(np.empty((n_frames, *array.shape[1:]), dtype=array.dtype) for array in _arrays(like)))


def _enlarged(pieces: Pieces, n_frames: int) -> Pieces:
    """Make room for more frames than were announced."""
    larger = _room(pieces, max(n_frames, 3 * len(pieces.mask) // 2))
    for place, array in zip(_arrays(larger), _arrays(pieces), strict=True):
        place[: len(array)] = array
    return larger
