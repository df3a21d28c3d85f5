"""The empty scene: what each pixel can look like when nothing passes, in every light the video has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._backend import Array
from .._progress import Progress
from ..decoders.factors import Factors, factorize
from ..decoders.robust import fit_features, measure_errors
from ..graphs import grid_graph
from ..models.losses import Huber
from ..options import Options
from ..pipeline import solve_whole
from ..records import LossWeights, Run
from ..sampling import SampledNodes
from ..solvers.irls import irls

LATTICE = 5000  # pixels, about, that a frame's light is told from
AUTO_RANK = 4  # ranks 4 to 12 score alike on four scenes; fewer lose the light, more take longer
FRAMES_PER_FACTOR = 10  # at least, so that a factor is not one person who stands
LUMINANCE = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # red, green, blue (BT.601)


@dataclass(frozen=True, eq=False)
class Background:
    """``coefficients @ factors`` for any frame of the scene.

    Attributes
    ----------
    factors
        (channels, k + 1, n_pixels) float32; the last is the scene in its usual light, the others how it changes.
    pixels
        (q,) the lattice of pixels at which a frame is compared.
    luminance
        (k + 1, q) the factors there, in grey.
    corner, ridge
        Of the regression that finds the coefficients of a frame.
    singular_values
        Of the compressed matrix around its mean, all of them.
    n_iter, converged
        Of the solver of the compressed matrix.
    """

    factors: Array
    pixels: Array
    luminance: Array
    corner: float
    ridge: Array
    singular_values: Array
    n_iter: int
    converged: bool

    @property
    def rank(self) -> int:
        """Ways in which the scene changes."""
        return self.factors.shape[1] - 1

    def coefficients(self, frames: Array, *, compiled: bool | None = None) -> Array:
        """(n_frames, k + 1) of each frame, by Huber regression of its pixels on the lattice; the last is 1."""
        found = np.ones((len(frames), self.rank + 1), dtype=np.float32)
        if self.rank:
            Y = luminance(frames, self.pixels) - self.luminance[-1]
            found[:, :-1] = irls(Y, self.luminance[:-1], Huber(self.corner), ridge=self.ridge, compiled=compiled).X
        return found


@dataclass(frozen=True, eq=False)
class Channel:
    """One channel of frames as a matrix (n_frames, n_pixels), shifted and scaled block by block."""

    frames: Array
    index: int
    shift: float
    scale: float

    @property
    def shape(self) -> tuple[int, int]:
        """(n_frames, n_pixels)."""
        return len(self.frames), self.frames.shape[1] * self.frames.shape[2]

    def block(self, rows: Array | slice, columns: Array | slice) -> Array:
        """Entries of some frames and some pixels."""
        flat = self.frames.reshape(*self.shape, -1)[..., self.index]
        part = flat[:, columns] if isinstance(columns, slice) else flat[rows]  # a slice first: it copies nothing
        part = part[rows] if isinstance(columns, slice) else part[:, columns]
        return (part.astype(np.float32) - np.float32(self.shift)) / np.float32(self.scale)


def learn_background(
    frames: Array, *, rank: int | None, solver: str, pixel_graph: str, seed: int, progress: Progress
) -> Background:
    """Learn the scene from some of its frames.

    The frames' luminance on a lattice of pixels is the compressed matrix. Its low-rank part gives the scores of the
    frames, and every pixel, in every channel, is fitted on them (the first half of the robust decoder).

    Parameters
    ----------
    frames
        (m, height, width[, 3]) spread over the time in question.
    rank
        Factors beside the centre; None for four, or fewer if there are few frames.
    solver, pixel_graph
        Model of the compressed matrix ("rpca", "frpcag" or "rpcag"), and the graph of the lattice's pixels for
        "frpcag": "grid" or "knn".
    seed
        Of the approximate neighbour search.
    progress
        Told of the stages.
    """
    pixels, lattice_shape = lattice(frames.shape[1:3])
    Y = luminance(frames, pixels)
    most = len(frames) // FRAMES_PER_FACTOR if rank is None else len(frames) - 1
    k = min(AUTO_RANK if rank is None else rank, most, len(pixels))
    if k == 0 or np.all(np.ptp(Y, axis=0) == 0):
        return _still(frames, pixels)
    graph = grid_graph(lattice_shape) if pixel_graph == "grid" and min(lattice_shape) > 1 else "knn"
    options = Options(
        downsampling=(1, 1), solver=solver, feature_graph=graph, decoder="robust",
        n_neighbors=min(int(Options.n_neighbors), len(frames) - 1),
    )  # fmt: skip
    run = Run(options, np.random.RandomState(seed), progress)
    found = solve_whole(Y, LossWeights(), run, short_steps=False)
    block, solution = found.compressed.block, found.solution
    with progress.stage("pixels"):
        factors = factorize(solution.X, found.compressed.samples, found.compressed.features, k)
        units = Units(float(block.shift[0]), block.scale)
        centred = solution.X - factors.center
        values = units.scale * np.sqrt(np.maximum(np.linalg.eigvalsh(centred @ centred.T)[::-1], 0))
        return _with_every_pixel(frames, Y, pixels, factors, units, values, solution)


@dataclass(frozen=True)
class Units:
    """Of the compressed matrix: ``(grey level - shift) / scale``."""

    shift: float
    scale: float


def _with_every_pixel(
    frames: Array, Y: Array, pixels: Array, factors: Factors, units: Units, values: Array, solution: Any
) -> Background:
    samples = SampledNodes.all_of(len(frames))
    lattice_data = Channel(Y[:, None, :], 0, units.shift, units.scale)
    errors = measure_errors(factors, lattice_data, samples, SampledNodes.all_of(len(pixels)))
    channels = 3 if frames.ndim == 4 else 1
    planes = np.empty((channels, factors.samples.shape[1] + 1, frames[0].size // channels), dtype=np.float32)
    for index, plane in enumerate(planes):
        data = Channel(frames, index, units.shift, units.scale)
        plane[:] = fit_features(data, factors, samples, errors, corner=errors.corner).X.T * units.scale
        plane[-1] += units.shift
    weights = LUMINANCE if channels == 3 else np.ones(1, dtype=np.float32)
    return Background(
        factors=planes,
        pixels=pixels,
        luminance=np.tensordot(weights, planes[:, :, pixels], axes=1),
        corner=errors.corner * units.scale,
        ridge=errors.penalty(factors.samples) * units.scale**2,
        singular_values=values,
        n_iter=solution.n_iter,
        converged=solution.converged,
    )


def _still(frames: Array, pixels: Array) -> Background:
    """Median of each pixel: for few frames, and for scenes in which nothing changes."""
    centre = np.median(frames, axis=0).astype(np.float32)
    planes = np.moveaxis(centre.reshape(centre.shape[0] * centre.shape[1], -1), 1, 0)[:, None, :]
    return Background(
        np.ascontiguousarray(planes), pixels, luminance(centre[None], pixels), 1.0, np.zeros(0), np.zeros(0), 0,
        converged=True,
    )  # fmt: skip


def lattice(image_shape: tuple[int, ...]) -> tuple[Array, tuple[int, int]]:
    """Every s-th pixel of every s-th row, about 5000 in all, and the height and width of that."""
    height, width = image_shape
    step = max(1, round((height * width / LATTICE) ** 0.5))
    rows, columns = np.arange(step // 2, height, step), np.arange(step // 2, width, step)
    return (rows[:, None] * width + columns).ravel(), (len(rows), len(columns))


def luminance(frames: Array, pixels: Array) -> Array:
    """(n_frames, q) float32 grey levels at some pixels."""
    n = len(frames)
    if frames.ndim == 3:
        return frames.reshape(n, -1)[:, pixels].astype(np.float32)
    return frames.reshape(n, -1, 3)[:, pixels].astype(np.float32) @ LUMINANCE
