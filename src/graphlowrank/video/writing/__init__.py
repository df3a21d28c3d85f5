"""Frames to video files, folders of pictures, .npy and .npz files that are whole or not there."""

from .sink import Sink, check_sink, open_sink

__all__ = ["Sink", "check_sink", "open_sink"]
