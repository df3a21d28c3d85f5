"""Scenes, sources of frames of every kind, and their readers."""

from fractions import Fraction

import av
import numpy as np
from hypothesis import HealthCheck, settings
from scipy.ndimage import gaussian_filter

from graphlowrank._progress import Progress
from graphlowrank.datasets import make_moving_square
from graphlowrank.metrics import mask_scores
from graphlowrank.video import open_frames
from graphlowrank.video.options import Options
from graphlowrank.video.run import Run
from graphlowrank.video.separate import collect


def textured_scene(n=80, shape=(48, 64), *, light=0.15, noise=1.0, seed=0, colour=False):
    """Frames of bytes with a moving bright box, their clean background, and the true masks."""
    rng = np.random.default_rng(seed)
    texture = gaussian_filter(rng.random(shape), 2)
    texture = 60 + 120 * (texture - texture.min()) / np.ptp(texture)
    brightness = 1 + light * np.sin(np.arange(n) / 7)
    clean = brightness[:, None, None] * texture
    masks = np.zeros((n, *shape), dtype=bool)
    for t in range(n):
        y, x = 5 + (3 * t) % (shape[0] - 20), (5 * t) % (shape[1] - 12)
        masks[t, y : y + 12, x : x + 8] = True
    frames = np.where(masks, 250, clean) + noise * rng.standard_normal(clean.shape)
    frames, clean = (np.rint(np.clip(part, 0, 255)).astype(np.uint8) for part in (frames, clean))
    if colour:
        frames, clean = (np.repeat(part[..., None], 3, axis=3) for part in (frames, clean))
    return frames, clean, masks


def separated(frames, **options):
    """Separate with options that are not public."""
    with open_frames(frames) as source:
        return collect(Run(source, Options(**options), Progress()))


def score(masks, found):
    return mask_scores(masks, found).f1


class Counted:
    """A source of frames made when asked for, which remembers how many were alive at once."""

    n_frames, shape, dtype = 600, (24, 32), np.dtype(np.uint8)

    def __init__(self, *, announced=True):
        self.video = make_moving_square(self.n_frames, self.shape, light=0.2)
        self.longest = 0
        self.n_frames = self.n_frames if announced else None

    def blocks(self, n):
        frames = (255 * self.video.X).astype(np.uint8).reshape(-1, *self.shape)
        self.longest = max(self.longest, n)
        for first in range(0, len(frames), n):
            yield frames[first : first + n]


N = 14
SOURCES = ["array", "frames.npy", "frames.npz", "pictures", "video.mp4", "video.mkv", "video.avi", "video.gif"]
FILES = [name for name in SOURCES if name != "array"]
quick = settings(deadline=60_000, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def smooth(n=N, height=32, width=48):
    t, y, x = np.mgrid[:n, :height, :width]
    return (128 + 100 * np.stack([np.sin((x + t) / 9), np.cos((y - t) / 7), x / width - y / 99], axis=-1)).astype(
        np.uint8
    )


def source_of(room, name):
    return smooth() if name == "array" else room / name


def read(source, n=5, **options):
    with open_frames(source, **options) as frames:
        blocks = list(frames.blocks(n))
    return np.concatenate(blocks) if blocks else np.empty((0, *frames.shape), frames.dtype)


def encode(path, frames, codec, pixels, change=lambda _: None):
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=Fraction(25))
        stream.height, stream.width, stream.pix_fmt = *frames.shape[1:3], pixels
        change(stream)
        for frame in frames:
            image = av.VideoFrame.from_ndarray(frame, format="gray" if frame.ndim == 2 else "rgb24")
            container.mux(stream.encode(image))
        container.mux(stream.encode(None))
    return path
