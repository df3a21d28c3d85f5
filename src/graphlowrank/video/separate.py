"""Separate a video into background and foreground."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._progress import Progress
from .._threads import limit_threads
from .._typing import Array
from .frames import open_frames
from .options import check_options
from .report import VideoReport
from .run import Run


@dataclass(frozen=True, eq=False, repr=False)
class Separation:
    """Result of :func:`separate`.

    Attributes
    ----------
    background : array (time, height, width[, 3])
        Of the shape and type of the frames as read: downscaled, without opacity, floats as float32.
    foreground : array (time, height, width[, 3])
        Frames minus background under the mask, zero elsewhere: int16 for uint8 frames, int32 for uint16.
    mask : bool array (time, height, width)
        True on the foreground.
    report : VideoReport
        Choices and their reasons, times, and a page: ``report.save("report.html")``.
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
    """Separate a video of a fixed camera into background and foreground.

    Evenly spaced frames are compressed to a lattice of pixels and decomposed into a low-rank part and sparse outliers.
    The factors are extended to all pixels and all frames by robust regression, as ``CompressivePCA`` does with
    ``decoder="robust"``. The background therefore follows changes of the light.

    Parameters
    ----------
    frames : array or path
        Array (time, height, width) or (time, height, width, 3) of uint8, uint16 or floats; or the path of a video
        (mp4, avi, mov, mkv, webm, gif), of a folder of images, or of an .npy or .npz file.
    rank : int or None, default=None
        Rank of the background model: number of ways in which the light changes. None for 4, fewer in short videos.
    solver : {"rpca", "rpcag", "frpcag"}, default="rpca"
        Model of the compressed matrix, without graphs, with a graph of the frames, and with one of the pixels, too.
    pixel_graph : {"grid", "knn"}, default="grid"
        Graph of the pixels for "frpcag": neighbors in the image, or pixels with a similar history.
    n_sampled : int, default=100
        Number of frames that the background is learned from, in each chunk of at most 2000.
    shadows : bool or float, default=True
        Smallest ratio of brightness at which a patch with the pattern of the background counts as shadow, not as
        foreground. True for 0.65; False treats shadows as foreground.
    threshold : float or None, default=None
        Smallest smoothed difference between frame and background, in gray levels, that is foreground. None for nine
        times the noise level, and at least 2 % of the range of values.
    smallest : int or None, default=None
        Smallest number of pixels of an object. None for 1/2000 of the frame.
    start, stop, step, scale : default=0, None, 1, 1.0
        Frames to use, as in a slice, and a factor of at most 1 to downscale them by; see :func:`open_frames`.
    max_memory : float, default=4e9
        Bytes of working memory besides input and result; fewer mean shorter chunks, learned from fewer frames.
    n_jobs : int or None, default=None
        Threads; None for all cores. The result does not depend on it.
    random_state : int, default=0
        Seed of the neighbor search of graphs.
    verbose : int, default=0
        1 reports the stages on standard error.

    Returns
    -------
    separation : Separation
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
        return collect(Run(source, options, Progress(verbose)))


def collect(run: Run) -> Separation:
    """Run to the end; return the whole arrays and the report."""
    whole: list[Array] = []
    for _, pieces in run:
        # Copied block by block: a list of blocks and its concatenation would take twice the memory.
        if not whole:
            n_frames = run.source.n_frames or 2 * len(pieces.mask)
            whole = [np.empty((n_frames, *part.shape[1:]), dtype=part.dtype) for part in pieces]
        for array, part in zip(whole, pieces, strict=True):
            if run.n_frames > len(array):  # more frames than announced
                array.resize((3 * run.n_frames // 2, *array.shape[1:]), refcheck=False)
            array[run.n_frames - len(part) : run.n_frames] = part
    report = run.report()
    background, foreground, mask = (array[: run.n_frames] for array in whole)
    return Separation(background, foreground, mask, report)
