"""Loader of videos of a static camera, with foreground masks for some of the frames."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np

from ..internals import Array
from .files import Folder, find_file
from .formats import expect, read_jpegs, read_npz

VideoName = Literal["restaurant", "shopping_mall", "airport", "highway"]


@dataclass(frozen=True, eq=False)
class Video:
    """Frames, and foreground masks for some of them.

    Attributes
    ----------
    frames : uint8 ndarray of shape (n_frames, height, width) or (n_frames, height, width, 3)
        Grayscale or color frames.
    mask_frames : ndarray of shape (n_masks,)
        Indices of the frames that have a mask.
    masks : bool ndarray of shape (n_masks, height, width)
        True on the foreground.
    description : str
        Content and source.
    """

    frames: Array
    mask_frames: Array
    masks: Array
    description: str

    @property
    def image_shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.frames.shape[1], self.frames.shape[2]

    def matrix(self) -> Array:
        """One frame per row, (n_frames, height * width) float32 in [0, 1]; three numbers per pixel in color."""
        return np.divide(self.frames.reshape(len(self.frames), -1), 255, dtype=np.float32)

    def mask_matrix(self) -> Array:
        """One mask per row, (n_masks, height * width) booleans, for ``matrix()[mask_frames]``."""
        return self.masks.reshape(len(self.masks), -1)


class Scene(NamedTuple):
    """One row of the table of videos; ``gt_masks.npz`` in the same folder has the masks."""

    frames: str  # differences of successive frames (npz), or numbered JPEG files (zip)
    description: str


SCENES: dict[str, Scene] = {
    "restaurant": Scene(
        "i2r_bootstrap/frames.npz",
        "Food counter of a restaurant (I2R 'Bootstrap', Li et al. 2004): 1000 frames of 120 x 160 pixels, 11 of them "
        "with manual masks. Crowded; some people stand at the counter for long.",
    ),
    "shopping_mall": Scene(
        "i2r_shoppingmall/frames.zip",
        "Lobby of a shopping mall (I2R, Li et al. 2004): 1000 frames of 256 x 320 pixels, 20 of them with manual "
        "masks. People walk slowly and some stand still.",
    ),
    "airport": Scene(
        "i2r_airport/frames.npz",
        "Airport hall (I2R 'Hall', Li et al. 2004): 100 successive frames of 144 x 176 pixels, then 20 from other "
        "times, which have manual masks. A time stamp is burnt in.",
    ),
    "highway": Scene(
        "cdnet_highway/frames.zip",
        "Highway (CDnet 2012 'baseline', Goyette et al. 2012): 700 frames of 240 x 320 pixels, each with a mask. "
        "Leaves move a little on the left.",
    ),
}


def load_video(name: VideoName, *, colour: bool = False, folder: Folder = None) -> Video:
    """Video of a static camera, with foreground masks.

    Parameters
    ----------
    name : {"restaurant", "shopping_mall", "airport", "highway"}
        Scene; "shopping_mall" and "highway" are JPEG images and need Pillow (``pip install graphlowrank[io]``).
    colour : bool, default=False
        Keep the color; only "highway" has any.
    folder : path or None, default=None
        Folder with ``i2r_bootstrap``, ``i2r_shoppingmall``, ``i2r_airport`` or ``cdnet_highway``, each with its frames
        and ``gt_masks.npz``; None searches ``$GRAPHLOWRANK_DATA`` and the user's cache.
    """
    if name not in get_args(VideoName):
        raise ValueError(f"name must be one of {', '.join(get_args(VideoName))}; got {name!r}.")
    if colour and name != "highway":
        raise ValueError(f"only 'highway' is in color; {name!r} is grayscale.")
    scene = SCENES[name]
    path = find_file(scene.frames, folder)
    numbers: Array | None = None
    if path.suffix == ".zip":
        frames, numbers = read_jpegs(path, "RGB" if colour else "L")
    elif name == "airport":
        frames = _from_differences(path, *read_npz(path, "delta"))
    else:
        delta, numbers = read_npz(path, "delta", "frame_ids")
        frames = _from_differences(path, delta)
        expect(numbers.shape == (len(delta),) and numbers.dtype.kind in "ui", path, "the number of each frame")
        expect(np.all(np.diff(numbers) > 0), path, "frames in the order of time")

    path = find_file(str(Path(scene.frames).with_name("gt_masks.npz").as_posix()), folder)
    masks, marked = read_npz(path, "masks", "frames" if numbers is None else "frame_ids")
    expect(masks.dtype == bool and masks.shape[1:] == frames.shape[1:3], path, "masks of the size of the frames")
    if numbers is None:  # the frames that have masks are stored with them
        expect(marked.dtype == np.uint8 and marked.shape == masks.shape, path, "a frame for each mask")
        rows = len(frames) + np.arange(len(masks))
        return Video(np.concatenate([frames, marked]), rows, masks, scene.description)
    expect(marked.shape == (len(masks),) and marked.dtype.kind in "ui", path, "the number of each mask's frame")
    inside = np.isin(marked, numbers)  # 9 masks of the restaurant belong to frames that were not kept
    expect(np.all(inside) or name == "restaurant", path, "masks of existing frames")
    return Video(frames, np.searchsorted(numbers, marked[inside]), masks[inside], scene.description)


def _from_differences(path: Path, delta: Array) -> Array:
    expect(delta.ndim == 3 and len(delta) and delta.dtype == np.uint8, path, "differences of frames as bytes")
    return np.cumsum(delta, axis=0, dtype=np.uint8)  # modulo 256, which restores the bytes exactly
