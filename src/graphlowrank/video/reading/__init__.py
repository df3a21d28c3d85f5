"""Frames from arrays, .npy and .npz files, folders of pictures and video files."""

from .source import Frames, open_frames

__all__ = ["Frames", "open_frames"]
