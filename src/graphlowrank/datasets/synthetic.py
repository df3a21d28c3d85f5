"""Synthetic data with known ground truth: matrices of low rank on graphs, a video, and the Shepp-Logan phantom."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from .._typing import Array, RandomState
from ..graphs import Graph, knn_graph, lowest_eigenpairs

Shape = Literal["clusters", "rings"]

BACKGROUND_RANGE, SQUARE_BRIGHTNESS = (0.2, 0.6), 1.0  # before the lighting changes
STEPS = (2, 3)  # pixels per frame that the square moves down and right; it bounces off the border


@dataclass(frozen=True, eq=False)
class LowRankOnGraphs:
    """Result of :func:`make_low_rank_on_graphs`.

    Attributes
    ----------
    X, X_true : ndarrays of shape (n_samples, n_features)
        Observed matrix, and the one in LR(P_k, Q_k): its columns are in the span of the first k eigenvectors of the
        sample graph, its rows in that of the feature graph.
    sample_graph, feature_graph : Graph
        The graphs.
    labels : ndarray of shape (n_samples,)
        Cluster of each sample; all 0 for "rings".
    """

    X: Array
    X_true: Array
    sample_graph: Graph
    feature_graph: Graph
    labels: Array


def make_low_rank_on_graphs(
    n_samples: int = 3000,
    n_features: int = 300,
    rank: int = 5,
    *,
    shape: Shape = "clusters",
    outliers: float = 0.0,
    outlier_size: float = 10.0,
    random_state: RandomState = None,
) -> LowRankOnGraphs:
    """Random matrix of a given rank on two graphs, with a share of cellwise outliers.

    Parameters
    ----------
    n_samples, n_features, rank : int
        Size and rank of the matrix.
    shape : {"clusters", "rings"}, default="clusters"
        Point clouds that the graphs are built on: ``rank`` separate clusters, or a circle.
    outliers : float, default=0.0
        Share of entries replaced by normal random numbers.
    outlier_size : float, default=10.0
        Standard deviation of the outliers, in standard deviations of the matrix.
    random_state : int, RandomState or None, default=None
        Random seed.
    """
    rng = check_random_state(random_state)
    sample_points, labels = _points(n_samples, rank, shape, rng)
    feature_points, _ = _points(n_features, rank, shape, rng)
    sample_graph, feature_graph = knn_graph(sample_points, 10), knn_graph(feature_points, 10)
    core = np.linalg.qr(rng.standard_normal((rank, rank)))[0] * rng.uniform(0.5, 1.0, rank)
    Q, P = (lowest_eigenpairs(graph, rank)[1] for graph in (sample_graph, feature_graph))
    X_true = Q @ core @ P.T
    X_true *= np.sqrt(n_samples * n_features)
    hit = rng.random_sample(X_true.shape) < outliers
    X = np.where(hit, outlier_size * X_true.std() * rng.standard_normal(X_true.shape), X_true)
    return LowRankOnGraphs(X, X_true, sample_graph, feature_graph, labels)


def _points(n: int, rank: int, shape: Shape, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Return points of the given shape, and their clusters."""
    if shape == "clusters":
        labels = rng.permutation(np.arange(n) % rank)
        return 20.0 * np.eye(rank)[labels] + rng.standard_normal((n, rank)), labels
    if shape != "rings":
        raise ValueError(f"shape must be 'clusters' or 'rings', got {shape!r}.")
    angles = 2 * np.pi * rng.random_sample(n)
    return np.column_stack([np.cos(angles), np.sin(angles)]), np.zeros(n, dtype=int)


@dataclass(frozen=True, eq=False)
class MovingSquare:
    """Result of :func:`make_moving_square`. Each row is a frame, its pixels in row-major order.

    Attributes
    ----------
    X, background : ndarrays of shape (n_frames, n_pixels)
        Video, between 0 and 1, and its background, which has rank 1 also under changing light.
    masks : bool ndarray of shape (n_frames, n_pixels)
        True on the square.
    image_shape : tuple of int
        (height, width).
    """

    X: Array
    background: Array
    masks: Array
    image_shape: tuple[int, int]

    @property
    def foreground(self) -> Array:
        """Video minus background; 0 outside the square."""
        return self.X - self.background


def make_moving_square(
    n_frames: int = 60, image_shape: tuple[int, int] = (24, 32), *, size: int = 6, light: float = 0.0
) -> MovingSquare:
    """Video of a bright square that crosses a still background; deterministic.

    Parameters
    ----------
    n_frames : int, default=60
        Number of frames.
    image_shape : tuple of int, default=(24, 32)
        (height, width) in pixels.
    size : int, default=6
        Side of the square in pixels, less than both sides of the image.
    light : float, default=0.0
        Amplitude of the lighting, which rises and falls once in the video, between 0 and 0.5.
    """
    height, width = (int(side) for side in image_shape)
    if n_frames < 1:
        raise ValueError(f"n_frames must be positive, got {n_frames}.")
    if not 1 <= size < min(height, width):
        raise ValueError(f"size must be at least 1 and less than both sides of {(height, width)}, got {size}.")
    if not 0 <= light <= 0.5:
        raise ValueError(f"light must be between 0 and 0.5, got {light}.")
    rows, columns = np.mgrid[:height, :width]
    waves = np.sin(rows / 5) * np.cos(columns / 7)  # between -1 and 1
    low, high = BACKGROUND_RANGE
    still = low + (high - low) * (1 + waves.ravel()) / 2
    background = np.outer(1 + light * np.sin(2 * np.pi * np.arange(n_frames) / n_frames), still)
    masks = _square_masks(n_frames, (height, width), size)
    return MovingSquare(np.where(masks, SQUARE_BRIGHTNESS, background), background, masks, (height, width))


def _square_masks(n_frames: int, image_shape: tuple[int, int], size: int) -> Array:
    covered = []
    for side, step in zip(image_shape, STEPS, strict=True):
        room = side - size
        way = step * np.arange(n_frames)[:, None] % (2 * room)  # there and back
        first = np.minimum(way, 2 * room - way)
        places = np.arange(side)
        covered.append((places >= first) & (places < first + size))
    down, across = covered
    return np.asarray((down[:, :, None] & across[:, None, :]).reshape(n_frames, -1))


class Ellipse(NamedTuple):
    """Part of the phantom, in the square from -1 to 1; y points up."""

    tenths: int  # added brightness
    half_width: float
    half_height: float
    x: float
    y: float
    degrees: float = 0.0  # rotated counterclockwise


# Shepp, Logan 1974, with the higher contrast of Toft 1996.
HEAD = (
    Ellipse(10, 0.69, 0.92, 0.0, 0.0),  # skull
    Ellipse(-8, 0.6624, 0.874, 0.0, -0.0184),  # brain
    Ellipse(-2, 0.11, 0.31, 0.22, 0.0, -18.0),  # ventricles
    Ellipse(-2, 0.16, 0.41, -0.22, 0.0, 18.0),
    Ellipse(1, 0.21, 0.25, 0.0, 0.35),  # tumors
    Ellipse(1, 0.046, 0.046, 0.0, 0.1),
    Ellipse(1, 0.046, 0.046, 0.0, -0.1),
    Ellipse(1, 0.046, 0.023, -0.08, -0.605),
    Ellipse(1, 0.023, 0.023, 0.0, -0.606),
    Ellipse(1, 0.023, 0.046, 0.06, -0.605),
)


def shepp_logan_phantom(size: int = 256) -> Array:
    """Draw the modified Shepp-Logan phantom, (size, size), between 0 (air) and 1 (skull).

    Parameters
    ----------
    size : int, default=256
        Height and width in pixels; the centers of the outermost pixels are at -1 and 1.
    """
    if size < 1:
        raise ValueError(f"size must be positive, got {size}.")
    centers = np.linspace(-1, 1, size)
    x, y = centers[None, :], -centers[:, None]  # the first row of an image is its top
    tenths = sum(ellipse.tenths * _inside(ellipse, x, y) for ellipse in HEAD)
    return np.asarray(tenths / 10)  # a sum of integers, so the ventricles are exactly 0


def _inside(ellipse: Ellipse, x: Array, y: Array) -> Array:
    angle = np.deg2rad(ellipse.degrees)
    right, up = x - ellipse.x, y - ellipse.y
    along_width = right * np.cos(angle) + up * np.sin(angle)
    along_height = up * np.cos(angle) - right * np.sin(angle)
    return np.asarray((along_width / ellipse.half_width) ** 2 + (along_height / ellipse.half_height) ** 2 <= 1)
