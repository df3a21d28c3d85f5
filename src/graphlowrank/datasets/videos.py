"""Videos of a fixed camera, with masks of what moves in some of the frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from .._backend import Array
from .files import Folder, find_file
from .formats import expect, read_npz, read_pictures

VideoName = Literal["restaurant", "shopping_mall", "airport", "highway"]


@dataclass(frozen=True, eq=False)
class Video:
    """Frames, and masks of the foreground for some of them.

    Attributes
    ----------
    frames
        (n_frames, height, width) bytes; (n_frames, height, width, 3) in colour.
    mask_frames
        (n_masks,) indices of the frames that have a mask.
    masks
        (n_masks, height, width) booleans, True on the foreground.
    description
        What is seen, and where it comes from.
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
        """One row a frame, (n_frames, height * width) float32 in [0, 1]; three numbers a pixel in colour."""
        return np.divide(self.frames.reshape(len(self.frames), -1), 255, dtype=np.float32)

    def mask_matrix(self) -> Array:
        """One row a mask, (n_masks, height * width) booleans, for ``matrix()[mask_frames]``."""
        return self.masks.reshape(len(self.masks), -1)


FOLDERS: dict[str, str] = {
    "restaurant": "i2r_bootstrap",
    "shopping_mall": "i2r_shoppingmall",
    "airport": "i2r_airport",
    "highway": "cdnet_highway",
}
DESCRIPTIONS: dict[str, str] = {
    "restaurant": "Food counter of a restaurant (I2R 'Bootstrap', Li et al. 2004): 1000 frames of 120 x 160 pixels, "
    "11 of them with masks by hand. Crowded; some people stand at the counter for long.",
    "shopping_mall": "Lobby of a shopping mall (I2R, Li et al. 2004): 1000 frames of 256 x 320 pixels, 20 of them "
    "with masks by hand. People walk slowly and some stand still.",
    "airport": "Airport hall (I2R 'Hall', Li et al. 2004): 100 successive frames of 144 x 176 pixels, then 20 from "
    "other moments, which have masks by hand. A time stamp is burnt in.",
    "highway": "Highway (CDnet 2012 'baseline', Goyette et al. 2012): 700 frames of 240 x 320 pixels, each with a "
    "mask. Leaves move a little on the left.",
}


def load_video(name: VideoName, *, colour: bool = False, folder: Folder = None) -> Video:
    """Video of a fixed camera, with masks of the foreground.

    Parameters
    ----------
    name
        "restaurant", "shopping_mall", "airport" or "highway"; the second and the last are JPEG pictures and need
        Pillow (``pip install graphlowrank[data]``).
    colour
        Keep the colours; only "highway" has any.
    folder
        Folder with ``i2r_bootstrap``, ``i2r_shoppingmall``, ``i2r_airport`` or ``cdnet_highway``, each with its
        frames and ``gt_masks.npz``; see :func:`~graphlowrank.datasets.files.search_folders`.

    Returns
    -------
    video
        Frames, masks and a description.
    """
    if name not in get_args(VideoName):
        raise ValueError(f"name must be one of {', '.join(get_args(VideoName))}; got {name!r}.")
    if colour and name != "highway":
        raise ValueError(f"only 'highway' is in colour; {name!r} is grey.")
    if name == "airport":
        return _with_frames_of_masks(name, folder)
    if name == "restaurant":
        frames, numbers = _read_differences(name, folder)
    else:
        path = find_file(f"{FOLDERS[name]}/frames.zip", folder)
        frames, numbers = read_pictures(path, "RGB" if colour else "L")
    return _with_numbered_masks(name, frames, numbers, folder)


def _read_differences(name: str, folder: Folder) -> tuple[Array, Array]:
    """Frames stored as differences of successive ones, and their numbers in the original sequence."""
    path = find_file(f"{FOLDERS[name]}/frames.npz", folder)
    delta, numbers = read_npz(path, "delta", "frame_ids")
    expect(delta.ndim == 3 and len(delta) and delta.dtype == np.uint8, path, "differences of frames as bytes")
    expect(numbers.shape == (len(delta),) and numbers.dtype.kind in "ui", path, "the number of each frame")
    expect(np.all(np.diff(numbers) > 0), path, "frames in the order of time")
    return _sum_up(delta), numbers


def _sum_up(delta: Array) -> Array:
    return np.cumsum(delta, axis=0, dtype=np.uint8)  # modulo 256, so nothing is lost


def _with_numbered_masks(name: str, frames: Array, numbers: Array, folder: Folder) -> Video:
    """Give masks to the frames of the same number; 9 of the restaurant's belong to frames that were not kept."""
    path = find_file(f"{FOLDERS[name]}/gt_masks.npz", folder)
    masks, ids = read_npz(path, "masks", "frame_ids")
    expect(masks.dtype == bool and masks.shape[1:] == frames.shape[1:3], path, "masks of the size of the frames")
    expect(ids.shape == (len(masks),) and ids.dtype.kind in "ui", path, "the number of each mask's frame")
    inside = np.isin(ids, numbers)
    expect(np.all(inside) or name == "restaurant", path, "masks of frames that are there")
    return Video(frames, np.searchsorted(numbers, ids[inside]), masks[inside], DESCRIPTIONS[name])


def _with_frames_of_masks(name: str, folder: Folder) -> Video:
    """Append the frames that are stored with their masks."""
    path = find_file(f"{FOLDERS[name]}/frames.npz", folder)
    (delta,) = read_npz(path, "delta")
    expect(delta.ndim == 3 and len(delta) and delta.dtype == np.uint8, path, "differences of frames as bytes")
    path = find_file(f"{FOLDERS[name]}/gt_masks.npz", folder)
    masks, marked = read_npz(path, "masks", "frames")
    expect(masks.dtype == bool and masks.shape[1:] == delta.shape[1:], path, "masks of the size of the frames")
    expect(marked.dtype == np.uint8 and marked.shape == masks.shape, path, "a frame for each mask")
    rows = len(delta) + np.arange(len(masks))
    return Video(np.concatenate([_sum_up(delta), marked]), rows, masks, DESCRIPTIONS[name])
