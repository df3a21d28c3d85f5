"""Loaders of the real data sets: from a folder, or downloaded. docs/data.md describes them.

.. autosummary::
    load_mnist, load_usps           digits
    load_orl, load_yale, load_pie   faces
    load_video                      static cameras, with foreground masks
    load_worm_neurons, load_pbmc    single cells
"""

from .download import DownloadError
from .images import IMAGE_SHAPES, load_mnist, load_orl, load_pie, load_usps, load_yale
from .single_cell import load_pbmc, load_worm_neurons, pbmc_names
from .videos import Video, load_video

__all__ = [
    "IMAGE_SHAPES",
    "DownloadError",
    "Video",
    "load_mnist",
    "load_orl",
    "load_pbmc",
    "load_pie",
    "load_usps",
    "load_video",
    "load_worm_neurons",
    "load_yale",
    "pbmc_names",
]
