"""A video whose background is known: a bright square wanders over a still scene."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._backend import Array

DARKEST, BRIGHTEST, SQUARE = 0.2, 0.6, 1.0  # of the scene before the light changes, and of the square
STEPS = (2, 3)  # pixels that the square moves down and across from frame to frame; it turns back at the border


@dataclass(frozen=True, eq=False)
class MovingSquare:
    """Answer of :func:`make_moving_square`. Frames are rows, their pixels row by row.

    Attributes
    ----------
    X
        (n_frames, n_pixels) what the camera sees, between 0 and 1.
    background
        (n_frames, n_pixels) the scene alone; its rank is 1, also where the light changes.
    masks
        (n_frames, n_pixels) booleans, True where the square is.
    image_shape
        (height, width).
    """

    X: Array
    background: Array
    masks: Array
    image_shape: tuple[int, int]

    @property
    def foreground(self) -> Array:
        """What the square adds to the background; 0 outside of it."""
        return self.X - self.background


def make_moving_square(
    n_frames: int = 60, image_shape: tuple[int, int] = (24, 32), *, size: int = 6, light: float = 0.0
) -> MovingSquare:
    """Video of a square that crosses a still scene and turns back at the border; the same at every call.

    Parameters
    ----------
    n_frames
        Number of frames.
    image_shape
        (height, width) in pixels.
    size
        Side of the square in pixels, less than both sides of the picture.
    light
        Share by which the light on the scene rises and falls once in the video, between 0 and 0.5.

    Examples
    --------
    >>> video = make_moving_square(30, (12, 16), size=4, light=0.1)
    >>> video.X.shape, int(video.masks[0].sum())
    ((30, 192), 16)
    """
    height, width = (int(side) for side in image_shape)
    if n_frames < 1:
        raise ValueError(f"n_frames must be positive, got {n_frames}.")
    if not 1 <= size < min(height, width):
        raise ValueError(f"size must be at least 1 and less than both sides of {(height, width)}, got {size}.")
    if not 0 <= light <= 0.5:
        raise ValueError(f"light must be between 0 and 0.5, got {light}.")
    brightness = 1 + light * np.sin(2 * np.pi * np.arange(n_frames) / n_frames)
    background = np.outer(brightness, _scene(height, width))
    masks = _masks(n_frames, (height, width), size)
    return MovingSquare(np.where(masks, SQUARE, background), background, masks, (height, width))


def _scene(height: int, width: int) -> Array:
    """Soft waves between the darkest and the brightest, (height * width,)."""
    rows, columns = np.mgrid[:height, :width]
    waves = np.sin(rows / 5) * np.cos(columns / 7)  # between -1 and 1
    return np.asarray(DARKEST + (BRIGHTEST - DARKEST) * (1 + waves.ravel()) / 2)


def _masks(n_frames: int, image_shape: tuple[int, int], size: int) -> Array:
    covered = []
    for side, step in zip(image_shape, STEPS, strict=True):
        room = side - size
        way = step * np.arange(n_frames)[:, None] % (2 * room)  # there and back
        first = np.minimum(way, 2 * room - way)
        places = np.arange(side)
        covered.append((places >= first) & (places < first + size))
    down, across = covered
    return np.asarray((down[:, :, None] & across[:, None, :]).reshape(n_frames, -1))
