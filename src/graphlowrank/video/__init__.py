"""Background and foreground of videos with a fixed camera.

.. autosummary::
    separate             a video -> background, foreground and mask
    foreground_evidence  distance of frames from their background, shadows discounted
    foreground_mask      evidence -> mask
    open_frames          read frames from files, folders and arrays
    open_sink            write frames to files and folders
"""

from .foreground import Detector, foreground_evidence, foreground_mask
from .frames import Frames, open_frames
from .report import Gallery, VideoReport
from .separate import Separation, separate
from .sink import Sink, open_sink

__all__ = [
    "Detector", "Frames", "Gallery", "Separation", "Sink", "VideoReport", "foreground_evidence", "foreground_mask",
    "open_frames", "open_sink", "separate",
]  # fmt: skip
