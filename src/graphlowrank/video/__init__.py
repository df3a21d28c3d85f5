"""Background and foreground of videos with a fixed camera.

.. autosummary::
    separate             a video in, background, foreground and mask out
    foreground_evidence  how far frames are from any background, shadows excused
    foreground_mask      evidence -> mask
"""

from .foreground import Detector, foreground_evidence, foreground_mask
from .page import VideoReport
from .reading import Frames, open_frames
from .separate import Separation, separate

__all__ = [
    "Detector",
    "Frames",
    "Separation",
    "VideoReport",
    "foreground_evidence",
    "foreground_mask",
    "open_frames",
    "separate",
]
