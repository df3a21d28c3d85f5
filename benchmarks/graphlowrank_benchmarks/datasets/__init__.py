"""Data of the paper: loaders of the real data sets, from a folder or downloaded, and two generators.

docs/data.md describes the real ones.

.. autosummary::
    load_mnist, load_usps           digits
    load_orl, load_yale, load_pie   faces
    load_video                      static cameras, with foreground masks
    load_worm_neurons, load_pbmc    single cells
    make_block_matrix               block-constant matrix, graphs with a given spectral gap
    make_noisy_circle               circle in space, first figure of the paper
"""

from .download import DownloadError
from .images import IMAGE_SHAPES, load_mnist, load_orl, load_pie, load_usps, load_yale
from .single_cell import load_pbmc, load_worm_neurons, pbmc_names
from .synthetic import BlockMatrix, NoisyCircle, make_block_matrix, make_noisy_circle
from .videos import Video, load_video

__all__ = [
    "IMAGE_SHAPES",
    "BlockMatrix",
    "DownloadError",
    "NoisyCircle",
    "Video",
    "load_mnist",
    "load_orl",
    "load_pbmc",
    "load_pie",
    "load_usps",
    "load_video",
    "load_worm_neurons",
    "load_yale",
    "make_block_matrix",
    "make_noisy_circle",
    "pbmc_names",
]
