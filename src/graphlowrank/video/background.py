"""Background model: what each pixel looks like without foreground, in every light of the video."""

from dataclasses import dataclass

import numpy as np

from .._progress import Progress
from .._typing import Array
from ..decoders.factors import Factors, factorize
from ..decoders.robust import fit_features, noise_corner, ridge_penalty
from ..graphs import grid_graph
from ..models.losses import Huber
from ..options import Options as PipelineOptions
from ..pipeline import solve_whole
from ..records import LossWeights, Run
from ..sampling import SampledNodes
from ..solvers.irls import irls
from .foreground import as_planes
from .options import Options

LATTICE = 5000  # pixels, about, of the lattice
AUTO_RANK = 4  # ranks 4 to 12 score alike on four scenes; lower ones lose the light, higher ones take longer
FRAMES_PER_FACTOR = 10  # at least, so that a factor is not a single person who stands still
LUMINANCE = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # of red, green, blue (BT.601)


@dataclass(frozen=True, eq=False)
class Background:
    """Background model: ``coefficients @ factors`` for each frame."""

    factors: Array  # (channels, k + 1, n_pixels) float32: k changes of the light, then the scene in its usual light
    pixels: Array  # (q,) lattice on which the coefficients of a frame are fitted
    luminance: Array  # (k + 1, q) of the factors there
    corner: float  # of the Huber loss of that fit
    ridge: Array  # (k,) penalty of each coefficient
    singular_values: Array  # of the centered compressed matrix
    converged: bool  # the solver of that matrix

    @property
    def rank(self) -> int:
        """Number of factors besides the usual scene."""
        return self.factors.shape[1] - 1

    def coefficients(self, frames: Array, *, compiled: bool | None = None) -> Array:
        """Coefficients (n_frames, k + 1) by Huber regression on the lattice; the last is 1."""
        found = np.ones((len(frames), self.rank + 1), dtype=np.float32)
        if self.rank:
            Y = luminance(frames, self.pixels) - self.luminance[-1]
            found[:, :-1] = irls(Y, self.luminance[:-1], Huber(self.corner), ridge=self.ridge, compiled=compiled).X
        return found


@dataclass(frozen=True, eq=False)
class Channel:
    """One channel of frames as a standardized matrix (n_frames, n_pixels), converted block by block."""

    frames: Array
    index: int
    shift: float
    scale: float

    @property
    def shape(self) -> tuple[int, int]:
        """(n_frames, n_pixels)."""
        return len(self.frames), self.frames.shape[1] * self.frames.shape[2]

    def block(self, rows: Array | slice, columns: Array | slice) -> Array:
        """``(frames - shift) / scale`` of some frames and pixels."""
        flat = self.frames.reshape(*self.shape, -1)[..., self.index]
        part = flat[:, columns][rows]  # columns first: a slice of them copies nothing
        return (part.astype(np.float32) - np.float32(self.shift)) / np.float32(self.scale)


def learn_background(frames: Array, options: Options, progress: Progress) -> Background:
    """Learn a background model from evenly spaced frames (m, height, width[, 3]).

    The luminance of the frames on a lattice of pixels is the compressed matrix. Its low-rank part gives the scores of
    the frames, on which every pixel is regressed, in every channel (the first half of the robust decoder).
    """
    pixels, lattice_shape = lattice(frames.shape[1:3])
    Y = luminance(frames, pixels)
    if options.rank is None:
        k = min(AUTO_RANK, len(frames) // FRAMES_PER_FACTOR, len(pixels))
    else:
        k = min(options.rank, len(frames) - 1, len(pixels))
    if k == 0 or np.all(np.ptp(Y, axis=0) == 0):
        return _median_background(frames, pixels)
    graph = grid_graph(lattice_shape) if options.pixel_graph == "grid" and min(lattice_shape) > 1 else "knn"
    settings = PipelineOptions(
        downsampling=(1, 1), solver=options.solver, feature_graph=graph, decoder="robust",
        n_neighbors=min(int(PipelineOptions.n_neighbors), len(frames) - 1),
    )  # fmt: skip
    run = Run(settings, np.random.RandomState(options.seed), progress)
    found = solve_whole(Y, LossWeights(), run, tighten_tol=False)
    small, solution = found.compressed, found.solution
    with progress.stage("pixels"):
        factors = factorize(solution.X, small.samples, small.features, k)
        shift, scale = float(small.block.shift[0]), small.block.scale
        centered = solution.X - factors.center
        values = scale * np.sqrt(np.maximum(np.linalg.eigvalsh(centered @ centered.T)[::-1], 0))
        lattice_data = Channel(Y[:, None, :], 0, shift, scale)
        return _extend(frames, lattice_data, pixels, factors, values, converged=solution.converged)


def _extend(
    frames: Array, lattice_data: Channel, pixels: Array, factors: Factors, values: Array, *, converged: bool
) -> Background:
    """Extend the factors from the lattice to every pixel of every channel, by robust regression on the scores."""
    shift, scale = lattice_data.shift, lattice_data.scale
    samples = SampledNodes.all_of(len(frames))
    corner = noise_corner(factors, lattice_data, samples, SampledNodes.all_of(len(pixels)))
    channels = 3 if frames.ndim == 4 else 1
    planes = np.empty((channels, factors.samples.shape[1] + 1, frames[0].size // channels), dtype=np.float32)
    for index, plane in enumerate(planes):
        data = Channel(frames, index, shift, scale)
        plane[:] = fit_features(data, factors, samples, corner, corner=corner).X.T * scale
        plane[-1] += shift
    weights = LUMINANCE if channels == 3 else np.ones(1, dtype=np.float32)
    return Background(
        factors=planes,
        pixels=pixels,
        luminance=np.tensordot(weights, planes[:, :, pixels], axes=1),
        corner=corner * scale,
        ridge=ridge_penalty(factors.samples, corner) * scale**2,
        singular_values=values,
        converged=converged,
    )


def _median_background(frames: Array, pixels: Array) -> Background:
    """Median of each pixel: for few frames, and for scenes in which nothing changes."""
    center = np.median(frames, axis=0).astype(np.float32)
    planes = as_planes(center[None])[0]
    factors, none = planes.reshape(len(planes), 1, -1), np.zeros(0)
    return Background(factors, pixels, luminance(center[None], pixels), 1.0, none, none, converged=True)


def lattice(image_shape: tuple[int, ...]) -> tuple[Array, tuple[int, int]]:
    """Every s-th pixel of every s-th row, about 5000 in all; also the height and width of the lattice."""
    height, width = image_shape
    step = max(1, round((height * width / LATTICE) ** 0.5))
    rows, columns = np.arange(step // 2, height, step), np.arange(step // 2, width, step)
    return (rows[:, None] * width + columns).ravel(), (len(rows), len(columns))


def luminance(frames: Array, pixels: Array) -> Array:
    """Luminance (n_frames, q) of some pixels, float32."""
    n = len(frames)
    if frames.ndim == 3:
        return frames.reshape(n, -1)[:, pixels].astype(np.float32)
    return frames.reshape(n, -1, 3)[:, pixels].astype(np.float32) @ LUMINANCE
