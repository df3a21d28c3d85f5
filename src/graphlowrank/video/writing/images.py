"""Frames written to a folder of PNG files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..._backend import Array
from ..reading.packages import need


class ImageWriter:
    """A folder of files frame_00000.png and so on; see :class:`~graphlowrank.video.writing.sink.Writer`."""

    def __init__(self, place: Path, shape: tuple[int, ...], dtype: np.dtype) -> None:
        if dtype == np.uint16 and len(shape) == 3:
            raise ValueError("PNG files are not written with 16-bit colours; choose a file that ends in .npy or .npz.")
        self._pillow = need("PIL.Image", "writing a folder of pictures")
        self._folder = place
        self._n_frames = 0
        place.mkdir()

    def write(self, frames: Array) -> None:
        """Write one file for each frame."""
        for frame in frames:
            image = self._pillow.fromarray(np.ascontiguousarray(frame))
            # The lowest level is several times as fast, for files a little larger.
            image.save(self._folder / f"frame_{self._n_frames:05d}.png", compress_level=1)
            self._n_frames += 1

    def finish(self) -> None:
        """Every file is already closed."""

    def abandon(self) -> None:
        """Every file is already closed."""
