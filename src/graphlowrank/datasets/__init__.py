"""Synthetic data with known ground truth, corruptions, and loaders of real data sets.

.. autosummary::
    make_low_rank_on_graphs         matrix in the span of the smoothest signals of two graphs
    make_block_matrix               block-constant matrix, graphs with a given spectral gap
    make_noisy_circle               circle in space, first figure of the paper
    make_moving_square              video with known background and masks
    shepp_logan_phantom             test image of tomography
    gaussian_noise, laplacian_noise dense noise
    sparse_noise                    cellwise outliers
    missing_entries                 mask of observed entries
    occluding_blocks                a covered block in each image
    load_mnist, load_usps           digits
    load_orl, load_yale, load_pie   faces
    load_video                      static cameras, with foreground masks
    load_worm_neurons, load_pbmc    single cells
"""

from .corruptions import gaussian_noise, laplacian_noise, missing_entries, occluding_blocks, sparse_noise
from .download import DownloadError
from .images import IMAGE_SHAPES, load_mnist, load_orl, load_pie, load_usps, load_yale
from .single_cell import load_pbmc, load_worm_neurons, pbmc_names
from .synthetic import (
    BlockMatrix,
    LowRankOnGraphs,
    NoisyCircle,
    make_block_matrix,
    make_low_rank_on_graphs,
    make_noisy_circle,
)
from .synthetic_images import MovingSquare, make_moving_square, shepp_logan_phantom
from .videos import Video, load_video

__all__ = [
    "IMAGE_SHAPES",
    "BlockMatrix",
    "DownloadError",
    "LowRankOnGraphs",
    "MovingSquare",
    "NoisyCircle",
    "Video",
    "gaussian_noise",
    "laplacian_noise",
    "load_mnist",
    "load_orl",
    "load_pbmc",
    "load_pie",
    "load_usps",
    "load_video",
    "load_worm_neurons",
    "load_yale",
    "make_block_matrix",
    "make_low_rank_on_graphs",
    "make_moving_square",
    "make_noisy_circle",
    "missing_entries",
    "occluding_blocks",
    "pbmc_names",
    "shepp_logan_phantom",
    "sparse_noise",
]
