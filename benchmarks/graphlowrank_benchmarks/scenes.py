"""Videos of a fixed camera: frames, masks of the foreground, and the score of a background."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from .internals import Array


@dataclass(frozen=True, eq=False)
class Scene:
    """The frames that are used of a video."""

    frames: Array  # (n_frames, height, width) bytes, or floats in [0, 1]
    scored: Array  # (n_scored,) indices of the frames that have a mask
    masks: Array  # (n_scored, height * width) booleans, True on the foreground
    source: str
    background: Array | None = None  # (n_frames, height, width) in gray levels, where it is known

    @property
    def image_shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.frames.shape[1], self.frames.shape[2]

    @cached_property
    def X(self) -> Array:  # noqa: N802
        """One row per frame, (n_frames, height * width) float32 in [0, 1]."""
        rows = self.frames.reshape(len(self.frames), -1)
        return np.divide(rows, 255, dtype=np.float32) if rows.dtype == np.uint8 else rows

    def score(self, background: Array) -> Any:
        """Best F1 over all thresholds of |frame - background|, given the background (n_scored, n_pixels)."""
        from graphlowrank.metrics import best_f1

        return best_f1(self.masks, self.X[self.scored] - background)


@lru_cache(maxsize=1)  # cells of one scene follow one another
def load_scene(video: Any, every: int = 1, masks: int | None = None) -> Scene:
    """Load every ``every``-th frame of a video, and at most ``masks`` of the frames with a mask, evenly chosen.

    Frames that are scored are kept whatever the step; None keeps all masks. ``video`` is a name of
    :func:`.datasets.load_video`, or "moving box" for :func:`moving_box`.
    """
    if video == "moving box":
        return moving_box()
    from . import datasets

    found = datasets.load_video(video)
    n_masks = len(found.masks)
    chosen = np.unique(np.linspace(0, n_masks - 1, min(masks or n_masks, n_masks)).round().astype(int))
    marked = np.asarray(found.mask_frames)[chosen]
    rows = np.union1d(np.arange(0, len(found.frames), every), marked)
    return Scene(found.frames[rows], np.searchsorted(rows, marked), found.mask_matrix()[chosen], video)


def moving_square() -> Scene:
    """Make a scene of rank 2 with a square that moves and some noise; every fifth frame has a mask."""
    from graphlowrank.datasets import gaussian_noise, make_moving_square

    video = make_moving_square(60, (24, 32), light=0.1)
    scored = np.arange(2, 60, 5)
    X = gaussian_noise(video.X, 0.1, random_state=0).astype(np.float32)
    return Scene(X.reshape(-1, 24, 32), scored, video.masks[scored], "a moving square, synthetic")


def moving_box(n: int = 300, shape: tuple[int, int] = (120, 160), seed: int = 0) -> Scene:
    """Make a textured wall in varying light, a flickering lamp, noise and a moving box; the background is known."""
    from scipy.ndimage import gaussian_filter

    rng = np.random.default_rng(seed)
    wall = gaussian_filter(rng.random(shape), 2)
    wall = 60 + 120 * (wall - wall.min()) / np.ptp(wall)
    y, x = np.mgrid[: shape[0], : shape[1]]
    lamp = 40 * np.exp(-((y - 40) ** 2 + (x - 110) ** 2) / 900)
    day, flicker = 1 + 0.2 * np.sin(np.arange(n) / 25), gaussian_filter(rng.standard_normal(n), 3) * 3
    clean = day[:, None, None] * wall + flicker[:, None, None] * lamp
    masks = np.zeros((n, *shape), dtype=bool)
    for t in range(n):
        top, left = 10 + (2 * t) % 70, (3 * t) % 130
        masks[t, top : top + 30, left : left + 16] = True
    frames = np.where(masks, 215, clean) + 3 * rng.standard_normal(clean.shape)
    frames, scored = np.rint(np.clip(frames, 0, 255)).astype(np.uint8), np.arange(4, n, 10)
    return Scene(frames, scored, masks[scored].reshape(len(scored), -1), "moving box", clean.astype(np.float32))
